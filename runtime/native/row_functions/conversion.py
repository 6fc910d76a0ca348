"""Conversion in generated row code."""

from __future__ import annotations

import re
from math import isfinite

from ghcm.functions import Failure
from ghcm.moments import date_text, timestamp_text
from ghcm.runtime.native.row_functions.arithmetic import within
from ghcm.runtime.native.rows import RecordFailure, overflow

__all__ = [
    "date_to_string",
    "duration_to_string",
    "float_to_int",
    "string_to_float",
    "string_to_int",
    "timestamp_to_string",
    "to_enum",
]

_INT = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|nan|-?inf")


def float_to_int(value: float) -> int:
    """The float cut towards zero."""
    if not isfinite(value):
        raise RecordFailure(Failure.BAD_CAST, f"{value} is no whole number")
    return within(int(value), "to_int gives")


def string_to_int(text: str) -> int:
    """The number that the text is."""
    if not _INT.fullmatch(text):
        raise RecordFailure(Failure.BAD_CAST, f'"{text[:100]}" is no whole number')
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > 19:
        overflow(f"{text[:100]}")
    return within(int(text[0] + digits if text[0] in "+-" and digits else digits or "0"), "to_int gives")


def string_to_float(text: str) -> float:
    """The number that the text is."""
    if not _FLOAT.fullmatch(text):
        raise RecordFailure(Failure.BAD_CAST, f'"{text[:100]}" is no number')
    return float(text)


def timestamp_to_string(micros: int) -> str:
    """ISO 8601 with six decimals and Z."""
    return timestamp_text(micros)


def date_to_string(days: int) -> str:
    """ISO 8601."""
    return date_text(days)


def duration_to_string(micros: int) -> str:
    """Seconds with six decimals."""
    seconds, rest = divmod(abs(micros), 1_000_000)
    return f"{'-' if micros < 0 else ''}{seconds}.{rest:06}"


def to_enum(text: str, values: list[str]) -> str:
    """The text, which is one of the values."""
    if text not in values:
        raise RecordFailure(Failure.BAD_CAST, f'"{text[:100]}" is no value of the enum')
    return text
