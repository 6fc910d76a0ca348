"""What each task becomes in a job: the body of its function."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from ghcm.codegen.spark.ends import publish_body, reply_body, write_body
from ghcm.codegen.spark.expressions import can_fail, value_binding
from ghcm.codegen.spark.groups import aggregate_body, count_body, distinct_body, group_body, reduce_body
from ghcm.codegen.spark.iterations import iterate_body
from ghcm.codegen.spark.joins import join_body
from ghcm.codegen.spark.scope import Scope
from ghcm.codegen.spark.sources import read_sink_body, source_body
from ghcm.codegen.spark.text import quote
from ghcm.expr import Lambda, Literal, MakeStruct
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
from ghcm.spg.ops.traits import TIME, WATERMARK
from ghcm.types import Collection, Shape, Struct, Type, is_nullable


def task_body(scope: Scope, task: Task, step: list[str] | None = None) -> list[str]:
    """The statements of the task's function; the last one returns its rows, where it has any. `step`: those of one
    round of an iteration, which take the rows `state`.
    """
    op = task.op
    if isinstance(op, RowOp):
        return [f"return {_row_op(scope, op, task.collection.element, 'rows')}"]
    match op:
        case Source():
            return source_body(scope, task, op)
        case ReadSink():
            return read_sink_body(scope, task, op)
        case EventTime():
            return _event_time(scope, op)
        case ReadTable() | ArrivalTime():
            raise ValueError(f"Spark does not support {op}")
        case PythonBatch():
            return [f"return {_row_op(scope, op, task.collection.element, 'rows')}"]
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


def _row_op(scope: Scope, op: RowOp | PythonBatch, gives: Type, rows: str) -> str:
    """The call that turns the rows into those of the operation."""
    match op:
        case Filter(predicate=predicate):
            return f"filtered(job, {rows}, {scope.on_record(predicate)}{scope.step_if(predicate.body)})"
        case Map(function=function) | MapToPair(function=function):
            return _select(scope, rows, function, gives)
        case FlatMap(function=function):
            record = scope.type(gives) if isinstance(gives, Struct) else "None"  # a record that may be null is a value
            items = scope.on_record(function)
            return f"exploded(job, {rows}, {items}, {record}{scope.step_if(function.body)}{scope.keeping()})"
        case MapValues(function=function):
            value = scope.emitter.body(function, value_binding('col("value")'))
            columns = {name: f"col({quote(name)})" for name in scope.names} | {"value": value}
            return scope.transformed(rows, columns, function.body)
        case KeyBy(function=function):
            columns = {"key": scope.on_record(function), "value": scope.record()}
            return scope.transformed(rows, columns, function.body)
        case PythonBatch(module=module, function=name):
            call = f"python_batches(job, {rows}, {quote(module)}, {quote(name)}, {scope.element(gives)}"
            return f"{call}, step={scope.step()}{scope.keeping()}{_or_null(gives)})"
        case PythonCall(module=module, function=name):
            call = f"python_rows(job, {rows}, {quote(module)}, {quote(name)}, {scope.element(gives)}"
            return f"{call}, step={scope.step()}{scope.keeping()}{_or_null(gives)})"
        case Window(assigner=assigner, allowed_lateness_us=lateness):
            size, step = assigner.size_us, f"step={scope.step()}{scope.keeping()}"
            offset = f"offset={assigner.offset_us}, " if assigner.offset_us else ""
            match assigner:
                case Tumbling():
                    return f"windowed(job, {rows}, {size}, {lateness}, {offset}{step})"
                case Sliding(every_us=every):
                    return f"slid(job, {rows}, {size}, {every}, {lateness}, {offset}{step})"
                case _:
                    assert_never(assigner)
        case _:
            assert_never(op)


def _or_null(gives: Type) -> str:
    """The argument that says that a user's function may give null."""
    return ", nullable=True" if is_nullable(gives) else ""


