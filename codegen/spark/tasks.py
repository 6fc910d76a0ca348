"""What each task becomes in a job: the body of its function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from ghcm.codegen.spark.ends import publish_body, reply_body, write_body
from ghcm.codegen.spark.expressions import value_binding
from ghcm.codegen.spark.groups import aggregate_body, count_body, distinct_body, group_body, reduce_body
from ghcm.codegen.spark.iterations import iterate_body
from ghcm.codegen.spark.joins import join_body
from ghcm.codegen.spark.library.sql import bare, fails, is_path, named, part, quoted
from ghcm.codegen.spark.scope import Scope
from ghcm.codegen.spark.sources import read_sink_body, source_body
from ghcm.codegen.spark.sql import Checked, col
from ghcm.codegen.spark.text import quote, sql_text
from ghcm.expr import Lambda, MakeStruct
from ghcm.spg.graph import Task
from ghcm.spg.ops import (
    AggregateByKey,
    ArrivalTime,
    Changes,
    Count,
    Distinct,
    EventTime,
    Filter,
    FlatMap,
    Fused,
    GroupByKey,
    Iterate,
    Join,
    KeyBy,
    Map,
    MapToPair,
    MapValues,
    Publish,
    PythonBatch,
    PythonCall,
    ReadSink,
    ReadTable,
    ReduceByKey,
    Reply,
    RowOp,
    Sessions,
    Sliding,
    Sort,
    Source,
    Stage,
    To,
    Top,
    Tumbling,
    Union,
    Window,
)
from ghcm.spg.traits import TIME, WATERMARK
from ghcm.types import Collection, Shape, Struct, Type, is_nullable


def task_body(scope: Scope, task: Task, step: list[str] | None = None) -> list[str]:
    """The statements of the task's function; the last one returns its rows, where it has any. `step`: those of one
    round of an iteration, which take the rows `state`.
    """
    op = task.op
    if isinstance(op, RowOp):
        return [*_row_op(scope, op, task.collection.element), "return rows"]
    match op:
        case Source():
            return source_body(scope, task, op)
        case ReadSink():
            return read_sink_body(scope, task, op)
        case EventTime():
            return _event_time(scope, op)
        case ReadTable() | ArrivalTime():
            raise ValueError(f"Spark does not support {op}")
        case (
            Filter() | Map() | FlatMap() | MapToPair() | MapValues() | KeyBy() | PythonCall() | PythonBatch() | Window()
        ):
            return [*_row_op(scope, op, task.collection.element), "return rows"]
        case Fused():
            return _fused(scope, op)
        case Sessions():
            return [f"return {_sessions(scope, op)}"]
        case Union():
            return _union(scope, task)
        case ReduceByKey():
            return reduce_body(scope, op)
        case AggregateByKey():
            return aggregate_body(scope, op)
        case GroupByKey():
            return group_body(scope)
        case Count():
            return count_body(scope)
        case Changes():  # a batch job has one commit
            return ["return rows"]
        case Distinct():
            return distinct_body(scope)
        case Sort():
            return _sort(scope, op)
        case Top():
            return _top(scope, op)
        case Join():
            return join_body(scope, task, op)
        case Iterate():
            return iterate_body(scope, op, step or [])
        case To():
            return write_body(scope, op)
        case Publish():
            return publish_body(scope, op)
        case Reply():
            return reply_body(scope)
        case _:
            assert_never(op)


# --- single records --------------------------------------------------------------------------------------------------


def _row_op(scope: Scope, op: RowOp | PythonBatch, gives: Type) -> list[str]:
    """The statements that turn `rows` into those of the operation."""
    match op:
        case Filter(predicate=predicate):
            condition = scope.on_record(predicate)
            return [*scope.passed(condition), f"rows = rows.where({sql_text(bare(condition.value))})"]
        case Map(function=function) | MapToPair(function=function):
            columns = _new_columns(scope, function, gives)
            return _opened(scope, scope.on_record(function)) if columns is None else _selected(scope, columns)
        case FlatMap(function=function):
            return _exploded(scope, scope.on_record(function), gives)
        case MapValues(function=function):
            value = scope.emitter.body(function, value_binding(col("value")))
            return _selected(scope, {name: col(name) for name in scope.names} | {"value": value})
        case KeyBy(function=function):
            return _selected(scope, {"key": scope.on_record(function), "value": scope.record()})
        case PythonBatch(module=module, function=name):
            return [_python(scope, "python_batches", module, name, gives)]
        case PythonCall(module=module, function=name):
            return [_python(scope, "python_rows", module, name, gives)]
        case Window(assigner=assigner, allowed_lateness_us=lateness):
            offset = f", offset={assigner.offset_us}" if assigner.offset_us else ""
            match assigner:
                case Tumbling(size_us=size):
                    call = f"windowed(job, rows, {scope.step()}, {size}, {lateness}"
                case Sliding(size_us=size, every_us=every):
                    call = f"slid(job, rows, {scope.step()}, {size}, {every}, {lateness}"
                case _:
                    assert_never(assigner)
            return [f"rows = {call}{offset}{scope.keeping()})"]
        case _:
            assert_never(op)


def _selected(scope: Scope, columns: Mapping[str, Checked]) -> list[str]:
    return [*scope.passed(*columns.values()), f"rows = {scope.select(columns)}"]


def _opened(scope: Scope, record: Checked) -> list[str]:
    """The fields of a record as columns."""
    kept = [quoted(name) for name in sorted(scope.keep)]
    if is_path(record.value):
        return [*scope.passed(record), f"rows = rows.selectExpr({', '.join(map(sql_text, [*kept, f'{record}.*']))})"]
    made = sql_text(named(record.value, "@record"))
    return [
        *scope.passed(record),
        f"rows = rows.selectExpr({', '.join([*map(sql_text, kept), made])})",
        f"rows = rows.selectExpr({', '.join(map(sql_text, [*kept, '`@record`.*']))})",
    ]


def _python(scope: Scope, call: str, module: str, function: str, gives: Type) -> str:
    """The call of a user's function, which may give null where its type says so."""
    what = f"{quote(module)}, {quote(function)}, {scope.element(gives)}"
    nullable = ", nullable=True" if is_nullable(gives) else ""
    return f"rows = {call}(job, rows, {scope.step()}, {what}{scope.keeping()}{nullable})"


