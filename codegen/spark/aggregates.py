"""Aggregates as grouped columns, and what is made of these: the same for `aggregate_by_key` and for published calls."""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from ghcm.aggregates import rank_fraction
from ghcm.codegen.spark.aggregate_inputs import gives_record
from ghcm.codegen.spark.expressions import Emitter, value_binding
from ghcm.codegen.spark.functions.numbers import WIDE, decimal_of_units, decimal_units, floored, half_up, narrow
from ghcm.codegen.spark.library.sql import bound, fails, quoted, when
from ghcm.codegen.spark.names import variable
from ghcm.codegen.spark.reducers import reduced, wide_sum
from ghcm.codegen.spark.sql import Checked, ddl, first
from ghcm.reducers import Aggregate, AggregateFunction, Custom
from ghcm.spg.traits import TIME
from ghcm.types import Bytes, Date, Decimal, Duration, Enumeration, Float, String, Timestamp, Type, is_nullable, strip
from ghcm.unification import MAX_SUMMED_PRECISION, sum_of_many

RECORD = "@record"
"""The whole record, by which `first` and `last` tell apart what has the same order value."""

_F = AggregateFunction


def grouped_columns(aggregate: Aggregate, value: str, emitter: Emitter) -> Iterator[tuple[str, str]]:
    """The grouped columns behind an aggregate, by their names, of what it reads."""
    name = f"@{aggregate.name}"
    match aggregate.function:
        case _F.COUNT:
            yield name, "count(1)" if aggregate.argument is None else f"count({value})"
        case _F.SUM:
            yield from _sum_columns(aggregate, name, value)
        case _F.MIN:
            yield name, f"min({value})"
        case _F.MAX:
            yield name, f"max({value})"
        case _F.MEAN:
            sums = isinstance(strip(aggregate.type), Decimal)
            yield name, wide_sum(value) if _sums(aggregate) else f"sum({value})" if sums else f"avg({value})"
            if _sums(aggregate) or isinstance(strip(aggregate.type), Decimal):
                yield f"{name}.count", f"count({value})"
        case _F.VAR | _F.STD:
            yield name, f"var_samp(double({value}))"
            yield f"{name}.count", f"count({value})"
            yield f"{name}.odd", f"bool_or(isnan(double({value})) OR abs(double({value})) = double('Infinity'))"
        case _F.FIRST | _F.LAST:
            yield name, _picked(aggregate, name, value)
        case _F.COLLECT | _F.QUANTILE | _F.MEDIAN | _F.MODE:
            yield name, f"sort_array(collect_list({value}))"
        case _F.DISTINCT_COUNT:
            yield name, f"count(DISTINCT {value})"
        case _F.APPROX_DISTINCT:
            assert aggregate.argument is not None
            yield name, hash_entries(_hashed(value, aggregate.argument.body.type))
        case _F.TOP_K:
            yield name, f"slice(sort_array(collect_list({value}), false), 1, {aggregate.limit})"
        case _F.COVAR | _F.CORR:
            yield from _paired_columns(aggregate, name, value)
        case _F.FOLD if aggregate.reducer is None:
            yield name, _in_order(aggregate, name, value)
        case _F.FOLD:
            yield from _merged(emitter, aggregate, value)[1].items()
        case _:
            assert_never(aggregate.function)


def _sum_columns(aggregate: Aggregate, name: str, value: str) -> Iterator[tuple[str, str]]:
    if not isinstance(to := strip(aggregate.type), Decimal):
        yield name, wide_sum(value) if _sums(aggregate) else f"sum({value})"
    elif _in_parts(aggregate):
        yield name, high_sum(value, to)
        yield f"{name}.low", low_sum(value, to)
    else:
        yield name, f"cast(sum({value}) AS {ddl(to)})"


def _paired_columns(aggregate: Aggregate, name: str, value: str) -> Iterator[tuple[str, str]]:
    one, two = f"{value}._1", f"{value}._2"
    yield name, f"covar_samp({one}, {two})"
    yield f"{name}.count", f"count({value})"
    odd = (f"isnan({each}) OR abs({each}) = double('Infinity')" for each in (one, two))
    yield f"{name}.odd", f"bool_or({' OR '.join(odd)})"
    if aggregate.function is _F.CORR:
        yield f"{name}.spread", f"sqrt(var_samp({one})) * sqrt(var_samp({two}))"
        yield f"{name}.same", f"min({one}) = max({one}) OR min({two}) = max({two})"


