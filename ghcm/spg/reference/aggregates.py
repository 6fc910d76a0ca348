"""The meaning of reducers and aggregates: sums are exact and checked at the end, nulls skipped, nothing gives null.

How many different values there are, about, is found by HyperLogLog as Flajolet and others gave it in 2007, with linear
counting where there are few: 4,096 registers by the first 12 bits of a hash; each keeps the greatest position of the
first one among the 52 bits behind them. The hash is the first 64 bits of MD5 over the value as text: strings as UTF-8,
bytes as hexadecimal digits, whole numbers and timestamps (microseconds, days) in decimal, `true` and `false`.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never, cast

from ghcm.reducers import Aggregate, AggregateFunction, Builtin, Custom, Fields, Kind, Reducer
from ghcm.spg.reference.functions import checked
from ghcm.spg.reference.functions.meaning import rounded_half_up, sum_at_scale
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.state import Record, Run
from ghcm.types import Bytes, Decimal, Enumeration, Float, String, Type, strip

_REGISTERS = 4096
_ALPHA = 0.7213 / (1 + 1.079 / _REGISTERS)


def estimate(values: Sequence[object], type_: Type) -> int:
    """About how many different values there are."""
    registers = [0] * _REGISTERS
    for value in values:
        bits = f"{int(hashlib.md5(_text(value, type_).encode(), usedforsecurity=False).hexdigest()[:16], 16):064b}"
        register, rest = int(bits[:12], 2), bits[12:]
        position = rest.index("1") + 1 if "1" in rest else len(rest) + 1
        registers[register] = max(registers[register], position)
    empty = registers.count(0)
    raw = _ALPHA * _REGISTERS**2 / sum(2.0**-each for each in registers)
    if raw <= 2.5 * _REGISTERS and empty:
        return round(_REGISTERS * math.log(_REGISTERS / empty))
    return round(raw)


def _text(value: object, type_: Type) -> str:
    match strip(type_):
        case String() | Enumeration():
            return cast("str", value)
        case Bytes():
            return cast("bytes", value).hex()
        case _:  # the others as Python writes whole numbers and truths
            return str(value).lower()


def reduce(run: Run, reducer: Reducer, values: Sequence[object]) -> object:
    """One value of at least one; `Failed` if it does not fit or a user's reducer fails."""
    match reducer:
        case Builtin(kind=kind, type=type_):
            return _builtin(run, kind, type_, [each for each in values if each is not None])
        case Fields(parts=parts):
            columns = zip(*cast("Sequence[tuple[object, ...]]", values), strict=True)
            return tuple([reduce(run, each, column) for each, column in zip(parts, columns, strict=True)])
        case Custom(function=function, order=order):
            if order is not None:
                values = _ordered(run, reducer, values)
            result = values[0]
            for each in values[1:]:
                result = run.apply(function, result, each)
            return result
        case _:
            assert_never(reducer)


def _ordered(run: Run, reducer: Custom, values: Sequence[object]) -> list[object]:
    """By the user's order, equal ones by the whole value."""
    order, type_ = reducer.order, reducer.function.parameters[0].type
    assert order is not None
    keyed = [(order_key(run.apply(order, each), order.body.type), order_key(each, type_), each) for each in values]
    return [each for _, _, each in sorted(keyed, key=lambda key: key[:2])]


def _builtin(run: Run, kind: Kind, type_: Type, values: list[object]) -> object:
    if not values:
        return None
    match kind:
        case Kind.SUM:
            return _sum(run, type_, values)
        case Kind.MIN:
            return min(values, key=lambda value: order_key(value, type_))
        case Kind.MAX:
            return max(values, key=lambda value: order_key(value, type_))
        case Kind.ALL:
            return all(values)
        case Kind.ANY:
            return any(values)
        case _:
            assert_never(kind)


@dataclass(frozen=True, slots=True)
class Given:
    """What a record adds to an aggregate: the argument's value (of `count()` any), and where the record stands among
    the others, for those that pick one by its order value.
    """

    value: object
    order: tuple[object, ...] = ()