def _new_columns(scope: Scope, function: Lambda, gives: Type) -> dict[str, Checked] | None:
    """The columns of the record that a function gives; None where it gives the record as a whole."""
    body = function.body
    if not isinstance(gives, Struct):
        return {"value": scope.typed(function, gives)}
    if isinstance(body, MakeStruct):
        parts = [Lambda(function.parameters, value) for value in body.values]
        return {part.name: scope.typed(each, part.type) for part, each in zip(gives.fields, parts, strict=True)}
    if body == function.parameters[0]:
        return {name: col(name) for name in gives.names}
    return None


def _exploded(scope: Scope, items: Checked, gives: Type) -> list[str]:
    """The items of a list as records, or as values; none for null. A record that may be null is a value."""
    kept = [quoted(name) for name in sorted(scope.keep)]
    item = f"posexplode({items}) AS (`@index`, `@item`)" if "@order" in scope.keep else f"explode({items}) AS `@item`"
    order = {"@order": "concat(`@order`, array(bigint(`@index`)))"}
    again = [named(order.get(name, quoted(name)), name) for name in sorted(scope.keep)]
    names = gives.names if isinstance(gives, Struct) else ()
    columns = [named(part("`@item`", name), name) for name in names] or ["`@item` AS value"]
    return [
        *scope.passed(items),
        f"rows = rows.selectExpr({', '.join(map(sql_text, [*kept, item]))})",
        f"rows = rows.selectExpr({', '.join(map(sql_text, [*again, *columns]))})",
    ]