def _picked(aggregate: Aggregate, name: str, value: str) -> str:
    """The value of the first or last record, as SQL."""
    if aggregate.limit is not None:
        return _picked_some(aggregate, name, value)
    by = _order_value(aggregate, name)
    pick = "min" if aggregate.function is _F.FIRST else "max"
    record = f"named_struct('by', {by}, 'record', {quoted(RECORD)})"
    if gives_record(aggregate):  # which is there already, and is not carried twice
        return f"({pick}({record}){_of_those_there(aggregate, quoted(RECORD))}).record"
    return f"{pick}_by({value}, {record}){_of_those_there(aggregate, value)}"


def _in_order(aggregate: Aggregate, name: str, value: str) -> str:
    """The values of all records in their order, as SQL."""
    return f"sort_array({_placed(aggregate, name, value)}).value"


def _merged(emitter: Emitter, aggregate: Aggregate, value: str) -> tuple[Checked, dict[str, str]]:
    """What a user's merge makes of the values, null of none; and the grouped columns that this reads."""
    assert aggregate.reducer is not None and aggregate.argument is not None
    name, columns = f"@{aggregate.name}", dict[str, str]()
    found = reduced(emitter, aggregate.reducer, value, name, columns)
    if not isinstance(aggregate.reducer, Custom):
        columns[f"{name}.count"] = f"count({value})"
        found = Checked(when(f"{quoted(f'{name}.count')} > 0", found.value), found.error)
    return found, columns


def _of_those_there(aggregate: Aggregate, value: str) -> str:
    """What leaves out the records of which the aggregate would pick a null."""
    always = aggregate.argument is not None and not is_nullable(aggregate.argument.body.type)
    return "" if always else f" FILTER (WHERE {value} IS NOT NULL)"


def _order_value(aggregate: Aggregate, name: str) -> str:
    return quoted(TIME) if aggregate.by_time else quoted(f"{name}.order")


def _placed(aggregate: Aggregate, name: str, value: str) -> str:
    """The values of all records as a list, each behind what orders it."""
    value = quoted(RECORD) if gives_record(aggregate) else value
    record = f"named_struct('by', {_order_value(aggregate, name)}, 'record', {quoted(RECORD)}, 'value', {value})"
    return f"collect_list({record}){_of_those_there(aggregate, value)}"


def _picked_some(aggregate: Aggregate, name: str, value: str) -> str:
    """The values of so many first or last records, in their order, as SQL."""
    all_ = _placed(aggregate, name, value)
    some = f"slice(sort_array({all_}), 1, {aggregate.limit})"
    if aggregate.function is _F.LAST:
        some = f"reverse(slice(sort_array({all_}, false), 1, {aggregate.limit}))"
    return f"{some}.value"


def final_value(aggregate: Aggregate, emitter: Emitter) -> Checked:
    """The aggregate as an expression over the grouped columns."""
    name = f"@{aggregate.name}"
    column, count = quoted(name), quoted(f"{name}.count")
    match aggregate.function:
        case _F.SUM if isinstance(to := strip(aggregate.type), Decimal) and _in_parts(aggregate):
            return whole_of_parts(column, quoted(f"{name}.low"), to)
        case _F.SUM if _sums(aggregate):
            return narrow(column)
        case _F.MEAN if isinstance(to := strip(aggregate.type), Decimal):
            return Checked(_decimal_mean(aggregate, to, column, count))
        case _F.MEAN if _sums(aggregate):
            is_duration = isinstance(strip(aggregate.type), Duration)
            return Checked((rounded_mean if is_duration else mean_of_whole)(column, count))
        case _F.VAR | _F.STD:
            spread = sample_variance if aggregate.function is _F.VAR else sample_deviation
            return Checked(spread(column, count, quoted(f"{name}.odd")))
        case _F.QUANTILE:
            assert aggregate.fraction is not None
            rank = rank_fraction(aggregate.fraction)
            return Checked(at_rank(column, rank.numerator, rank.denominator))
        case _F.APPROX_DISTINCT:
            return Checked(about_distinct(column))
        case _F.MEDIAN:
            return Checked(_median(aggregate, column))
        case _F.MODE:
            return Checked(commonest(column, aggregate.type))
        case _F.COVAR:
            return Checked(sample_variance(column, count, quoted(f"{name}.odd")))
        case _F.CORR:
            odd, spreads, same = (quoted(f"{name}.{each}") for each in ("odd", "spread", "same"))
            return Checked(correlation(column, spreads, count, odd, same))
        case _F.FOLD:
            found = Checked(column) if aggregate.reducer is None else _merged(emitter, aggregate, column)[0]
            if aggregate.finish is None:
                return found
            made = emitter.body(aggregate.finish, value_binding(Checked(found.value)))
            return replace(made, error=first(found.error, made.error))
        case _:  # the grouped column itself
            return Checked(column)


