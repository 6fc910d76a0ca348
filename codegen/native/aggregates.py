"""Aggregates of `aggregate_by_key` and of publish arguments as Python over single states; each skips nulls."""

from __future__ import annotations

from typing import assert_never

from ghcm.aggregates import rank_fraction
from ghcm.codegen.expressions import plainly_ordered
from ghcm.codegen.native.column_types import dtype_text
from ghcm.codegen.native.listed import chosen, listed
from ghcm.codegen.native.names import Names
from ghcm.codegen.native.reducers import Partial, extreme_partial, wide
from ghcm.codegen.native.row_text import Module, order_text
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.types import (
    Bytes,
    Decimal,
    Duration,
    Enumeration,
    Float,
    Int,
    String,
    Type,
    is_nullable,
    strip,
)

_F = AggregateFunction


class Added:
    """The texts of what a record adds: the argument's value; for `first` and `last` also the record's place and the
    record itself.
    """

    __slots__ = ("place", "record", "value")

    def __init__(self, value: str, place: str = "", record: str = "") -> None:
        self.value, self.place, self.record = value, place, record


def argument_type(aggregate: Aggregate) -> Type | None:
    """The type of what is aggregated; None for `count()`."""
    return None if aggregate.argument is None else aggregate.argument.body.type


def _of_floats(aggregate: Aggregate) -> bool:
    type_ = argument_type(aggregate)
    return type_ is not None and isinstance(strip(type_), Float)


def zero_text(aggregate: Aggregate) -> str:
    """The state of nothing."""
    match aggregate.function:
        case _F.COUNT:
            return "0"
        case _F.MEAN:
            return "(0, None)"
        case _:
            return "None"


def add_text(module: Module, aggregate: Aggregate, state: str, added: Added) -> str:
    """The state with what one more record adds (which may be null)."""
    type_, value = argument_type(aggregate), added.value
    match aggregate.function:
        case _F.COUNT:
            return f"{state} + 1" if type_ is None or not is_nullable(type_) else f"{state} + ({value} is not None)"
        case _F.SUM if isinstance(to := strip(aggregate.type), Decimal):
            return f"aggregates.add_units({state}, {value}, {to.scale})"
        case _F.SUM:
            return f"aggregates.{'add_float' if _of_floats(aggregate) else 'add_int'}({state}, {value})"
        case _F.MIN | _F.MAX:
            return _extreme(module, aggregate, state, value)
        case _F.MEAN:
            add = "add_float" if _of_floats(aggregate) else "add_int"
            return f"aggregates.add_mean({state}, {value}, aggregates.{add})"
        case _F.FIRST | _F.LAST:
            return f"{_summary(module, aggregate)}.add({state}, {added.place}, {added.record}, {value})"
        case _:
            return f"{_summary(module, aggregate)}.add({state}, {value})"


def merge_text(module: Module, aggregate: Aggregate, left: str, right: str) -> str:
    """One state of two."""
    floats = _of_floats(aggregate)
    match aggregate.function:
        case _F.COUNT:
            return f"{left} + {right}"
        case _F.SUM:
            return f"aggregates.{'merge_float' if floats else 'add_int'}({left}, {right})"
        case _F.MIN | _F.MAX:
            return _extreme(module, aggregate, left, right)
        case _F.MEAN:
            return f"aggregates.merge_mean({left}, {right}, aggregates.{'merge_float' if floats else 'add_int'})"
        case _:
            return f"{_summary(module, aggregate)}.merge({left}, {right})"


def result_text(module: Module, aggregate: Aggregate, state: str) -> str:
    """The value that is emitted."""
    floats = _of_floats(aggregate)
    match aggregate.function:
        case _F.COUNT | _F.MIN | _F.MAX:
            return state
        case _F.SUM if isinstance(to := strip(aggregate.type), Decimal):
            return f"aggregates.fit_decimal({state}, {to.precision}, {to.scale})"
        case _F.SUM:
            return f"aggregates.{'total' if floats else 'fit'}({state})"
        case _F.MEAN:
            exact = isinstance(strip(aggregate.type), Float)
            return f"aggregates.{'mean_of_floats' if floats else 'mean_of_ints' if exact else 'whole_mean'}({state})"
        case _:
            return f"{_summary(module, aggregate)}.result({state})"