def given(run: Run, what: Aggregate, record: Record, value: object, type_: Type) -> Given:
    """What a record adds, of which `value` (of that type) is aggregated; `Failed` if an argument fails."""
    found = True if what.argument is None else run.apply(what.argument, value)
    if not what.picks_record or what.arrival:
        return Given(found)
    if what.order is None:
        return Given(found, (record.time, order_key(value, type_)))
    return Given(found, (order_key(run.apply(what.order, value), what.order.body.type), order_key(value, type_)))


def aggregate(run: Run, what: Aggregate, gathered: Sequence[Given]) -> object:
    """The aggregate of what the records add; `Failed` if it does not fit."""
    some = [each for each in gathered if each.value is not None]
    known = [each.value for each in some]
    type_ = what.argument.body.type if what.argument is not None else what.type
    match what.function:
        case AggregateFunction.COUNT:
            return len(known)
        case AggregateFunction.SUM:
            return _sum(run, type_, known, what.type) if known else None
        case AggregateFunction.MIN:
            return _builtin(run, Kind.MIN, type_, known)
        case AggregateFunction.MAX:
            return _builtin(run, Kind.MAX, type_, known)
        case AggregateFunction.MEAN:
            return _mean(run, what.type, type_, known) if known else None
        case AggregateFunction.VAR:
            return _variance(run, cast("list[float]", known))
        case AggregateFunction.STD:
            variance = _variance(run, cast("list[float]", known))
            return None if variance is None else math.sqrt(variance)
        case AggregateFunction.FIRST | AggregateFunction.LAST:
            return _picked(what, sorted(some, key=lambda each: each.order))  # in order of arrival where all are equal
        case AggregateFunction.COLLECT:
            return _ascending(known, type_)
        case AggregateFunction.DISTINCT_COUNT:
            return len({order_key(each, type_) for each in known})
        case AggregateFunction.APPROX_DISTINCT:
            return estimate(known, type_)
        case AggregateFunction.QUANTILE:
            rank = math.ceil(Fraction(repr(what.fraction)) * len(known))
            return _ascending(known, type_)[max(rank, 1) - 1] if known else None
        case AggregateFunction.TOP_K:
            return _ascending(known, type_)[::-1][: what.limit]
        case AggregateFunction.MEDIAN:
            return _median(what.type, _ascending(known, type_)) if known else None
        case AggregateFunction.MODE:
            return _mode(_ascending(known, type_), type_) if known else None
        case AggregateFunction.COVAR:
            return _covariance(run, cast("list[tuple[float, float]]", known))
        case AggregateFunction.CORR:
            return _correlation(run, cast("list[tuple[float, float]]", known))
        case AggregateFunction.FOLD:
            return _fold(run, what, some)
        case _:
            assert_never(what.function)


def _picked(what: Aggregate, ordered: list[Given]) -> object:
    first = what.function is AggregateFunction.FIRST
    if what.limit is not None:
        return [each.value for each in (ordered[: what.limit] if first else ordered[-what.limit :])]
    return None if not ordered else ordered[0 if first else -1].value


def _fold(run: Run, what: Aggregate, some: list[Given]) -> object:
    """What a user's functions make of the values that are there."""
    if what.reducer is None:
        found: object = [each.value for each in sorted(some, key=lambda each: each.order)]
    else:
        found = reduce(run, what.reducer, [each.value for each in some]) if some else None
    return found if what.finish is None else run.apply(what.finish, found)


def _ascending(values: list[object], type_: Type) -> list[object]:
    return sorted(values, key=lambda value: order_key(value, type_))