def _decimal_mean(aggregate: Aggregate, to: Decimal, total: str, count: str) -> str:
    """A sum of decimals by their count, rounded."""
    assert aggregate.argument is not None
    of = strip(aggregate.argument.body.type)
    assert isinstance(of, Decimal)
    shift = to.scale - of.scale
    whole = f"cast({decimal_units(total, sum_of_many(of))} AS {WIDE}) * {10 ** max(shift, 0)}BD"
    by = f"cast({count} AS {WIDE}) * {10 ** max(-shift, 0)}BD"
    return when(f"{count} > 0", half_up(whole, by, to))


def _median(aggregate: Aggregate, values: str) -> str:
    """The mean of the two values in the middle of an ascending list; null of an empty one."""
    assert aggregate.argument is not None
    below, above = (f"get({values}, int((size({values}) - {less}) div 2))" for less in (1, 0))
    one, two = variable("below"), variable("above")
    match strip(aggregate.argument.body.type):
        case Float():
            middle = f"({one} + {two}) / 2"
            mean = when(f"abs({middle}) = double('Infinity')", f"{one} / 2 + {two} / 2", middle)
        case Decimal():
            mean = f"cast(({one} + {two}) * 0.5BD AS {ddl(strip(aggregate.type))})"
        case _:  # whole numbers
            mean = mean_of_whole(f"(cast({one} AS {WIDE}) + cast({two} AS {WIDE}))", "2L")
    return when(f"size({values}) > 0", bound(below, one, bound(above, two, mean)))


def is_exact(aggregate: Aggregate) -> bool:
    """Whether its grouped column is of the type of the aggregate as it stands."""
    return aggregate.function in (_F.COUNT, _F.MIN, _F.MAX, _F.FIRST, _F.LAST, _F.COLLECT, _F.DISTINCT_COUNT, _F.TOP_K)


def _sums(aggregate: Aggregate) -> bool:
    """Whether it sums whole numbers."""
    summed = aggregate.function in (_F.SUM, _F.MEAN)
    if not summed or aggregate.argument is None:
        return False
    return not isinstance(strip(aggregate.argument.body.type), Float | Decimal)


def _in_parts(aggregate: Aggregate) -> bool:
    """Whether it sums decimals so long that Spark would lose what does not fit for a while."""
    of = None if aggregate.argument is None else strip(aggregate.argument.body.type)
    return aggregate.function is _F.SUM and isinstance(of, Decimal) and of.precision > MAX_SUMMED_PRECISION


def _hashed(value: str, type_: Type) -> str:
    match strip(type_):
        case String() | Enumeration():
            return value
        case Bytes():
            return f"lower(hex({value}))"
        case Timestamp():
            return f"string(unix_micros({value}))"
        case Date():
            return f"string(unix_date({value}))"
        case _:  # the others are the same texts on every engine
            return f"string({value})"


# --- sums, means and the like as SQL ---------------------------------------------------------------------------------


PART = "100000000000000000000BD"


def high_sum(value: str, type_: Decimal) -> str:
    """The sum of the digits of long decimals but for the last 20, which cannot overflow."""
    return f"sum(cast({decimal_units(value, type_)} div {PART} AS decimal(19, 0)))"


def low_sum(value: str, type_: Decimal) -> str:
    """The sum of the last 20 digits of decimals."""
    return f"sum(cast({decimal_units(value, type_)} % {PART} AS decimal(20, 0)))"


def whole_of_parts(high: str, low: str, type_: Decimal) -> Checked:
    """The sum of decimals of its parts, which are given one sign; it fails where it has more than 38 digits."""
    over = f"cast({high} + cast({low} div {PART} AS decimal(19, 0)) AS decimal(30, 0))"
    rest = f"cast({low} % {PART} AS decimal(21, 0))"
    borrowed = f"{over} > 0 AND {rest} < 0", f"{over} < 0 AND {rest} > 0"
    first = f"(CASE WHEN {borrowed[0]} THEN {over} - 1BD WHEN {borrowed[1]} THEN {over} + 1BD ELSE {over} END)"
    last = f"(CASE WHEN {borrowed[0]} THEN {rest} + {PART} WHEN {borrowed[1]} THEN {rest} - {PART} ELSE {rest} END)"
    whole = f"(cast({first} AS decimal(18, 0)) * {PART} + cast({last} AS decimal(20, 0)))"
    fits = f"abs({first}) < {10**18}BD"
    error = fails(f"NOT ({fits})", "overflow", "the sum has more than 38 digits")
    return Checked(when(fits, decimal_of_units(whole, type_)), error)


