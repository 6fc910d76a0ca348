"""What generated aggregations call for the aggregates that are more than one number: each has its partial state, how a
value is added, how two states merge, and the result, in one class.

A state of nothing is None and nulls change none. `add` and `merge` may reuse their first argument, never the second, so
that a state can be merged into several others. States are plain Python values. `of` makes the state of a list that
Polars gathered.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter
from typing import Any

import polars as pl

from ghcm.runtime.native.aggregates import FloatSum, float_sum, merge_float

__all__ = ["Approximate", "Chosen", "Collected", "Different", "Greatest", "Quantile", "Spread", "lower"]

Order = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Spread:
    """`var` and `std` (`root`): how many values, their sum and the sum of their squares, both exact until the end."""

    root: bool = False

    def add(self, state: Any, value: float | None) -> Any:
        """The state with one more value."""
        return state if value is None else self.merge(state, self.of((value,)))

    def merge(self, left: Any, right: Any) -> Any:
        """One state of two."""
        if left is None or right is None:
            return right if left is None else left
        if isinstance(left[1], int):
            return tuple(map(sum, zip(left, right, strict=True)))
        return left[0] + right[0], merge_float(left[1], right[1]), merge_float(left[2], right[2])

    def of(self, values: Sequence[float]) -> Any:
        """The state of several values that are there."""
        if not values or isinstance(values[0], int):
            return (len(values), sum(values), sum(value * value for value in values)) if values else None
        state: Any = None
        for value in values:
            one = float_sum(value)
            state = self.merge(state, (1, one, _square(one)))
        return state

    def result(self, state: Any) -> float | None:
        """The variance or its root; null of fewer than two values."""
        if state is None or state[0] < 2:
            return None
        count, total, squares = state
        if not isinstance(total, int):
            if total[1] < 0:
                return math.nan
            total, squares = _fraction(total), _fraction(squares)
        try:
            variance = float(Fraction(squares * count - total * total) / (count * (count - 1)))
        except OverflowError:
            variance = math.inf
        return math.sqrt(variance) if self.root else variance


def _square(one: FloatSum) -> FloatSum:
    return (one[0] * one[0], 2 * one[1]) if one[1] >= 0 else one


def _fraction(one: FloatSum) -> Fraction:
    return Fraction(int(one[0]), 1 << one[1])


@dataclass(frozen=True, slots=True)
class Chosen:
    """`first` and `last`: the value whose record comes first or last by a place, of equal ones by the whole record.

    The state is place, record and value; `by` and `tie` order the first two.
    """

    last: bool
    by: Order
    tie: Order

    def add(self, state: Any, place: object, record: object, value: object) -> Any:
        """The state with one more record."""
        return state if value is None else self.merge(state, (place, record, value))

    def merge(self, left: Any, right: Any) -> Any:
        """One state of two."""
        if left is None or right is None:
            return right if left is None else left
        return (max if self.last else min)(left, right, key=self._key)

    def of(self, places: Iterable[object], records: Iterable[object], values: Iterable[object]) -> Any:
        """The state of several records; those without a value are left out."""
        some = [each for each in zip(places, records, values, strict=True) if each[2] is not None]
        return (max if self.last else min)(some, key=self._key) if some else None

    def result(self, state: Any) -> object:
        """The value of the record."""
        return None if state is None else state[2]

    def _key(self, state: Any) -> tuple[Any, Any]:
        return self.by(state[0]), self.tie(state[1])


@dataclass(frozen=True, slots=True)
class Collected:
    """`collect`: the values."""

    by: Order

    def add(self, state: Any, value: object) -> Any:
        """The state with one more value."""
        return state if value is None else _extended(state, (value,))

    def merge(self, left: Any, right: Any) -> Any:
        """One state of two."""
        return left if right is None else _extended(left, right)

    def of(self, values: list[object]) -> Any:
        """The state of several values."""
        return list(values)

    def result(self, state: Any) -> list[object]:
        """The values in ascending order."""
        return sorted(state or (), key=self.by)


def _extended(state: list[object] | None, values: Iterable[object]) -> list[object]:
    if state is None:
        return list(values)
    state.extend(values)
    return state


@dataclass(frozen=True, slots=True)
class Quantile:
    """`quantile`: the values, of which the one at rank `part` of `whole` is given."""

    part: int
    whole: int
    by: Order

    def add(self, state: Any, value: object) -> Any:
        """The state with one more value."""
        return state if value is None else _extended(state, (value,))

    def merge(self, left: Any, right: Any) -> Any:
        """One state of two."""
        return left if right is None else _extended(left, right)

    def of(self, values: list[object]) -> Any:
        """The state of several values."""
        return list(values)

    def result(self, state: Any) -> object:
        """The value at the nearest rank, null of nothing."""
        if not state:
            return None
        rank = -(-self.part * len(state) // self.whole)
        return sorted(state, key=self.by)[max(rank, 1) - 1]


@dataclass(frozen=True, slots=True)
class Greatest:
    """`top_k`: the greatest values so far and some that came after them, cut when they are twice as many."""

    limit: int
    by: Order

    def add(self, state: Any, value: object) -> Any:
        """The state with one more value."""
        return state if value is None else self._cut(_extended(state, (value,)))

    def merge(self, left: Any, right: Any) -> Any:
        """One state of two."""
        return left if right is None else self._cut(_extended(left, right))

    def of(self, values: list[object]) -> Any:
        """The state of several values."""
        return self._cut(list(values))

    def result(self, state: list[object] | None) -> list[object]:
        """The greatest values, the greatest first."""
        return sorted(state or (), key=self.by, reverse=True)[: self.limit]

    def _cut(self, state: list[object]) -> list[object]:
        return self.result(state) if len(state) > 2 * self.limit + 16 else state


@dataclass(frozen=True, slots=True)
class Different:
    """`distinct_count`: what tells the values apart; equal values have equal `identity`."""

    identity: Order

    def add(self, state: Any, value: object) -> Any:
        """The state with one more value."""
        return state if value is None else self.merge(state, (self.identity(value),))

    def merge(self, left: Any, right: Any) -> Any:
        """One state of two."""
        if right is None:
            return left
        found: set[object] = set() if left is None else left
        found.update(right)
        return found

    def of(self, values: Iterable[object]) -> Any:
        """The state of several values."""
        return set(map(self.identity, values))

    def result(self, state: set[object] | None) -> int:
        """How many."""
        return 0 if state is None else len(state)


def lower(value: object) -> str:
    """A number, moment or bool as text to be hashed."""
    return str(value).lower()


_REGISTERS = 4096
_REST = 52
_RAISED = 6
_MOST = (1 << _RAISED) - 1
_SCALE = 0.7213 / (1 + 1.079 / _REGISTERS) * _REGISTERS * _REGISTERS


@dataclass(frozen=True, slots=True)
class Approximate:
    """`approx_distinct`: HyperLogLog registers that are not empty, as a dict; `text` is what is hashed of a value."""

    text: Callable[[Any], str]

    def add(self, state: Any, value: object) -> Any:
        """The state with one more value."""
        return state if value is None else _raised(state, (_place(self.text(value)),))

    def merge(self, left: Any, right: Any) -> Any:
        """One state of two."""
        return left if right is None else _raised(left, right.items())

    def of(self, values: Iterable[object]) -> Any:
        """The state of several values."""
        different = set(values)
        return _raised(None, map(_place, map(self.text, different))) if different else None

    def places(self, values: pl.Series) -> pl.Series:
        """For each value its register and what it raises it to, as one number; null for null."""
        if self.text is str:
            return _places(values.cast(pl.String))
        return _places(pl.Series([None if value is None else self.text(value) for value in values], dtype=pl.String))

    def of_places(self, places: Iterable[int]) -> Any:
        """The state of several values of which `places` were taken."""
        found = [(place >> _RAISED, place & _MOST) for place in places]
        return _raised(None, found) if found else None

    def result(self, state: dict[int, int] | None) -> int:
        """About how many."""
        places = sorted((state or {}).items(), key=itemgetter(0))
        empty = _REGISTERS - len(places)
        raw = _SCALE / (empty + sum(2.0**-place for _, place in places))
        if empty and raw <= 2.5 * _REGISTERS:
            return round(_REGISTERS * math.log(_REGISTERS / empty))
        return round(raw)


@lru_cache(maxsize=1 << 17)
def _place(text: str) -> tuple[int, int]:
    """The register of a value and what it raises it to; hashing again what comes often is dearer than looking it up."""
    hashed = int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:8])
    rest = hashed & ((1 << _REST) - 1)
    return hashed >> _REST, _REST + 1 - rest.bit_length()


_REMEMBERED = 1 << 18
"""Texts whose places are kept: to look one up costs a fraction of hashing it."""


class _Known:
    """Texts as numbers, and the places that are known by number; null where one is not yet."""

    __slots__ = ("places", "texts")

    def __init__(self) -> None:
        self.texts = pl.Series([], dtype=pl.Categorical(pl.Categories.random()))  # numbers last as long as a column
        self.places = pl.Series([], dtype=pl.UInt32)


_known = _Known()


def _places(texts: pl.Series) -> pl.Series:
    """The places of texts as numbers. Threads do not disturb each other: what one does not know it finds."""
    global _known  # noqa: PLW0603 - what is remembered is the process's
    if len(_known.places) > _REMEMBERED:
        _known = _Known()
    known = _known
    numbers = texts.cast(known.texts.dtype).to_physical()
    greatest = numbers.max()
    if not isinstance(greatest, int):
        return pl.Series([None], dtype=pl.UInt32).new_from_index(0, len(texts))
    before = known.places
    if greatest >= len(before):
        before = before.extend_constant(None, greatest + 1 - len(before))
    places = before.gather(numbers)
    if places.null_count() > numbers.null_count():
        fresh = pl.DataFrame([numbers.alias("number"), texts.alias("text")]).filter(places.is_null()).drop_nulls()
        fresh = fresh.unique("number")
        known.places = before = before.clone().scatter(fresh["number"], _hashed(fresh["text"]))
        places = before.gather(numbers)
    return places


def _hashed(texts: pl.Series) -> pl.Series:
    """As `_place`, each packed into one number."""
    hashed = [hashlib.md5(text, usedforsecurity=False).digest()[:8] for text in texts.cast(pl.Binary)]
    number = pl.Series(hashed, dtype=pl.Binary).bin.reinterpret(dtype=pl.UInt64, endianness="big")
    rest = number & ((1 << _REST) - 1)
    raised = rest.bitwise_leading_zeros().cast(pl.UInt64) - (63 - _REST)
    return ((number // (1 << _REST) * (1 << _RAISED)) | raised).cast(pl.UInt32)


def _raised(state: dict[int, int] | None, places: Iterable[tuple[int, int]]) -> dict[int, int]:
    found: dict[int, int] = {} if state is None else state
    for register, place in places:
        if found.get(register, 0) < place:
            found[register] = place
    return found
