"""Arithmetic, comparison and conversion in generated row code."""

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from math import isfinite, isnan, nan
from typing import TypeVar

from ghcm.functions import Failure
from ghcm.runtime.native.rows import RecordFailure, overflow
from ghcm.types import INT_MAX, INT_MIN
from ghcm.values.decimals import EXACT, UNITS, at_scale, decimal_text

T = TypeVar("T")
_HALF_UP = Context(prec=100, rounding=ROUND_HALF_UP)


def within(value: int, what: str) -> int:
    """The value itself if it fits 64 bits; `overflow` otherwise."""
    return value if INT_MIN <= value <= INT_MAX else overflow(f"{what} {value}")


def add(left: int, right: int) -> int:
    """The sum."""
    total = left + right
    return total if INT_MIN <= total <= INT_MAX else overflow(f"{left} + {right}")


def subtract(left: int, right: int) -> int:
    """The difference."""
    difference = left - right
    return difference if INT_MIN <= difference <= INT_MAX else overflow(f"{left} - {right}")


def multiply(left: int, right: int) -> int:
    """The product."""
    product = left * right
    return product if INT_MIN <= product <= INT_MAX else overflow(f"{left} * {right}")


def negate(value: int) -> int:
    """The negative."""
    return -value if value != INT_MIN else overflow(f"-({value})")


def absolute(value: int) -> int:
    """The magnitude."""
    return abs(value) if value != INT_MIN else overflow(f"abs({value})")


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


def round_half_up(value: Decimal, scale: int) -> Decimal:
    """A decimal with fewer digits behind the point, a half away from zero."""
    return EXACT.plus(value.quantize(UNITS[scale], context=_HALF_UP))


def quotient(left: Decimal, right: Decimal, scale: int) -> Decimal:
    """The quotient with so many digits behind the point, a half away from zero."""
    if right == 0:
        raise RecordFailure(Failure.ZERO_DIVISOR, f"{left} is divided by {right}")
    (above, over), (below, under) = left.as_integer_ratio(), right.as_integer_ratio()
    size, parts = abs(above) * under * 10**scale, abs(below) * over
    rounded = (2 * size + parts) // (2 * parts)
    return Decimal(rounded if (above < 0) == (below < 0) else -rounded).scaleb(-scale, EXACT)


def ensure(condition: bool, message: str) -> bool:
    """True, or a failure with the message."""
    if not condition:
        raise RecordFailure(Failure.BAD_RECORD, message)
    return True


def equal(left: float, right: float) -> bool:
    """Whether two floats are the same value."""
    return left == right or (isnan(left) and isnan(right))


def same(left: float | None, right: float | None) -> bool:
    """Whether two floats are the same value, or none is there."""
    return left == right or (left is not None and right is not None and isnan(left) and isnan(right))


def less(left: float, right: float) -> bool:
    """Whether the left float is less."""
    return left < right or (isnan(right) and not isnan(left))


def less_or_equal(left: float, right: float) -> bool:
    """Whether the left float is less or equal."""
    return left <= right or isnan(right)


def greater(left: float, right: float) -> bool:
    """Whether the left float is greater."""
    return less(right, left)


def greater_or_equal(left: float, right: float) -> bool:
    """Whether the left float is greater or equal."""
    return less_or_equal(right, left)


def least(left: float, right: float) -> float:
    """The smaller float."""
    return left if less_or_equal(left, right) else right


def greatest(left: float, right: float) -> float:
    """The greater float."""
    return left if less_or_equal(right, left) else right


_INT = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_FLOAT = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|nan|-?inf")


def whole(value: float, made: Callable[[float], int]) -> int:
    """The whole number that `made` gives of a float that is one."""
    if not isfinite(value):
        raise RecordFailure(Failure.BAD_CAST, f"{value} is no whole number")
    return within(made(value), "it gives")


def float_to_int(value: float) -> int:
    """The float cut towards zero."""
    return whole(value, int)


def floor(value: float) -> int:
    """The whole number at or below it."""
    return whole(value, math.floor)


def ceil(value: float) -> int:
    """The whole number at or above it."""
    return whole(value, math.ceil)


def nearest(value: float) -> int:
    """The nearest whole number, of two the even one."""
    return whole(value, round)


def sqrt(value: float) -> float:
    """The square root; NaN of negative numbers."""
    return math.sqrt(value) if value >= 0 else nan


def exp(value: float) -> float:
    """The exponential function."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def log(value: float) -> float:
    """The natural logarithm."""
    return math.log(value) if value > 0 else _without_logarithm(value)


def log10(value: float) -> float:
    """The logarithm to base 10."""
    return math.log10(value) if value > 0 else _without_logarithm(value)


def _without_logarithm(value: float) -> float:
    return -math.inf if value == 0 else nan


def power(base: float, exponent: float) -> float:
    """The power as IEEE says, where Python raises errors too."""
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        if base != 0:
            return nan
        return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf


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


def duration_to_string(micros: int) -> str:
    """Seconds with six decimals."""
    seconds, rest = divmod(abs(micros), 1_000_000)
    return f"{'-' if micros < 0 else ''}{seconds}.{rest:06}"


def to_enum(text: str, values: list[str]) -> str:
    """The text, which is one of the values."""
    if text not in values:
        raise RecordFailure(Failure.BAD_CAST, f'"{text[:100]}" is no value of the enum')
    return text


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


def to_decimal(value: Decimal, precision: int, scale: int) -> Decimal:
    """The same number with other digits."""
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