def partial_of(module: Module, aggregate: Aggregate, added: Added, names: Names) -> Partial:
    """How Polars pre-aggregates columns of those expression texts; `names` gives the state columns their names."""
    type_, column = argument_type(aggregate), added.value
    prefix = names.new(aggregate.name)
    number = "pl.len().cast(pl.Int64)" if type_ is None else f"{column}.count().cast(pl.Int64)"
    if type_ is None or aggregate.function is _F.COUNT:
        kept = f'pl.col("{prefix}")'
        return Partial(((prefix, number),), prefix, merged=(f"{kept}.sum()",), result=kept)
    if aggregate.function in (_F.MIN, _F.MAX):
        return extreme_partial(prefix, column, type_, least=aggregate.function is _F.MIN)
    if aggregate.function not in (_F.SUM, _F.MEAN):
        summary = _summary(module, aggregate)
        if aggregate.placed:
            return chosen(aggregate, names, prefix, summary, column, added.place, added.record)
        return listed(aggregate, type_, column, prefix, summary)
    total = f"{column if _of_floats(aggregate) else wide(column, type_)}.sum()"
    found = f"aggregates.float_sum({prefix})" if _of_floats(aggregate) else prefix
    floats = (prefix,) if _of_floats(aggregate) else ()
    if aggregate.function is _F.SUM and not is_nullable(type_):  # a group has a record, so there is a sum
        kept = f'pl.col("{prefix}")'
        return Partial(((prefix, total),), found, floats, (f"{kept}.sum()",), *_summed(aggregate, "", prefix))
    count = names.new(f"{prefix}_count")
    sum_ = f"{found} if {count} else None"
    state = sum_ if aggregate.function is _F.SUM else f"({count}, {sum_})"
    merged = (f'pl.col("{count}").sum()', f'pl.col("{prefix}").sum()')
    columns = ((count, number), (prefix, total))
    return Partial(columns, state, floats, merged, *_summed(aggregate, count, prefix))


def _summed(aggregate: Aggregate, count: str, total: str) -> tuple[str, tuple[str, ...]]:
    """The result of a sum or mean of those columns (no count: there is a sum) as an expression, and where it is
    unsure.
    """
    names = f'"{count}", "{total}"' if count else f'"{total}"'
    floats, type_ = _of_floats(aggregate), strip(aggregate.type)
    if aggregate.function is _F.MEAN:
        if not isinstance(type_, Float):
            return "", ()
        return f"columns.mean({names})", () if floats else (f'columns.inexact("{total}")',)
    if floats:
        return f"columns.float_{'sum' if count else 'total'}({names})", ()
    if isinstance(type_, Decimal):
        digits = f"{type_.precision}, {type_.scale}"
        return f"columns.exact_{'sum' if count else 'total'}({names}, {digits})", ()
    if not isinstance(type_, Int | Duration):
        return "", ()
    function = "sum" if count else "total"
    return f"columns.whole_{function}({names}).cast({dtype_text(type_)})", (f'columns.beyond(pl.col("{total}"))',)


def _extreme(module: Module, aggregate: Aggregate, left: str, right: str) -> str:
    type_ = argument_type(aggregate)
    assert type_ is not None
    word = "least" if aggregate.function is _F.MIN else "greatest"
    plain = strip(type_)
    order = "" if plainly_ordered(plain) else f", {module.order(plain)}"
    return f"aggregates.{word}({left}, {right}{order})"


def _summary(module: Module, aggregate: Aggregate) -> str:
    """The name of the constant that keeps, merges and ends the states of an aggregate."""
    type_ = argument_type(aggregate)
    assert type_ is not None and aggregate.argument is not None
    plain = strip(type_)
    match aggregate.function:
        case _F.VAR:
            text = "summaries.Spread()"
        case _F.STD:
            text = "summaries.Spread(root=True)"
        case _F.FIRST | _F.LAST:
            by = "order.plain" if aggregate.order is None else order_text(aggregate.order.body.type)
            tie = order_text(aggregate.argument.parameters[0].type)
            text = f"summaries.Chosen({aggregate.function is _F.LAST}, {by}, {tie})"
        case _F.COLLECT:
            text = f"summaries.Collected({order_text(plain)})"
        case _F.DISTINCT_COUNT:
            text = f"summaries.Different({order_text(plain)})"
        case _F.APPROX_DISTINCT:
            text = f"hyperloglog.Approximate({_hashed_text(plain)})"
        case _F.QUANTILE:
            assert aggregate.fraction is not None
            rank = rank_fraction(aggregate.fraction)
            text = f"summaries.Quantile({rank.numerator}, {rank.denominator}, {order_text(plain)})"
        case _F.TOP_K:
            text = f"summaries.Greatest({aggregate.limit}, {order_text(plain)})"
        case _F.COUNT | _F.SUM | _F.MIN | _F.MAX | _F.MEAN:
            raise AssertionError(f"{aggregate.function.value} has no summary")
        case _:
            assert_never(aggregate.function)
    return module.constant(f"_{aggregate.function.value}", text)


def _hashed_text(type_: Type) -> str:
    match type_:
        case String() | Enumeration():
            return "str"
        case Bytes():
            return "bytes.hex"
        case _:
            return "hyperloglog.lower"
