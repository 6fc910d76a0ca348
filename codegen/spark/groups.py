"""What aggregations become: one grouping, then a check of what it gave."""

from __future__ import annotations

from typing import assert_never

from ghcm.codegen.spark.aggregates import (
    RECORD,
    aggregate_can_fail,
    argument_columns,
    column_of,
    final_value,
    grouped_columns,
)
from ghcm.codegen.spark.expressions import OF_VALUES, can_fail, value_binding
from ghcm.codegen.spark.scope import Scope
from ghcm.codegen.spark.text import quote
from ghcm.reducers import Builtin, Custom, Fields, Kind, Reducer
from ghcm.spg.ops import AggregateByKey, ReduceByKey
from ghcm.spg.ops.traits import TIME
from ghcm.types import Float, Shape, Struct, Type, strip


def _by(scope: Scope) -> list[str]:
    """The columns that make a group."""
    keyed = scope.takes.shape is not Shape.STREAM
    return [*(["key"] if keyed else []), *(["window"] if scope.takes.windowed else [])]


def _finish(scope: Scope, value: str, *, fails: bool = True) -> list[str]:
    """From the grouped columns to the records of the result, with the time of their window."""
    by = _by(scope)
    columns = {name: f"col({quote(name)})" for name in by} | {"value": value}
    gives = scope.gives.element
    names = gives.names if isinstance(gives, Struct) and "value" in gives.names else ("value",)
    ordered = {name: columns[name] for name in names}
    if isinstance(gives, Struct) and "value" not in gives.names:
        ordered = {name: f"part_of({value}, {quote(name)})" for name in gives.names}
    key = Struct(tuple(part for part in scope.takes.columns.fields if part.name in by))
    lines = _times(scope)
    step = f", step={scope.step(key)}" if fails else ""
    return [*lines, f"return {scope.transformed('rows', ordered, step=step)}"]


def _times(scope: Scope) -> list[str]:
    """The event time of what is windowed, and a watermark at which nothing is late."""
    lines = ["rows = windows_time(rows)"] if TIME in scope.keep and scope.takes.windowed else []
    if scope.keep - {TIME} or (TIME in scope.keep and not scope.takes.windowed):
        rest = sorted(scope.keep - {TIME}) if scope.takes.windowed else sorted(scope.keep)
        lines.append(f"rows = without_place(rows, [{', '.join(map(quote, rest))}])")
    return lines


def _group(by: list[str], columns: dict[str, str]) -> str:
    parts = ", ".join(f"{quote(name)}: {text}" for name, text in columns.items())
    return f"rows = grouped(rows, [{', '.join(map(quote, by))}], {{{parts}}})"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# --- reduce ----------------------------------------------------------------------------------------------------------


def reduce_body(scope: Scope, op: ReduceByKey) -> list[str]:
    """One value per key."""
    columns: dict[str, str] = {}
    value = _reduced(scope, op.reducer, "`value`", "@value", columns)
    return [_group(_by(scope), columns), *_finish(scope, value, fails=_may_fail(op.reducer))]


def _may_fail(reducer: Reducer) -> bool:
    match reducer:
        case Builtin(kind=kind, type=type_):
            return kind is Kind.SUM and not isinstance(strip(type_), Float)
        case Fields(parts=parts):
            return any(map(_may_fail, parts))
        case Custom(function=function, order=order):
            return can_fail(function.body) or (order is not None and can_fail(order.body))
        case _:
            assert_never(reducer)


def _reduced(scope: Scope, reducer: Reducer, value: str, name: str, columns: dict[str, str]) -> str:
    """The result as an expression over the grouped columns, which are added to `columns`."""
    match reducer:
        case Builtin(kind=kind, type=type_):
            columns[name] = _builtin(kind, type_, value)
            return f"narrow({column_of(name)})" if _may_fail(reducer) else f"col({quote(name)})"
        case Fields(parts=parts, type=type_):
            fields = [
                _reduced(scope, each, f"{value}.{_quoted(part.name)}", f"{name}.{part.name}", columns)
                for each, part in zip(parts, type_.fields, strict=True)
            ]
            pairs = ", ".join(f"{quote(n)}: {text}" for n, text in zip(type_.names, fields, strict=True))
            return f"make_struct({scope.type(type_)}, {{{pairs}}})"
        case Custom():
            return _custom(scope, reducer, value, name, columns)
        case _:
            assert_never(reducer)