def _sessions(scope: Scope, op: Sessions) -> str:
    """The call that puts rows into sessions, of each key where they are pairs."""
    by = ', by=["key"]' if scope.takes.shape is not Shape.STREAM else ""
    return f"in_sessions(job, rows, {scope.step()}, {op.gap_us}, {op.allowed_lateness_us}{by}{scope.keeping()})"


def _event_time(scope: Scope, op: EventTime) -> list[str]:
    """The event time in microseconds, and the watermark of each row's partition just before it."""
    time = scope.on_record(op.time)
    null_time = fails(f"{time} IS NULL", "null_time", "the time is null")
    columns = {name: col(name) for name in scope.names}
    lines = scope.passed(time, Checked("", null_time))
    if not scope.keep & {TIME, WATERMARK}:
        return [*lines, f"return {scope.select(columns)}"]
    lines.append(f"rows = rows.selectExpr({sql_text('*')}, {sql_text(named(f'unix_micros({time})', TIME))})")
    if WATERMARK in scope.keep:
        before = "PARTITION BY `@partition` ORDER BY `@order` ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        watermark = f"try_subtract(max(`@time`) OVER ({before}), {op.disorder_us}L)"
        watermark = "bigint(NULL)" if op.disorder_us is None else watermark
        lines.append(f"rows = rows.selectExpr({sql_text('*')}, {sql_text(named(watermark, WATERMARK))})")
    return [*lines, f"return {scope.select(columns)}"]


def _fused(scope: Scope, op: Fused) -> list[str]:
    lines: list[str] = []
    for index, stage in enumerate(op.stages):
        window_follows = any(isinstance(each.op, Window) for each in op.stages[index + 1 :])
        keep = scope.keep | ({TIME, WATERMARK} if window_follows else frozenset[str]())
        inner = replace(scope, id=stage.id, origin=stage.origin, keep=keep)
        lines += [f"# {_name(stage)} {stage.id}, {stage.origin}", *_row_op(inner, stage.op, stage.element)]
        scope = replace(scope, takes=_taken_next(scope.takes, stage))
    return [*lines, "return rows"]


def _taken_next(takes: Collection, stage: Stage) -> Collection:
    return replace(takes, element=stage.element, windowed="window" in _names(stage.element))


def _names(element: Type) -> tuple[str, ...]:
    return element.names if isinstance(element, Struct) else ("value",)


def _name(stage: Stage) -> str:
    return type(stage.op).__name__


def _union(scope: Scope, task: Task) -> list[str]:
    names = [*sorted(scope.keep), *_names(task.collection.element)]
    columns = ", ".join(sql_text(quoted(name)) for name in names)
    inputs = [f"{name}.selectExpr({columns})" for name in scope.inputs]
    first, *others = inputs
    return ["return " + first + "".join(f".unionByName({each})" for each in others)]


# --- whole inputs ----------------------------------------------------------------------------------------------------


def _sort(scope: Scope, op: Sort) -> list[str]:
    by = scope.on_record(op.by)
    return [*scope.passed(by), f"return {_ordered(scope, by, op.descending)}"]


def _top(scope: Scope, op: Top) -> list[str]:
    by = scope.on_record(op.by)
    lines, number = scope.passed(by), scope.count(op.count)
    if scope.takes.windowed:
        ties = ", ".join(map(quote, scope.comparable_names()))
        time = ", timed=True" if TIME in scope.keep else ""
        call = f"window_top(rows, {number}, {sql_text(by.value)}, [{ties}], descending={op.descending}{time})"
        return [*lines, f"return {call}"]
    return [*lines, f"return {_ordered(scope, by, op.descending, nulls_last=True)}.limit({number})"]


def _ordered(scope: Scope, by: Checked, descending: bool, nulls_last: bool = False) -> str:
    """Rows by a value, nulls least (or last); equal ones by the whole record, ascending."""
    how = "desc_nulls_last" if descending else "asc_nulls_last" if nulls_last else "asc_nulls_first"
    ties = "".join(f", {sql_text(quoted(name))}" for name in scope.comparable_names())
    return f"rows.orderBy(F.expr({sql_text(by.value)}).{how}(){ties})"
