"""What aggregations become: one grouping, then a check of what it gave."""

from collections.abc import Mapping
from typing import assert_never

from ghcm.codegen.spark.aggregates import (
    RECORD,
    all_values,
    final_value,
    folded,
    grouped_columns,
    is_exact,
    read_columns,
    wide_sum,
)
from ghcm.codegen.spark.expressions import OF_VALUES, Binding, Scope, value_binding
from ghcm.codegen.spark.functions.numbers import narrow
from ghcm.codegen.spark.library.sql import named, part, quoted, text
from ghcm.codegen.spark.placing import divided, divides, key_of, numbered, sessions_of, together
from ghcm.codegen.spark.sql import Checked, calls_python, col, make_struct, part_of
from ghcm.codegen.spark.text import quote, selected, sql_text
from ghcm.reducers import Aggregate, AggregateFunction, Builtin, Custom, Fields, Kind, Reducer
from ghcm.spg.graph import Task
from ghcm.spg.ops import AggregateByKey, Count, Phased, ReduceByKey, Sessions
from ghcm.spg.traits import TIME
from ghcm.types import WINDOW, Float, Shape, Struct, Type, strip


def _by(scope: Scope) -> list[str]:
    """The columns that make a group."""
    keyed = scope.takes.shape is not Shape.STREAM
    return [*(["key"] if keyed else []), *(["window"] if scope.takes.windowed else [])]


def _by_parts(scope: Scope) -> dict[str, str]:
    """The columns by which rows are grouped, as SQL by their names."""
    unit, task = scope.unit, scope.unit.task(scope.id)
    sessions = sessions_of(unit, task)
    if sessions is not None:
        return {name: quoted(name) for name in numbered(unit, sessions)}
    window = divided("window", WINDOW) if divides(unit, task) else {"window": "window"}
    return key_of(unit, task) | (window if scope.takes.windowed else {})


def _placing(scope: Scope) -> list[str]:
    """The columns of rows that say to which group they belong."""
    sessions = sessions_of(scope.unit, scope.unit.task(scope.id))
    return _by(scope) if sessions is None else [*numbered(scope.unit, sessions), TIME]


def _grouped(scope: Scope, columns: Mapping[str, str], value: Checked, *, spread: bool = False) -> list[str]:
    """The groups, their result (`spread`: its parts as columns of their own) and the time of their window."""
    by = _by(scope)
    gives = scope.gives.element
    if value.value in map(quoted, columns) and len(columns) == 1:
        columns, value = {"value": next(iter(columns.values()))}, col("value")
    lines = [*_grouping(scope, columns), *_checking(scope), *_times(scope)]
    if spread and isinstance(gives, Struct):
        windowed = scope.takes.windowed
        parts = {name: part_of(value, name) for name in (gives.names[:-1] if windowed else gives.names)}
        parts |= {"window": col("window")} if windowed else {}
    elif isinstance(gives, Struct) and "value" in gives.names:
        parts = {name: value if name == "value" else col(name) for name in gives.names}
    elif isinstance(gives, Struct):
        parts = {name: part_of(value, name) for name in gives.names}
    else:
        parts = {"value": value}
    key = Struct(tuple(each for each in scope.takes.columns.fields if each.name in by))
    lines += scope.passed(value, input=key)
    if not spread and value == col("value") and set(parts) == {*by, "value"} and not scope.keep:
        return [*lines, "return rows"]
    return [*lines, f"return {scope.select(parts)}"]


def _grouping(scope: Scope, columns: Mapping[str, str]) -> list[str]:
    """The statements that give groups with these columns; what they go by is there as a whole again."""
    by, parts, sessions = _by(scope), _by_parts(scope), sessions_of(scope.unit, scope.unit.task(scope.id))
    columns = dict(columns) | ({} if sessions is None else {"window": _session(sessions)})
    totals = ", ".join(f"F.expr({sql_text(named(text, name))})" for name, text in columns.items())
    keys = (
        sql_text(value) if value == quoted(name) else f"F.expr({sql_text(named(value, name))})"
        for name, value in parts.items()
    )
    grouped = f"rows = rows.groupBy({', '.join(keys)}).agg({totals})"
    if list(parts) == by:
        return [grouped]
    types = {each.name: each.type for each in scope.takes.columns.fields}
    whole = {name: together(name, types[name]) if name not in {*parts, *columns} else quoted(name) for name in by}
    others = (quoted(name) for name in columns if name not in by)
    return [grouped, f"rows = {selected('rows', *(named(value, name) for name, value in whole.items()), *others)}"]


