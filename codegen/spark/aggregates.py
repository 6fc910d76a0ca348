"""Aggregates as grouped columns, and what is made of these: the same for `aggregate_by_key` and for published calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from ghcm.aggregates import rank_fraction
from ghcm.codegen.spark.text import quote
from ghcm.expr import Lambda
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.spg.ops.traits import TIME
from ghcm.types import Bytes, Date, Decimal, Duration, Enumeration, Float, String, Timestamp, Type, strip
from ghcm.types.unification import MAX_SUMMED_PRECISION

RECORD = "@record"
"""The whole record, by which `first` and `last` tell apart what stands at the same place."""

_F = AggregateFunction


def grouped_columns(aggregate: Aggregate) -> Iterator[tuple[str, Lambda]]:
    """The columns that an aggregate reads, with the functions of the record that give them."""
    if aggregate.argument is not None and not _of_record(aggregate):
        yield f"@{aggregate.name}", aggregate.argument
    if aggregate.order is not None:
        yield f"@{aggregate.name}.order", aggregate.order


def argument_columns(aggregate: Aggregate) -> Iterator[tuple[str, str]]:
    """The grouped columns behind an aggregate of the column `@<name>`."""
    name = f"@{aggregate.name}"
    value = _quoted(name)
    match aggregate.function:
        case _F.COUNT:
            yield name, quote("count(1)" if aggregate.argument is None else f"count({value})")
        case _F.SUM:
            yield from _sum_columns(aggregate, name, value)
        case _F.MIN:
            yield name, quote(f"min({value})")
        case _F.MAX:
            yield name, quote(f"max({value})")
        case _F.MEAN:
            yield name, f"wide_sum({quote(value)})" if _sums(aggregate) else quote(f"avg({value})")
            if _sums(aggregate):
                yield f"{name}.count", quote(f"count({value})")
        case _F.VAR | _F.STD:
            yield name, quote(f"var_samp(double({value}))")
            yield f"{name}.count", quote(f"count({value})")
            yield f"{name}.odd", quote(f"bool_or(isnan(double({value})) OR abs(double({value})) = double('Infinity'))")
        case _F.FIRST | _F.LAST:
            yield name, quote(_picked(aggregate, name, value))
        case _F.COLLECT | _F.QUANTILE:
            yield name, quote(f"sort_array(collect_list({value}))")
        case _F.DISTINCT_COUNT:
            yield name, quote(f"count(DISTINCT {value})")
        case _F.APPROX_DISTINCT:
            assert aggregate.argument is not None
            yield name, f"hash_places({quote(_hashed(value, aggregate.argument.body.type))})"
        case _F.TOP_K:
            yield name, quote(f"slice(sort_array(collect_list({value}), false), 1, {aggregate.limit})")
        case _:
            assert_never(aggregate.function)


def _sum_columns(aggregate: Aggregate, name: str, value: str) -> Iterator[tuple[str, str]]:
    if not isinstance(to := strip(aggregate.type), Decimal):
        yield name, f"wide_sum({quote(value)})" if _sums(aggregate) else quote(f"sum({value})")
    elif _in_parts(aggregate):
        yield name, f"high_sum({quote(value)}, {decimal_text(to)})"
        yield f"{name}.low", f"low_sum({quote(value)}, {decimal_text(to)})"
    else:
        yield name, quote(f"cast(sum({value}) AS decimal({to.precision}, {to.scale}))")


def _picked(aggregate: Aggregate, name: str, value: str) -> str:
    """The value of the record in the first or last place, as SQL."""
    by = _quoted(TIME) if aggregate.by_time else _quoted(f"{name}.order")
    pick = "min" if aggregate.function is _F.FIRST else "max"
    place = f"named_struct('by', {by}, 'record', {_quoted(RECORD)})"
    if _of_record(aggregate):  # which stands in its place already, and is not carried twice
        return f"({pick}({place}) FILTER (WHERE {_quoted(RECORD)} IS NOT NULL)).record"
    return f"{pick}_by({value}, {place}) FILTER (WHERE {value} IS NOT NULL)"


def final_value(aggregate: Aggregate) -> str:
    """The aggregate as an expression over the grouped columns."""
    name = f"@{aggregate.name}"
    column, count = column_of(name), column_of(f"{name}.count")
    match aggregate.function:
        case _F.SUM if isinstance(to := strip(aggregate.type), Decimal) and _in_parts(aggregate):
            return f"whole_of_parts({column}, {column_of(f'{name}.low')}, {decimal_text(to)})"
        case _F.SUM if _sums(aggregate):
            return f"narrow({column})"
        case _F.MEAN if _sums(aggregate):
            mean = "rounded_mean" if isinstance(strip(aggregate.type), Duration) else "mean_of_whole"
            return f"Checked({mean}({column}, {count}))"
        case _F.VAR | _F.STD:
            word = "variance" if aggregate.function is _F.VAR else "deviation"
            return f"Checked(sample_{word}({column}, {count}, {column_of(f'{name}.odd')}))"
        case _F.QUANTILE:
            assert aggregate.fraction is not None
            rank = rank_fraction(aggregate.fraction)
            return f"Checked(at_rank({column}, {rank.numerator}, {rank.denominator}))"
        case _F.APPROX_DISTINCT:
            return f"Checked(about_distinct({column}))"
        case _:
            return f"col({quote(name)})"


def aggregate_can_fail(aggregate: Aggregate) -> bool:
    """Whether a group may have no result: its sum of whole numbers or of long decimals does not fit."""
    return _in_parts(aggregate) or (aggregate.function is _F.SUM and _sums(aggregate))


def column_of(name: str) -> str:
    """A column as the text of a Python string."""
    return quote(_quoted(name))


def _of_record(aggregate: Aggregate) -> bool:
    """Whether it picks a record and gives the whole of it."""
    argument = aggregate.argument
    return aggregate.placed and argument is not None and argument.body == argument.parameters[0]


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


def decimal_text(type_: Decimal) -> str:
    """A decimal type as the job writes it."""
    return f"DecimalType({type_.precision}, {type_.scale})"


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
        case _:
            return f"string({value})"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
