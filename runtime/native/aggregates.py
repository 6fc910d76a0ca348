"""What generated aggregations call: states of sums, means and extremes, all of which take null for "nothing yet".

A sum of ints has no bound until it is emitted; a sum of floats is a pair (sum, compensation) after Neumaier, so that its error
stays far below 1e-12 of the sum of magnitudes whatever the order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from ghcm.functions import Failure
from ghcm.runtime.native.rows import RecordFailure
from ghcm.types import INT_MAX, INT_MIN

__all__ = [
    "FloatSum",
    "add_float",
    "add_int",
    "add_mean",
    "fit",
    "fold",
    "float_sum",
    "greatest",
    "least",
    "mean_of_floats",
    "mean_of_ints",
    "merge_float",
    "merge_mean",
    "total",
]

T = TypeVar("T")
FloatSum: TypeAlias = tuple[float, float]


def add_int(state: int | None, value: int | None) -> int | None:
    """The sum so far and one more value, or another sum."""
    if state is None:
        return value
    return state if value is None else state + value


def fit(total: int | None) -> int | None:
    """The sum as it is emitted; `overflow` if it does not fit 64 bits."""
    if total is None or INT_MIN <= total <= INT_MAX:
        return total
    raise RecordFailure(Failure.OVERFLOW, f"the sum {total} does not fit 64 bits")


def float_sum(value: float) -> FloatSum:
    """The sum of one value."""
    return value, 0.0


def add_float(state: FloatSum | None, value: float | None) -> FloatSum | None:
    """The sum so far and one more value."""
    if value is None:
        return state
    if state is None:
        return value, 0.0
    before, compensation = state
    after = before + value
    if abs(before) >= abs(value):
        return after, compensation + ((before - after) + value)
    return after, compensation + ((value - after) + before)


def merge_float(left: FloatSum | None, right: FloatSum | None) -> FloatSum | None:
    """The sum of two sums."""
    if left is None or right is None:
        return right if left is None else left
    merged = add_float(left, right[0])
    assert merged is not None
    return merged[0], merged[1] + right[1]


def total(state: FloatSum | None) -> float | None:
    """The float that a sum is; where it left the finite numbers the compensation means nothing."""
    if state is None:
        return None
    exact = state[0] + state[1]
    return exact if exact - exact == 0 else state[0]


def fold(step: Callable[[object, object], object], state: list[tuple[object, object]], order: Callable[[object], object]) -> object:
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
    """The mean, null of nothing."""
    count, sum_ = state
    return None if sum_ is None else sum_ / count


def mean_of_floats(state: tuple[int, FloatSum | None]) -> float | None:
    """The mean, null of nothing."""
    sum_ = total(state[1])
    return None if sum_ is None else sum_ / state[0]


def least(state: T | None, value: T | None, order: Callable[[T], object] | None = None) -> T | None:
    """The smaller of two values; the other where one is null."""
    if state is None or value is None:
        return value if state is None else state
    return min(state, value, key=order)  # type: ignore[type-var]


def greatest(state: T | None, value: T | None, order: Callable[[T], object] | None = None) -> T | None:
    """The greater of two values; the other where one is null."""
    if state is None or value is None:
        return value if state is None else state
    return max(state, value, key=order)  # type: ignore[type-var]