def _checking(scope: Scope) -> list[str]:
    """The statement that checks what sources have left to it, of groups or of rows."""
    sources, texts = map(quote, scope.checks.columns), map(sql_text, scope.checks.texts)
    if not scope.checks.texts:
        return []
    return [f"rows = with_sound_keys(job, rows, [{', '.join(texts)}], [{', '.join(sources)}])"]


def _session(sessions: Task) -> str:
    """The window of the rows of a session."""
    assert isinstance(sessions.op, Sessions)
    start, last = (f"{function}({quoted(TIME)})" for function in ("min", "max"))
    end = f"{last} + {sessions.op.gap_us}L"
    return f"named_struct('start', timestamp_micros({start}), 'end', timestamp_micros({end}))"


def _times(scope: Scope) -> list[str]:
    """The event time of what is windowed; the others have none."""
    if not scope.keep:
        return []
    time = "unix_micros(`window`.`end`) - 1" if scope.takes.windowed else "bigint(NULL)"
    return [f"rows = {selected('rows', '*', named(time, TIME))}"]


# --- reduce ----------------------------------------------------------------------------------------------------------


def reduce_body(scope: Scope, op: ReduceByKey) -> list[str]:
    """One value per key."""
    columns: dict[str, str] = {}
    value = _reduced(scope, op.reducer, "value", "@value", columns)
    return _grouped(scope, columns, value)


def _reduced(scope: Scope, reducer: Reducer, value: str, name: str, columns: dict[str, str]) -> Checked:
    """The result as an expression over the grouped columns, which are added to `columns`."""
    match reducer:
        case Builtin(kind=kind, type=type_):
            columns[name] = _builtin(kind, type_, value)
            return narrow(quoted(name)) if _sums_whole(kind, type_) else col(name)
        case Fields(parts=parts, type=type_):
            fields = [
                _reduced(scope, each, part(value, field.name), f"{name}.{field.name}", columns)
                for each, field in zip(parts, type_.fields, strict=True)
            ]
            return make_struct(type_, fields)
        case Custom():
            return _custom(scope, reducer, value, name, columns)
        case _:
            assert_never(reducer)


def _sums_whole(kind: Kind, type_: Type) -> bool:
    return kind is Kind.SUM and not isinstance(strip(type_), Float)


def _builtin(kind: Kind, type_: Type, value: str) -> str:
    match kind:
        case Kind.SUM:
            return wide_sum(value) if _sums_whole(kind, type_) else f"sum({value})"
        case Kind.MIN:
            return f"min({value})"
        case Kind.MAX:
            return f"max({value})"
        case Kind.ALL:
            return f"bool_and({value})"
        case Kind.ANY:
            return f"bool_or({value})"
        case _:
            assert_never(kind)


def _custom(scope: Scope, reducer: Custom, value: str, name: str, columns: dict[str, str]) -> Checked:
    """A user's reducer, folded over the values in order."""
    function, order, failed = reducer.function, reducer.order, None
    if order is None:
        columns[name] = all_values(value)
    else:
        by = scope.emitter.body(order, value_binding(Checked(value)))
        columns[name], failed = all_values(value, by=by), quoted(f"{name}.error")
        columns[f"{name}.error"] = f"min({by.error or 'string(NULL)'})"

    def merge(a: Checked, b: Checked) -> Checked:
        merged = scope.emitter.body(function, value_binding(a), value_binding(b))
        OF_VALUES.check(function.body, merged)
        return merged

    return folded(quoted(name), function.parameters[0].type, merge, failed=failed)


def ungrouped_body(scope: Scope, op: Phased) -> list[str]:
    """The statements that give each pair as a part of its group."""
    match op:
        case Count():
            value = Checked("1L")
        case ReduceByKey():
            value = col("value")
        case AggregateByKey(aggregates=aggregates):
            value = _struct(scope, {each.name: _of_one(scope, each) for each in aggregates})
        case _:
            assert_never(op)
    return [*_checking(scope), f"return {scope.select({'key': col('key'), 'value': value})}"]