def _builtin(kind: Kind, type_: Type, value: str) -> str:
    match kind:
        case Kind.SUM:
            return quote(f"sum({value})") if isinstance(strip(type_), Float) else f"wide_sum({quote(value)})"
        case Kind.MIN:
            return quote(f"min({value})")
        case Kind.MAX:
            return quote(f"max({value})")
        case Kind.ALL:
            return quote(f"bool_and({value})")
        case Kind.ANY:
            return quote(f"bool_or({value})")
        case _:
            assert_never(kind)


def _custom(scope: Scope, reducer: Custom, value: str, name: str, columns: dict[str, str]) -> str:
    """A user's reducer, folded over the values in order."""
    function, order = reducer.function, reducer.order
    merge = scope.emitter.body(function, value_binding("a"), value_binding("b"))
    OF_VALUES.check(function.body, merge)
    type_ = scope.type(function.parameters[0].type)
    if order is None:
        columns[name] = f"all_values({quote(value)})"
        return f"folded({column_of(name)}, {type_}, lambda a, b: {merge})"
    by = scope.emitter.body(order, value_binding(f"Checked({quote(value)})"))
    columns[name] = f"all_values({quote(value)}, by={by})"
    columns[f"{name}.error"] = f"first_failure({by})"
    return f"folded({column_of(name)}, {type_}, lambda a, b: {merge}, failed={column_of(f'{name}.error')})"


# --- aggregate -------------------------------------------------------------------------------------------------------


def aggregate_body(scope: Scope, op: AggregateByKey) -> list[str]:
    """Named aggregates per key."""
    by = _by(scope)
    read = [pair for each in op.aggregates for pair in grouped_columns(each)]
    arguments = {name: scope.emitter.body(function, value_binding('col("value")')) for name, function in read}
    bodies = [function.body for _, function in read]
    taken = {name: f"col({quote(name)})" for name in by} | arguments
    if any(each.placed for each in op.aggregates):
        taken[RECORD] = 'col("value")'
    if any(each.by_time for each in op.aggregates):
        taken[TIME] = f"col({quote(TIME)})"
    inner = scope.transformed("rows", taken, *bodies).replace(scope.keeping() + ")", ")") if scope.keep else None
    lines = [f"rows = {inner or scope.transformed('rows', taken, *bodies)}"]
    columns = dict(pair for each in op.aggregates for pair in argument_columns(each))
    values = {each.name: final_value(each) for each in op.aggregates}
    if op.scalar:
        value = values[op.aggregates[0].name]
    else:
        gives = scope.gives.columns
        struct = strip(gives.fields[gives.index("value")].type)
        parts = ", ".join(f"{quote(name)}: {text}" for name, text in values.items())
        value = f"make_struct({scope.type(struct)}, {{{parts}}})"
    fails = any(map(aggregate_can_fail, op.aggregates))
    return [*lines, _group(by, columns), *_finish(scope, value, fails=fails)]


# --- lists, counts, distinct -----------------------------------------------------------------------------------------


def group_body(scope: Scope) -> list[str]:
    """The values of each key in ascending order."""
    return [_group(_by(scope), {"@value": 'all_values("`value`")'}), *_finish(scope, 'col("@value")', fails=False)]


def count_body(scope: Scope) -> list[str]:
    """How many values per key, or records per window or in all."""
    return [_group(_by(scope), {"@value": '"count(1)"'}), *_finish(scope, 'col("@value")', fails=False)]


def distinct_body(scope: Scope) -> list[str]:
    """Each different record once."""
    names = ", ".join(map(column_of, scope.names))
    return [f"rows = rows.selectExpr({names}).distinct()", *_times(scope), "return rows"]
