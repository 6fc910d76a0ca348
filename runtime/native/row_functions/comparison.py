"""Comparison in generated row code."""

from __future__ import annotations

from math import isnan

from ghcm.functions import Failure
from ghcm.runtime.native.rows import RecordFailure


def ensure(condition: bool, message: str) -> bool:
    """True, or a failure with the message."""
    if not condition:
        raise RecordFailure(Failure.BAD_RECORD, message)
    return True


def equal(left: float, right: float) -> bool:
    """Whether two floats are the same value."""
    return left == right or (isnan(left) and isnan(right))


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