def _of_one(scope: Scope, aggregate: Aggregate) -> Checked:
    """The aggregate of one value; such as have parts give themselves."""
    counts = aggregate.function is AggregateFunction.COUNT
    if aggregate.argument is None:
        return Checked("1L")
    value = scope.emitter.body(aggregate.argument, value_binding(col("value")))
    return Checked(f"bigint({value.value} IS NOT NULL)") if counts else value


# --- aggregate -------------------------------------------------------------------------------------------------------


def aggregate_body(scope: Scope, op: AggregateByKey) -> list[str]:
    """Named aggregates per key."""
    whole = scope.takes.shape is Shape.STREAM
    record = _record(scope) if whole else col("value")
    binding = Binding(record, col) if whole and isinstance(scope.takes.element, Struct) else value_binding(record)
    read = {
        name: scope.emitter.body(function, binding) for each in op.aggregates for name, function in read_columns(each)
    }
    named_first = any(each.picks_record or each.by_time for each in op.aggregates) or any(
        value.error is not None or calls_python(value.value) for value in read.values()
    )
    lines: list[str] = []
    if named_first:
        taken = {name: col(name) for name in _placing(scope)} | read
        if any(each.picks_record for each in op.aggregates):
            taken[RECORD] = record
        if any(each.by_time for each in op.aggregates):
            taken[TIME] = col(TIME)
        lines = [*scope.passed(*read.values()), f"rows = {scope.select(taken, hidden=False)}"]
    columns: dict[str, str] = {}
    for each in op.aggregates:
        name = f"@{each.name}"
        value = quoted(name) if named_first or name not in read else read[name].value
        columns |= dict(grouped_columns(each, value))
    values = {each.name: final_value(each) for each in op.aggregates}
    if all(value.value == quoted(f"@{name}") for name, value in values.items()) and not op.scalar:
        values = {name: Checked(columns[f"@{name}"]) for name in values}
        columns = {"value": _struct(scope, values, exact=all(map(is_exact, op.aggregates))).value}
        return [*lines, *_grouped(scope, columns, col("value"), spread=whole)]
    if op.scalar:
        return [*lines, *_grouped(scope, columns, values[op.aggregates[0].name])]
    return [*lines, *_grouped(scope, columns, _struct(scope, values), spread=whole)]


def _record(scope: Scope) -> Checked:
    """The record of a stream without its window."""
    aggregated = scope.takes.aggregated
    if not isinstance(aggregated, Struct):
        return col("value")
    parts = ", ".join(f"{text(name)}, {quoted(name)}" for name in aggregated.names)
    return Checked(f"named_struct({parts})") if parts else Checked("named_struct('none', NULL)")


def _struct(scope: Scope, values: Mapping[str, Checked], *, exact: bool = False) -> Checked:
    gives = scope.gives.columns
    struct = gives if scope.takes.shape is Shape.STREAM else strip(gives.field_of("value").type)
    assert isinstance(struct, Struct)
    if scope.takes.shape is Shape.STREAM:
        struct = Struct(struct.fields[: len(values)])
    return make_struct(struct, values.values(), exact=exact)


# --- lists, counts, distinct -----------------------------------------------------------------------------------------


def group_body(scope: Scope) -> list[str]:
    """The values of each key in ascending order."""
    return _grouped(scope, {"value": all_values("value")}, col("value"))


def latest_body(scope: Scope) -> list[str]:
    """The newest record of each key: the greatest value, since an order comes first in it."""
    _, value = scope.takes.pair
    assert isinstance(value, Struct)
    lines = ["rows = rows.groupBy('key').agg(F.expr(\"max(`value`) AS `value`\"))"]
    if "deleted" in value.names:
        lines.append('rows = rows.where("`value`.`deleted` IS NOT TRUE")')
    lines += _times(scope)
    return [*lines, f"return {scope.select({'key': col('key'), 'value': Checked(part('value', 'record'))})}"]


def count_body(scope: Scope) -> list[str]:
    """How many values per key, or records per window or in all."""
    return _grouped(scope, {"value": "count(1)"}, col("value"))


def distinct_body(scope: Scope) -> list[str]:
    """Each different record once."""
    return [f"rows = {selected('rows', *map(quoted, scope.names))}.distinct()", *_times(scope), "return rows"]
