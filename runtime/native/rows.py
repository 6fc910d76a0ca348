"""What generated row code calls: checked arithmetic, comparisons and conversions on canonical values.

A function here raises `RecordFailure` where the table `ghcm.functions` says that it fails. None of them takes nulls:
generated code tests for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import isfinite, isnan
from typing import NoReturn, TypeVar

from ghcm.functions import Failure
from ghcm.types import INT_MAX, INT_MIN
from ghcm.values import date_text, timestamp_text

__all__ = [
    "Failure",
    "RecordFailure",
    "absolute",
    "add",
    "all_of",
    "any_of",
    "attempt",
    "date_to_string",
    "divide",
    "duration_to_string",
    "equal",
    "float_to_int",
    "floordiv",
    "floordiv_float",
    "greatest",
    "item",
    "least",
    "less",
    "less_or_equal",
    "list_contains",
    "modulo",
    "multiply",
    "negate",
    "on_time",
    "pattern",
    "replace",
    "split",
    "string_to_float",
    "string_to_int",
    "substring",
    "subtract",
    "timestamp_to_string",
    "too_late",
    "truncate",
    "within",
]

T = TypeVar("T")


class RecordFailure(Exception):
    """One record cannot go on: why, in a word and in a sentence."""

    def __init__(self, reason: Failure, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def _overflow(what: str) -> NoReturn:
    raise RecordFailure(Failure.OVERFLOW, f"{what} does not fit 64 bits")


# --- arithmetic of int, timestamp and duration -----------------------------------------------------------------------


def within(value: int, what: str) -> int:
    """The value itself if it fits 64 bits; `overflow` otherwise."""
    return value if INT_MIN <= value <= INT_MAX else _overflow(f"{what} {value}")


def add(left: int, right: int) -> int:
    """The sum."""
    total = left + right
    return total if INT_MIN <= total <= INT_MAX else _overflow(f"{left} + {right}")


def subtract(left: int, right: int) -> int:
    """The difference."""
    difference = left - right
    return difference if INT_MIN <= difference <= INT_MAX else _overflow(f"{left} - {right}")


def multiply(left: int, right: int) -> int:
    """The product."""
    product = left * right
    return product if INT_MIN <= product <= INT_MAX else _overflow(f"{left} * {right}")


def negate(value: int) -> int:
    """The negative."""
    return -value if value != INT_MIN else _overflow(f"-({value})")


def absolute(value: int) -> int:
    """The magnitude."""
    return abs(value) if value != INT_MIN else _overflow(f"abs({value})")


def floordiv(left: int, right: int) -> int:
    """The quotient rounded towards minus infinity."""
    if right == 0:
        raise RecordFailure(Failure.ZERO_DIVISOR, f"{left} // 0")
    return within(left // right, f"{left} // {right} =")


def modulo(left: T, right: T) -> T:
    """The remainder with the sign of the divisor, of ints or floats."""
    if right == 0:
        raise RecordFailure(Failure.ZERO_DIVISOR, f"{left} % {right}")
    return left % right  # type: ignore[operator, no-any-return]


# --- arithmetic of float ---------------------------------------------------------------------------------------------


def divide(left: float, right: float) -> float:
    """The quotient."""
    if right == 0:
        raise RecordFailure(Failure.ZERO_DIVISOR, f"{left} / {right}")
    return left / right


def floordiv_float(left: float, right: float) -> float:
    """The quotient rounded towards minus infinity."""
    if right == 0:
        raise RecordFailure(Failure.ZERO_DIVISOR, f"{left} // {right}")
    return left // right


# --- comparison of floats: NaN equals itself and is greatest ----------------------------------------------------------


def equal(left: float, right: float) -> bool:
    """Whether two floats are the same value."""
    return left == right or (isnan(left) and isnan(right))


def less(left: float, right: float) -> bool:
    """Whether the left float is less."""
    return left < right or (isnan(right) and not isnan(left))


def less_or_equal(left: float, right: float) -> bool:
    """Whether the left float is less or equal."""
    return left <= right or isnan(right)


def least(left: float, right: float) -> float:
    """The smaller float."""
    return left if less_or_equal(left, right) else right


def greatest(left: float, right: float) -> float:
    """The greater float."""
    return left if less_or_equal(right, left) else right


# --- conversion ------------------------------------------------------------------------------------------------------

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
        _overflow(f"{text[:100]}")
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


# --- strings and lists -----------------------------------------------------------------------------------------------


def replace(text: str, old: str, new: str) -> str:
    """The text with every `old` replaced; an empty one changes nothing."""
    return text.replace(old, new) if old else text


def substring(text: str, start: int, count: int) -> str:
    """Up to `count` code points from `start`."""
    if start < 0 or count < 0:
        raise RecordFailure(Failure.OUT_OF_RANGE, f"substring from {start}, {count} long")
    return text[start : start + count]


def split(text: str, separator: str) -> list[str]:
    """The parts between separators."""
    if not separator:
        raise RecordFailure(Failure.BAD_PATTERN, "split by an empty separator")
    return text.split(separator)


@lru_cache(maxsize=256)
def pattern(text: str) -> re.Pattern[str]:
    """The compiled form of a pattern that is a parameter of the unit."""
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        raise RecordFailure(Failure.BAD_PATTERN, f'"{text[:100]}": {error}') from error


def item(items: Sequence[T], index: int) -> T:
    """The item at `index`."""
    if not 0 <= index < len(items):
        raise RecordFailure(Failure.OUT_OF_RANGE, f"item {index} of a list of {len(items)}")
    return items[index]


def list_contains(items: Sequence[float], wanted: float) -> bool:
    """Whether a list of floats has the value."""
    return any(equal(each, wanted) for each in items)


def any_of(values: Sequence[bool | None]) -> bool | None:
    """Three-valued `or` of values, some of them null."""
    return True if True in values else None if None in values else False


def all_of(values: Sequence[bool | None]) -> bool | None:
    """Three-valued `and` of values, some of them null."""
    return False if False in values else None if None in values else True


def attempt(compute: Callable[[], T]) -> T | None:
    """What is computed, or None where the record would fail."""
    try:
        return compute()
    except RecordFailure:
        return None


# --- time ------------------------------------------------------------------------------------------------------------


def truncate(micros: int, unit: int) -> int:
    """The last multiple of `unit` that is not after the time."""
    if unit <= 0:
        raise RecordFailure(Failure.ZERO_DIVISOR, f"truncate to a unit of {unit} microseconds")
    return within(micros - micros % unit, "truncate gives")


def on_time(start: int, end: int, closed: int, watermark: int) -> bool:
    """Whether a record may still enter the window that closes at watermark `closed`."""
    return watermark < closed and start >= INT_MIN and end <= INT_MAX


def too_late(start: int, end: int, closed: int, watermark: int) -> tuple[Failure, str]:
    """Why it may not."""
    if start < INT_MIN or end > INT_MAX:
        return Failure.OVERFLOW, f"the window from {start} to {end} does not fit 64 bits"
    return Failure.LATE, f"the watermark {_moment(watermark)} had passed the window that ends at {_moment(end)}"


def _moment(micros: int) -> str:
    return "of the end of input" if micros == INT_MAX else timestamp_text(micros)