def _sessions(scope: Scope, op: Sessions) -> str:
    """The call that puts rows into sessions, of each key where they are pairs."""
    by = ', by=["key"]' if scope.takes.shape is not Shape.STREAM else ""
    return f"in_sessions(job, rows, {op.gap_us}, {op.allowed_lateness_us}{by}, step={scope.step()}{scope.keeping()})"


def _select(scope: Scope, rows: str, function: Lambda, gives: Type) -> str:
    """New columns for each record."""
    body = function.body
    if not isinstance(gives, Struct):
        return scope.transformed(rows, {"value": scope.typed(function, gives)}, body)
    if isinstance(body, MakeStruct):
        parts = [Lambda(function.parameters, value) for value in body.values]
        columns = {part.name: scope.typed(each, part.type) for part, each in zip(gives.fields, parts, strict=True)}
        return scope.transformed(rows, columns, body)
    if body == function.parameters[0]:
        return scope.transformed(rows, {name: f"col({quote(name)})" for name in gives.names}, body)
    text = scope.on_record(function)
    return f"transformed(job, {rows}, parts_of({text}, {scope.type(gives)}){scope.step_if(body)}{scope.keeping()})"


def _event_time(scope: Scope, op: EventTime) -> list[str]:
    options = f", disorder={op.disorder_us}" if op.disorder_us is not None else ""
    options += ", watermark=True" if WATERMARK in scope.keep else ""
    time = scope.on_record(op.time)
    return [f"return timed(job, rows, {time}, step={scope.step()}{options}{scope.keeping()})"]


def _fused(scope: Scope, op: Fused) -> list[str]:
    lines: list[str] = []
    windowed_later = [
        any(isinstance(each.op, Window) for each in op.stages[at:]) for at in range(1, len(op.stages) + 1)
    ]
    for stage, window_follows in zip(op.stages, windowed_later, strict=True):
        keep = scope.keep | ({TIME, WATERMARK} if window_follows else frozenset[str]())
        inner = replace(scope, id=stage.id, origin=stage.origin, keep=keep)
        call = _row_op(inner, stage.op, stage.element, "rows")
        lines += [f"# {stage.id}: {_name(stage)}, {stage.origin}", f"rows = {call}"]
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
    columns = ", ".join(quote(f"`{name}`") for name in names)
    inputs = [f"{name}.selectExpr({columns})" for name in scope.inputs]
    first, *others = inputs
    return ["return " + first + "".join(f".unionByName({each})" for each in others)]


# --- whole inputs ----------------------------------------------------------------------------------------------------


def _sort(scope: Scope, op: Sort) -> list[str]:
    return [*_passed(scope, op.by), f"return {_ordered(scope, op.descending, 'rows')}"]


def _top(scope: Scope, op: Top) -> list[str]:
    count = op.count
    lines = _passed(scope, op.by)
    if isinstance(count, Literal):
        number = f"{max(0, int(str(count.value or 0)))}"
    else:
        number = f"top_count(job, {scope.emitter.emit(count)}, {scope.step()})"
    if scope.takes.windowed:
        ties = ", ".join(quote(name) for name in scope.comparable_names())
        time = ", timed=True" if TIME in scope.keep else ""
        return [*lines, f"return window_top(rows, {number}, by.value, [{ties}], descending={op.descending}{time})"]
    ordered = _ordered(scope, op.descending, "rows", nulls_last=True)
    return [*lines, f"return {ordered}.limit({number})"]


def _ordered(scope: Scope, descending: bool, rows: str, nulls_last: bool = False) -> str:
    ties = ", ".join(quote(name) for name in scope.comparable_names())
    value = "by.value"
    last = ", nulls_last=True" if nulls_last and not descending else ""
    return f"in_order({rows}, {value}, [{ties}], descending={descending}{last})"


def _passed(scope: Scope, by: Lambda) -> list[str]:
    """The value to order by, and the rows for which it does not fail."""
    lines = [f"by = {scope.on_record(by)}"]
    if can_fail(by.body):
        lines.append(f"rows = passed(job, rows, {scope.step()}, by.error)")
    return lines
