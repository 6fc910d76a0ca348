"""Conversion in generated row code."""

from __future__ import annotations

import re
from decimal import Decimal
from math import isfinite

from ghcm.functions import Failure
from ghcm.runtime.native.row_functions.arithmetic import within
from ghcm.runtime.native.rows import RecordFailure, overflow
from ghcm.values.decimals import at_scale, decimal_text
from ghcm.values.timestamps import date_text, timestamp_text

_INT = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
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


def decimal_to_int(value: Decimal) -> int:
    """The decimal cut towards zero."""
    return within(int(value), "to_int gives")


def decimal_to_string(value: Decimal, scale: int) -> str:
    """All digits of the scale."""
    return decimal_text(at_scale(value, scale))


def int_to_decimal(value: int, precision: int, scale: int) -> Decimal:
    """The whole number with that many digits behind the point."""
    return _fitting(Decimal(value), precision, scale)


def decimal_to_decimal(value: Decimal, precision: int, scale: int) -> Decimal:
    """The same number with other digits."""
    return _fitting(value, precision, scale)


def string_to_decimal(text: str, precision: int, scale: int) -> Decimal:
    """The number that the text is."""
    if not _DECIMAL.fullmatch(text):
        raise RecordFailure(Failure.BAD_CAST, f'"{text[:100]}" is no decimal')
    whole, _, behind = text.lstrip("+-").partition(".")
    kept = behind.rstrip("0")
    if len(kept) > scale:
        raise _lost(text[:100], scale)
    if len(whole.lstrip("0")) > precision - scale:
        raise _wide(text[:100], precision, scale)
    return at_scale(Decimal(f"{'-' if text[0] == '-' else ''}{whole}.{kept}"), scale)


def _fitting(value: Decimal, precision: int, scale: int) -> Decimal:
    try:
        exact = at_scale(value, scale)
    except ArithmeticError:
        raise _lost(decimal_text(value), scale) from None
    if len(exact.as_tuple().digits) > precision:
        raise _wide(decimal_text(value), precision, scale)
    return exact


def _lost(text: str, scale: int) -> RecordFailure:
    return RecordFailure(Failure.BAD_CAST, f"{text} has more than {scale} digits behind the point")


def _wide(text: str, precision: int, scale: int) -> RecordFailure:
    return RecordFailure(Failure.OVERFLOW, f"{text} has more than {precision - scale} digits ahead of the point")
