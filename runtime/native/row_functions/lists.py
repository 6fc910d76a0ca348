"""Lists in generated row code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ghcm.functions import Failure
from ghcm.runtime.native.row_functions.comparison import equal
from ghcm.runtime.native.rows import RecordFailure

__all__ = ["item", "list_contains"]

T = TypeVar("T")


def item(items: Sequence[T], index: int) -> T:
    """The item at `index`."""
    if not 0 <= index < len(items):
        raise RecordFailure(Failure.OUT_OF_RANGE, f"item {index} of a list of {len(items)}")
    return items[index]


def list_contains(items: Sequence[float], wanted: float) -> bool:
    """Whether a list of floats has the value."""
    return any(equal(each, wanted) for each in items)
