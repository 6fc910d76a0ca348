"""Compares what engines leave with what the reference leaves: multisets, floats within 1e-12 of the sum of
magnitudes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from ghcm.runtime.dead_letter import DeadLetter
from ghcm.spg.reference import DeadLetterRow

__all__ = ["assert_same_letters", "assert_same_rows", "plain"]


def plain(value: object) -> object:
    """A value that Python compares as the language does."""
    match value:
        case float():
            return ("nan",) if math.isnan(value) else ("float", value + 0.0)
        case tuple() | list():
            return (type(value).__name__, *map(plain, value))
        case dict():
            return ("map", *sorted(((plain(key), plain(each)) for key, each in value.items()), key=repr))
        case bool():
            return ("bool", value)
        case _:
            return value


def assert_same_rows(
    actual: Sequence[object], expected: Sequence[object], *, ordered: bool = False, magnitude: float = 0.0
) -> None:
    """Both hold the same rows; in the same order where `ordered`."""
    if ordered:
        assert [plain(row) for row in actual] == [plain(row) for row in expected]
        return
    left, right = Counter(map(repr, map(plain, actual))), Counter(map(repr, map(plain, expected)))
    if left == right:
        return
    missing, extra = list((right - left).elements()), list((left - right).elements())
    assert magnitude, f"missing {missing}, too much {extra}"
    _assert_close(actual, expected, magnitude)


def _assert_close(actual: Sequence[object], expected: Sequence[object], magnitude: float) -> None:
    rest = list(expected)
    for row in actual:
        found = next((other for other in rest if close(row, other, magnitude)), None)
        assert found is not None or None in rest, f"{row!r} is not expected; left are {rest!r}"
        rest.remove(found)
    assert rest == []


def close(left: object, right: object, magnitude: float) -> bool:
    """Whether two values are the same but for the rounding of float sums."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right or abs(left - right) <= 1e-12 * magnitude
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        return len(left) == len(right) and all(close(a, b, magnitude) for a, b in zip(left, right, strict=True))
    return plain(left) == plain(right)


def assert_same_letters(actual: Iterable[DeadLetter], expected: Iterable[DeadLetterRow]) -> None:
    """Both hold the same letters, but for their details."""
    left = Counter((each.task, each.reason.value, each.input) for each in actual)
    right = Counter((each.task, each.reason.value, each.input) for each in expected)
    assert left == right
