"""Aggregates of `aggregate_by_key` and of publish arguments as Python over single states; each skips nulls."""

from __future__ import annotations

from typing import assert_never

from ghcm.codegen.expressions import plainly_ordered
from ghcm.codegen.native.names import Names
from ghcm.codegen.native.reducers import Partial, extreme_series, wide
from ghcm.codegen.native.row_text import Module
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.types import Float, Type, is_nullable, strip

__all__ = ["add_text", "argument_type", "merge_text", "partial_of", "result_text", "zero_text"]

_F = AggregateFunction


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
        case _F.SUM | _F.MIN | _F.MAX:
            return "None"
        case _F.MEAN:
            return "(0, None)"
        case _:
            assert_never(aggregate.function)


def add_text(module: Module, aggregate: Aggregate, state: str, value: str) -> str:
    """The state with one more value (which may be null)."""
    type_ = argument_type(aggregate)
    match aggregate.function:
        case _F.COUNT:
            return f"{state} + 1" if type_ is None or not is_nullable(type_) else f"{state} + ({value} is not None)"
        case _F.SUM:
            return f"aggregates.{'add_float' if _of_floats(aggregate) else 'add_int'}({state}, {value})"
        case _F.MIN | _F.MAX:
            return _extreme(module, aggregate, state, value)
        case _F.MEAN:
            add = "add_float" if _of_floats(aggregate) else "add_int"
            return f"aggregates.add_mean({state}, {value}, aggregates.{add})"
        case _:
            assert_never(aggregate.function)


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
            assert_never(aggregate.function)


def result_text(aggregate: Aggregate, state: str) -> str:
    """The value that is emitted."""
    floats = _of_floats(aggregate)
    match aggregate.function:
        case _F.COUNT | _F.MIN | _F.MAX:
            return state
        case _F.SUM:
            return f"aggregates.{'total' if floats else 'fit'}({state})"
        case _F.MEAN:
            exact = isinstance(strip(aggregate.type), Float)
            return f"aggregates.{'mean_of_floats' if floats else 'mean_of_ints' if exact else 'whole_mean'}({state})"
        case _:
            assert_never(aggregate.function)


def partial_of(aggregate: Aggregate, column: str, names: Names) -> Partial:
    """How Polars pre-aggregates the column of that expression text; `names` gives the state columns their names."""
    type_ = argument_type(aggregate)
    prefix = names.new(aggregate.name)
    if type_ is None:
        return Partial(((prefix, "pl.len().cast(pl.Int64)"),), prefix)
    number = f"{column}.count().cast(pl.Int64)"
    if aggregate.function is _F.COUNT:
        return Partial(((prefix, number),), prefix)
    if aggregate.function in (_F.MIN, _F.MAX):
        return Partial(((prefix, extreme_series(column, type_, least=aggregate.function is _F.MIN)),), prefix)
    count = names.new(f"{prefix}_count")
    total = f"{column}.sum()" if _of_floats(aggregate) else f"{wide(column, type_)}.sum()"
    found = f"aggregates.float_sum({prefix})" if _of_floats(aggregate) else prefix
    sum_ = f"{found} if {count} else None"
    floats = (prefix,) if _of_floats(aggregate) else ()
    state = sum_ if aggregate.function is _F.SUM else f"({count}, {sum_})"
    return Partial(((count, number), (prefix, total)), state, floats)


def _extreme(module: Module, aggregate: Aggregate, left: str, right: str) -> str:
    type_ = argument_type(aggregate)
    assert type_ is not None
    word = "least" if aggregate.function is _F.MIN else "greatest"
    plain = strip(type_)
    order = "" if plainly_ordered(plain) else f", {module.order(plain)}"
    return f"aggregates.{word}({left}, {right}{order})"