def _variance(run: Run, values: list[float]) -> float | None:
    """The double nearest to the exact sample variance; NaN where a value is not finite, null of fewer than two."""
    if len(values) < 2:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    exact = [Fraction(each) for each in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    squares = _double(sum((each * each for each in exact), Fraction(0)))
    run.result.magnitude = max(run.result.magnitude, squares, math.sqrt(squares))
    return _double(sum(((each - mean) ** 2 for each in exact), Fraction(0)) / (len(exact) - 1))


def _median(result: Type, ascending: list[object]) -> object:
    """The mean of the two in the middle, which are one value where their number is odd."""
    two = [ascending[(len(ascending) - 1) // 2], ascending[len(ascending) // 2]]
    if isinstance(to := strip(result), Decimal):
        return rounded_half_up(sum(map(Fraction, cast("list[int]", two)), Fraction(0)) / 2, to.scale)
    special = [each for each in cast("list[float]", two) if not math.isfinite(each)]
    return sum(special) if special else _double(sum(map(Fraction, cast("list[float]", two)), Fraction(0)) / 2)


def _mode(ascending: list[object], type_: Type) -> object:
    keys = [order_key(each, type_) for each in ascending]
    return max(ascending, key=lambda each: keys.count(order_key(each, type_)))  # the first, and least, of several


def _covariance(run: Run, pairs: list[tuple[float, float]]) -> float | None:
    """The double nearest to the exact sample covariance; NaN where a value is not finite, null of fewer than two."""
    if len(pairs) < 2:
        return None
    if not all(math.isfinite(each) for pair in pairs for each in pair):
        return math.nan
    one, two = ([Fraction(pair[place]) for pair in pairs] for place in (0, 1))
    sizes = [math.sqrt(_double(sum((each * each for each in several), Fraction(0)))) for several in (one, two)]
    run.result.magnitude = max(run.result.magnitude, sizes[0] * sizes[1])
    return _double(_spread(one, two) / (len(pairs) - 1))


def _correlation(run: Run, pairs: list[tuple[float, float]]) -> float | None:
    """The double nearest to the exact correlation, so far as a root is; null where one value is always the same."""
    if len(pairs) < 2:
        return None
    if not all(math.isfinite(each) for pair in pairs for each in pair):
        return math.nan
    one, two = ([Fraction(pair[place]) for pair in pairs] for place in (0, 1))
    spreads = [_spread(several, several) for several in (one, two)]
    if 0 in spreads:
        return None
    for several, spread in zip((one, two), spreads, strict=True):
        squares = sum((each * each for each in several), Fraction(0))
        tame = spread > _SMALLEST and squares < 1 / _SMALLEST
        run.result.magnitude = max(run.result.magnitude, _double(squares / spread) if tame else math.inf)
    shared = _spread(one, two)
    return math.copysign(math.sqrt(_double(shared * shared / (spreads[0] * spreads[1]))), shared)


_SMALLEST = Fraction(1, 10**280)
"""Squares that are smaller, or greater than one by it, may be lost between the least and the greatest float."""


def _spread(one: list[Fraction], two: list[Fraction]) -> Fraction:
    """The sum of the products of the differences from the means."""
    means = [sum(several, Fraction(0)) / len(several) for several in (one, two)]
    return sum(((a - means[0]) * (b - means[1]) for a, b in zip(one, two, strict=True)), Fraction(0))


def _sum(run: Run, type_: Type, values: list[object], result: Type | None = None) -> object:
    exact = strip(result) if result is not None else None
    if isinstance(exact, Decimal):
        return sum_at_scale(values, exact)
    if isinstance(strip(type_), Float):
        return _exact(run, cast("list[float]", values), 1)
    return checked(sum(cast("list[int]", values)))


def _mean(run: Run, result: Type, type_: Type, values: list[object]) -> object:
    if isinstance(strip(type_), Float):
        return _exact(run, cast("list[float]", values), len(values))
    if isinstance(to := strip(result), Decimal):
        return rounded_half_up(sum(map(Fraction, cast("list[int]", values)), Fraction(0)) / len(values), to.scale)
    exact = Fraction(sum(cast("list[int]", values)), len(values))
    return float(exact) if isinstance(strip(result), Float) else round(exact)


def _exact(run: Run, values: list[float], count: int) -> float:
    """The double nearest to the exact sum divided by `count`; NaN and the infinities as IEEE adds them."""
    special = [each for each in values if not math.isfinite(each)]
    if special:
        return sum(special)
    exact = [Fraction(each) for each in values]
    run.result.magnitude = max(run.result.magnitude, _double(sum(map(abs, exact), Fraction(0)) / count))
    return _double(sum(exact, Fraction(0)) / count)


def _double(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