def mean_of_whole(total: str, count: str) -> str:
    """A wide sum of whole numbers by their count, as the nearest float: a long sum is divided by hand, 18 digits at a
    time, as many as decide where doubles have a halfway mark, and one more digit that says whether there is a rest.
    """
    words = ("size", "whole", "rest", "high", "rest", "low")
    ten, size, whole, first_rest, high, second_rest, low = ("1000000000000000000BD", *map(variable, words))
    rest = f"if({second_rest} > {low} * {count}, '1', '0')"
    digits = f"concat({whole}, '.', lpad({high}, 18, '0'), lpad({low}, 18, '0'), {rest})"
    digits = bound(floored(second_rest, count), low, digits)
    digits = bound(f"({first_rest} - {high} * {count}) * {ten}", second_rest, digits)
    digits = bound(floored(first_rest, count), high, digits)
    digits = bound(f"({size} - {whole} * {count}) * {ten}", first_rest, digits)
    digits = bound(f"abs({total})", size, bound(floored(size, count), whole, digits))
    exact = f"double({digits}) * if({total} < 0, -1, 1)"
    return when(f"abs({total}) > {2**53}BD", exact, f"double({total}) / {count}")


def rounded_mean(total: str, count: str) -> str:
    """A wide sum by a count, rounded half to even."""
    low = floored(total, count)
    twice = f"(({total} - {low} * {count}) * 2)"
    return f"bigint({when(f'{twice} > {count} OR ({twice} = {count} AND {low} % 2 != 0)', f'{low} + 1', low)})"


def sample_variance(variance: str, count: str, odd: str) -> str:
    """A variance as Spark has it, null of fewer than two values, NaN where one is not finite, else a number."""
    number = when(f"isnan({variance})", "double('Infinity')", variance)
    return when(f"{count} > 1", when(odd, "double('NaN')", number))


def sample_deviation(variance: str, count: str, odd: str) -> str:
    """The root of a variance."""
    return f"sqrt({sample_variance(variance, count, odd)})"


def at_rank(values: str, part: int, whole: int) -> str:
    """The value at a nearest rank, so many parts of the whole, of an ascending list; null of an empty one."""
    rank = f"({part}BD * size({values}) + {whole - 1}BD) div {whole}BD"
    return f"get({values}, int(greatest({rank}, 1L)) - 1)"


def commonest(values: str, type_: Type) -> str:
    """The value that an ascending list holds most often, the least of several such; null of an empty one."""
    state, each = variable("state"), variable("each")
    of = ddl(strip(type_))
    kept = f"struct<value: {of}, most: bigint, last: {of}, run: bigint>"
    start = f"cast(named_struct('value', NULL, 'most', 0L, 'last', NULL, 'run', 0L) AS {kept})"
    run = f"if({each} <=> {state}.last, {state}.run + 1L, 1L)"
    found = when(f"{run} > {state}.most", each, f"{state}.value"), f"greatest({run}, {state}.most)"
    step = f"cast(named_struct('value', {found[0]}, 'most', {found[1]}, 'last', {each}, 'run', {run}) AS {kept})"
    return f"(aggregate({values}, {start}, ({state}, {each}) -> {step})).value"


def correlation(covariance: str, spread: str, count: str, odd: str, same: str) -> str:
    """A covariance by the root of the product of both variances; null of fewer than two pairs, and where one value is
    always the `same`, NaN where one is not finite, else a number.
    """
    number = f"greatest(least(coalesce(try_divide({covariance}, {spread}), 0D), 1D), -1D)"
    return when(f"{count} > 1", when(odd, "double('NaN')", when(f"NOT ({same})", number)))


def hash_entries(value: str) -> str:
    """The HyperLogLog registers (12 bits of a hash) of a group of texts, each with the rank of the first one in the
    52 bits behind them, as sorted numbers `register * 64 + rank`.
    """
    digits = f"md5({value})"
    rest = f"bigint(conv(substring({digits}, 4, 13), 16, 10))"
    rank = f"53 - {when(f'{rest} = 0', '0', f'length(bin({rest}))')}"
    return f"sort_array(collect_set(bigint(conv(substring({digits}, 1, 3), 16, 10)) * 64 + {rank}))"


def about_distinct(entries: str) -> str:
    """The number of different values that HyperLogLog estimates from registers; by linear counting if it is small."""
    each, index, total = map(variable, ("each", "index", "total"))
    next_register = f"get({entries}, {index} + 1) div 64"
    greatest_entries = f"filter({entries}, ({each}, {index}) -> coalesce({next_register} > {each} div 64, true))"
    empty = f"(4096 - size({greatest_entries}))"
    inverse = f"aggregate({greatest_entries}, 0D, ({total}, {each}) -> {total} + power(2D, -({each} % 64)))"
    raw = f"({0.7213 / (1 + 1.079 / 4096) * 4096 * 4096!r}D / ({empty} + {inverse}))"
    counted = f"rint(4096 * ln(4096D / {empty}))"
    return f"bigint({when(f'{empty} > 0 AND {raw} <= 10240', counted, f'rint({raw})')})"
