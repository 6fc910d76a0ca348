"""Lists and maps in generated row code."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from ghcm.functions import Failure
from ghcm.functions.collections import MOST_ITEMS
from ghcm.runtime.native.row_functions.numbers import equal
from ghcm.runtime.native.rows import RecordFailure, overflow
from ghcm.types import INT_MAX, INT_MIN
from ghcm.values.decimals import EXACT

T = TypeVar("T")
_Order: TypeAlias = Callable[[Any], Any]


def item(items: Sequence[T], index: int) -> T:
    """The item at `index`, which counts from the end where it is negative."""
    if not -len(items) <= index < len(items):
        raise RecordFailure(Failure.OUT_OF_RANGE, f"item {index} of a list of {len(items)}")
    return items[index]


def range_of(count: int) -> list[int]:
    """The whole numbers from 0 up to before `count`."""
    if count > MOST_ITEMS:
        raise RecordFailure(Failure.OUT_OF_RANGE, f"a list of {count} items")
    return list(range(count))


def zipped(items: Iterable[T], others: Iterable[object]) -> list[tuple[T, object]]:
    """The items of both in pairs, as many as the shorter one has."""
    return list(zip(items, others, strict=False))


def indexed(items: Iterable[T]) -> list[tuple[T, int]]:
    """The items with their positions."""
    return [(each, index) for index, each in enumerate(items)]


def contains(where: Iterable[object], what: object) -> bool:
    """Whether a list has the item, a map the key, or a text the part; the first of the two that fails is named."""
    return what in where


def list_contains(items: Sequence[float], wanted: float) -> bool:
    """Whether a list of floats has the value."""
    return any(equal(each, wanted) for each in items)


def whole_sum(items: Sequence[int | None]) -> int | None:
    """The sum of whole numbers that are not null; null of none."""
    known = [each for each in items if each is not None]
    if not known:
        return None
    total = sum(known)
    return total if INT_MIN <= total <= INT_MAX else overflow(f"the sum {total}")


def exact_sum(items: Sequence[Decimal | None]) -> Decimal | None:
    """The sum of decimals that are not null; null of none."""
    known = [each for each in items if each is not None]
    return reduce(EXACT.add, known) if known else None


def float_sum(items: Sequence[float | None]) -> float | None:
    """The sum of floats that are not null, rounded once; null of none."""
    known = [each for each in items if each is not None]
    return _exact(known, 1) if known else None


def mean(items: Sequence[float | None]) -> float | None:
    """The mean of the numbers that are not null, rounded once; null of none."""
    known = [each for each in items if each is not None]
    return _exact(known, len(known)) if known else None


def _exact(numbers: list[float], count: int) -> float:
    """The float nearest to the sum of numbers divided by `count`."""
    if not all(map(math.isfinite, numbers)):
        return sum(each for each in numbers if not math.isfinite(each))
    exact = sum(map(Fraction, numbers)) / count
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def least(items: Sequence[T | None], order: _Order | None = None) -> T | None:
    """The least item that is not null, the first of equals; null of none."""
    known: list[Any] = [each for each in items if each is not None]
    return min(known, key=order, default=None)


def greatest(items: Sequence[T | None], order: _Order | None = None) -> T | None:
    """The greatest item that is not null, the first of equals; null of none."""
    known: list[Any] = [each for each in items if each is not None]
    return max(known, key=order, default=None)


def sort(items: Sequence[Any], descending: bool, order: _Order | None = None) -> list[Any]:
    """The items in order, equal ones as they stood."""
    return sorted(items, key=order, reverse=descending)


def sort_by(entries: Sequence[tuple[Any, Any]], descending: bool, order: _Order) -> list[Any]:
    """The values in the order of their keys, equal ones as they stood."""
    ordered = sorted(entries, key=lambda entry: order(entry[0]), reverse=descending)
    return list(map(itemgetter(1), ordered))


def distinct(items: Sequence[Any], order: _Order | None = None) -> list[Any]:
    """Each item once, where it stands first."""
    if order is None:
        return list(dict.fromkeys(items))
    first: dict[Any, Any] = {}
    for each in items:
        first.setdefault(order(each), each)
    return list(first.values())


K = TypeVar("K", bool, int, str)
V = TypeVar("V")


def at(of: Mapping[K, V], key: K) -> V:
    """The value of a key."""
    if key not in of:
        raise RecordFailure(Failure.OUT_OF_RANGE, f"the map has no key {key!r}")
    return of[key]


def values(of: Mapping[K, V]) -> list[V]:
    """The values in the order of their keys."""
    return [of[key] for key in sorted(of)]


def entries(of: Mapping[K, V]) -> list[tuple[K, V]]:
    """The keys and values in the order of the keys."""
    return [(key, of[key]) for key in sorted(of)]
