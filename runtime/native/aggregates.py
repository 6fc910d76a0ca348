"""What generated aggregations call: states of sums, means and extremes, all of which take null for "nothing yet".

A sum of ints has no bound until it is emitted. A sum of floats is exact until then: a whole number and how many
places of it stand behind the binary point, or, once NaN or an infinity came, their float sum and -1. So it does not
depend on any order.
"""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

from ghcm.functions import Failure
from ghcm.runtime.native.row_functions.numbers import quotient
from ghcm.runtime.native.rows import RecordFailure
from ghcm.types import INT_MAX, INT_MIN
from ghcm.values.decimals import EXACT

T = TypeVar("T")
FloatSum: TypeAlias = tuple[int | float, int]


def add_int(state: int | None, value: int | None) -> int | None:
    """The sum so far and one more value, or another sum."""
    if state is None:
        return value
    return state if value is None else state + value


def add_units(state: int | None, value: Decimal | None, scale: int) -> int | None:
    """The smallest units of a sum of decimals so far, and one more value."""
    if value is None:
        return state
    return (state or 0) + int(value.scaleb(scale, EXACT))


def fit_decimal(units: int | None, precision: int, scale: int) -> Decimal | None:
    """The sum of decimals as it is emitted; `overflow` if it has more digits."""
    if units is None:
        return None
    if abs(units) >= 10**precision:
        raise RecordFailure(Failure.OVERFLOW, f"the sum has more than {precision} digits")
    return Decimal(units).scaleb(-scale, EXACT)


def fit(total: int | None) -> int | None:
    """The sum as it is emitted; `overflow` if it does not fit 64 bits."""
    if total is None or INT_MIN <= total <= INT_MAX:
        return total
    raise RecordFailure(Failure.OVERFLOW, f"the sum {total} does not fit 64 bits")


def float_sum(value: float) -> FloatSum:
    """The sum of one value."""
    if value - value != 0:
        return value, -1
    numerator, denominator = value.as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def add_float(state: FloatSum | None, value: float | None) -> FloatSum | None:
    """The sum so far and one more value."""
    return state if value is None else merge_float(state, float_sum(value))


def merge_float(left: FloatSum | None, right: FloatSum | None) -> FloatSum | None:
    """The sum of two sums."""
    if left is None or right is None:
        return right if left is None else left
    (one, shift), (two, other) = left, right
    if shift < 0 or other < 0:
        return (one if shift < 0 else 0.0) + (two if other < 0 else 0.0), -1
    if shift >= other:
        return one + (two << (shift - other)), shift  # type: ignore[operator]
    return (one << (other - shift)) + two, other  # type: ignore[operator]


def total(state: FloatSum | None, count: int = 1) -> float | None:
    """The float nearest to the sum divided by `count`."""
    if state is None:
        return None
    sum_, shift = state
    if shift < 0:
        return sum_ / count
    assert isinstance(sum_, int)
    try:
        return sum_ / (count << shift)
    except OverflowError:
        return math.inf if sum_ > 0 else -math.inf


def fold(
    step: Callable[[object, object], object], state: list[tuple[object, object]], order: Callable[[object], object]
) -> object:
    """The values reduced from the left in ascending order of their keys, equal ones in the order of the values."""
    ordered = sorted(state, key=lambda pair: (pair[0], order(pair[1])))
    result = ordered[0][1]
    for _, value in ordered[1:]:
        result = step(result, value)
    return result


def add_mean(state: tuple[int, T], value: object, add: Callable[[T, object], T]) -> tuple[int, T]:
    """Count and sum so far, and one more value."""
    count, sum_ = state
    return state if value is None else (count + 1, add(sum_, value))


def merge_mean(left: tuple[int, T], right: tuple[int, T], merge: Callable[[T, T], T]) -> tuple[int, T]:
    """Count and sum of two parts."""
    return left[0] + right[0], merge(left[1], right[1])


def mean_of_ints(state: tuple[int, int | None]) -> float | None:
    """The mean as a float, null of nothing."""
    count, sum_ = state
    return None if sum_ is None else sum_ / count


def whole_mean(state: tuple[int, int | None]) -> int | None:
    """The mean rounded half to even (of durations), null of nothing."""
    count, sum_ = state
    return None if sum_ is None else round(Fraction(sum_, count))


def decimal_mean(state: tuple[int, int | None], of: int, scale: int) -> Decimal | None:
    """The mean of a sum in units of that scale, rounded to so many digits, null of nothing."""
    count, units = state
    return None if units is None else quotient(Decimal(units).scaleb(-of, EXACT), Decimal(count), scale)


def mean_of_floats(state: tuple[int, FloatSum | None]) -> float | None:
    """The mean, null of nothing."""
    return total(state[1], state[0] or 1)


def least(state: T | None, value: T | None, order: Callable[[T], Any] | None = None) -> T | None:
    """The smaller of two values; the other where one is null."""
    if state is None or value is None:
        return value if state is None else state
    return min(state, value, key=order)  # type: ignore[arg-type]


def greatest(state: T | None, value: T | None, order: Callable[[T], Any] | None = None) -> T | None:
    """The greater of two values; the other where one is null."""
    if state is None or value is None:
        return value if state is None else state
    return max(state, value, key=order)  # type: ignore[arg-type]
