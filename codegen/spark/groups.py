"""What aggregations become: one grouping, then a check of what it gave."""

from collections.abc import Mapping
from typing import assert_never

from ghcm.codegen.spark.aggregate_inputs import read_columns
from ghcm.codegen.spark.aggregates import RECORD, final_value, grouped_columns, is_exact
from ghcm.codegen.spark.expressions import Binding, Scope, value_binding
from ghcm.codegen.spark.library.sql import named, part, quoted, text
from ghcm.codegen.spark.placing import divided, divides, key_of, numbered, sessions_of, together
from ghcm.codegen.spark.reducers import all_values, reduced
from ghcm.codegen.spark.sql import Checked, calls_python, col, make_struct, part_of
from ghcm.codegen.spark.text import quote, selected, sql_text
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.spg.graph import Task
from ghcm.spg.ops import AggregateByKey, Count, Phased, ReduceByKey, Sessions
from ghcm.spg.traits import TIME
from ghcm.types import WINDOW, Shape, Struct, strip


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
    value = reduced(scope.emitter, op.reducer, "value", "@value", columns)
    return _grouped(scope, columns, value)


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
        columns |= dict(grouped_columns(each, value, scope.emitter))
    values = {each.name: final_value(each, scope.emitter) for each in op.aggregates}
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
