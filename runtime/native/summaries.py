"""What generated aggregations call for the aggregates that are more than one number: each has its partial state, how a
value is added, how two states merge, and the result, in one class.

A state of nothing is None and nulls change none. `add` and `merge` may reuse their first argument, never the second, so
that a state can be merged into several others. States are plain Python values. `of` makes the state of a list that
Polars gathered.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from ghcm.runtime.native.aggregates import FloatSum, float_sum, merge_float
from ghcm.values.decimals import EXACT

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
            state = self.merge(state, (1, one, _product(one, one)))
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
        variance = _nearest(Fraction(squares * count - total * total) / (count * (count - 1)))
        return math.sqrt(variance) if self.root else variance


def _product(one: FloatSum, two: FloatSum) -> FloatSum:
    return (one[0] * two[0], one[1] + two[1]) if one[1] >= 0 and two[1] >= 0 else (math.nan, -1)


def _nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _fraction(one: FloatSum) -> Fraction:
    return Fraction(int(one[0]), 1 << one[1])


@dataclass(frozen=True, slots=True)
class Together:
    """`covar` and `corr` (`scaled`): of pairs of floats how many there are, the sums of both, of their squares and of
    their products, all exact until the end.
    """

    scaled: bool = False

    def add(self, state: Any, value: tuple[float, float] | None) -> Any:
        """The state with one more pair."""
        return state if value is None else self.merge(state, self._one(*value))

    def merge(self, left: Any, right: Any) -> Any:
        """One state of two."""
        if left is None or right is None:
            return right if left is None else left
        return left[0] + right[0], *map(merge_float, left[1:], right[1:])

    def of(self, left: Iterable[float], right: Iterable[float]) -> Any:
        """The state of several pairs, given as two columns."""
        return reduce(self.merge, map(self._one, left, right), None)

    def result(self, state: Any) -> float | None:
        """The covariance or correlation; null of fewer than two pairs."""
        if state is None or state[0] < 2:
            return None
        if state[1][1] < 0 or state[2][1] < 0:
            return math.nan
        count = state[0]
        one, two, ones, twos, both = map(_fraction, state[1:])
        shared = both * count - one * two
        if not self.scaled:
            return _nearest(shared / (count * (count - 1)))
        spreads = (ones * count - one * one) * (twos * count - two * two)
        return math.copysign(math.sqrt(shared * shared / spreads), shared) if spreads else None

    def _one(self, left: float, right: float) -> Any:
        one, two = float_sum(left), float_sum(right)
        return 1, one, two, _product(one, one), _product(two, two), _product(one, two)


@dataclass(frozen=True, slots=True)
class Chosen:
    """`first` and `last`: the value whose record is first or last by an order value, of equal ones by the whole record.

    The state is order value, record and value; `by` and `tie` order the first two.
    """

    last: bool
    by: Order
    tie: Order

    def add(self, state: Any, order: object, record: object, value: object) -> Any:
        """The state with one more record."""
        return state if value is None else self.merge(state, (order, record, value))

    def merge(self, left: Any, right: Any) -> Any:
        """One state of two."""
        if left is None or right is None:
            return right if left is None else left
        one, other = self.by(left[0]), self.by(right[0])
        if one == other:  # the whole record is looked at only now: it may be large
            one, other = self.tie(left[1]), self.tie(right[1])
        ahead: bool = other > one if self.last else other < one
        return right if ahead else left

    def of(self, orders: Iterable[object], records: Iterable[object], values: Iterable[object]) -> Any:
        """The state of several records; those without a value are left out."""
        some = [each for each in zip(orders, records, values, strict=True) if each[2] is not None]
        return (max if self.last else min)(some, key=self._key) if some else None

    def result(self, state: Any) -> object:
        """The value of the record."""
        return None if state is None else state[2]

    def _key(self, state: Any) -> tuple[Any, Any]:
        return self.by(state[0]), self.tie(state[1])


@dataclass(frozen=True, slots=True)
class ChosenSome:
    """`first` and `last` of several: as `Chosen`, but the states of so many records, in their order."""

    last: bool
    by: Order
    tie: Order
    limit: int

    def add(self, state: Any, order: object, record: object, value: object) -> Any:
        """The state with one more record."""
        return state if value is None else self.merge(state, [(order, record, value)])

    def merge(self, left: Any, right: Any) -> Any:
        """One state of two."""
        if left is None or right is None:
            return right if left is None else left
        return self._cut(sorted([*left, *right], key=lambda each: (self.by(each[0]), self.tie(each[1]))))

    def of(self, orders: Iterable[object], records: Iterable[object], values: Iterable[object]) -> Any:
        """The state of several records; those without a value are left out."""
        some = [each for each in zip(orders, records, values, strict=True) if each[2] is not None]
        return self.merge([], some) if some else None

    def result(self, state: Any) -> list[object]:
        """The values of the records."""
        return [each[2] for each in state or ()]

    def _cut(self, ordered: list[Any]) -> list[Any]:
        return ordered[-self.limit :] if self.last else ordered[: self.limit]


@dataclass(frozen=True, slots=True)
class Arrived:
    """`first` and `last` by arrival: numbers, which grow, and values of the records that came first or last; of so
    many (`limit`) a list. Records of equal numbers come in the order in which they are added.
    """

    last: bool
    limit: int | None = None

    def add(self, state: Any, number: int, value: object) -> Any:
        """The state with one more record, which came after all others."""
        if value is None:
            return state
        if state is None:
            return ((number, value),)
        if not self.last:
            return state if len(state) >= (self.limit or 1) else (*state, (number, value))
        return self._cut((*state, (number, value)))

    def merge(self, left: Any, right: Any) -> Any:
        """One state of two."""
        if left is None or right is None:
            return right if left is None else left
        return self._cut(tuple(sorted((*left, *right), key=itemgetter(0))))

    def of(self, numbers: Sequence[int], values: Sequence[object]) -> Any:
        """The state of several records, in order."""
        return tuple(zip(numbers, values, strict=True)) or None

    def result(self, state: Any) -> object:
        """The value of the record, or those of so many in the order in which they came."""
        if self.limit is not None:
            return [value for _, value in state or ()]
        return None if state is None else state[0][1]

    def _cut(self, ordered: Any) -> Any:
        most = self.limit or 1
        return ordered[-most:] if self.last else ordered[:most]


@dataclass(frozen=True, slots=True)
class Collected:
    """`collect`: the values; `quantile`, `median` and `mode` give what they find in the ascending list."""

    by: Order
    found: Callable[[list[Any]], Any] | None = None

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
        """The values in ascending order; or what is found in them, null of nothing."""
        ordered = sorted(state or (), key=self.by)
        if self.found is None:
            return ordered
        return self.found(ordered) if ordered else None


def at_rank(part: int, whole: int) -> Callable[[list[Any]], Any]:
    """The value at the nearest rank of a fraction."""
    return lambda ordered: ordered[max(-(-part * len(ordered) // whole), 1) - 1]


_T = TypeVar("_T")


def _middle(ordered: list[_T]) -> tuple[_T, _T]:
    return ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]


def median(ordered: list[float]) -> float:
    """The nearest float to the mean of the two values in the middle."""
    one, two = _middle(ordered)
    middle = (one + two) / 2
    return one / 2 + two / 2 if math.isinf(middle) else middle


def median_of_decimals(ordered: list[Decimal]) -> Decimal:
    """The mean of the two decimals in the middle, with one digit more."""
    return EXACT.multiply(EXACT.add(*_middle(ordered)), 5).scaleb(-1, EXACT)


def commonest(by: Order) -> Callable[[list[Any]], Any]:
    """The value that is there most often, of several such the least."""

    def found(ordered: list[Any]) -> Any:
        runs = (list(each) for _, each in groupby(ordered, key=by))
        return max(runs, key=len)[0]

    return found


def _extended(state: list[object] | None, values: Iterable[object]) -> list[object]:
    if state is None:
        return list(values)
    state.extend(values)
    return state


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
