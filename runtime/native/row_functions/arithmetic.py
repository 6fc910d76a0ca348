"""Arithmetic in generated row code."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TypeVar

from ghcm.functions import Failure
from ghcm.runtime.native.rows import RecordFailure, overflow
from ghcm.types import INT_MAX, INT_MIN
from ghcm.values.decimals import EXACT, UNITS

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


def exact_add(left: Decimal, right: Decimal) -> Decimal:
    """The sum of decimals."""
    return EXACT.add(left, right)


def exact_subtract(left: Decimal, right: Decimal) -> Decimal:
    """The difference of decimals."""
    return EXACT.subtract(left, right)


def exact_multiply(left: Decimal, right: Decimal) -> Decimal:
    """The product of decimals; zero has no sign."""
    return EXACT.plus(EXACT.multiply(left, right))


def exact_negate(value: Decimal) -> Decimal:
    """The negative of a decimal; zero has no sign."""
    return EXACT.minus(value)


def exact_absolute(value: Decimal) -> Decimal:
    """The magnitude of a decimal."""
    return EXACT.abs(value)


def round_half_up(value: Decimal, scale: int) -> Decimal:
    """A decimal with fewer digits behind the point, a half away from zero."""
    return EXACT.plus(value.quantize(UNITS[scale], context=_HALF_UP))
