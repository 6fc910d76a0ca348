"""What each task becomes in a job: the body of its function."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import assert_never

from ghcm.codegen.blocks import Step, steps_of
from ghcm.codegen.spark.aggregates import final_value, grouped_columns
from ghcm.codegen.spark.chains import chain_body
from ghcm.codegen.spark.connectors import publish_body, read_sink_body, reply_body, source_body, write_body
from ghcm.codegen.spark.expressions import Scope, value_binding
from ghcm.codegen.spark.groups import aggregate_body, count_body, distinct_body, group_body, latest_body, reduce_body
from ghcm.codegen.spark.joins import join_body
from ghcm.codegen.spark.library.sql import bare, quoted
from ghcm.codegen.spark.placing import key_of
from ghcm.codegen.spark.sequences import absent_body, preceding_body, present_body, process_body, scan_body
from ghcm.codegen.spark.sql import Checked, col, make_struct
from ghcm.codegen.spark.text import also, quote, selected, sql_dict, sql_text
from ghcm.reducers import Aggregate
from ghcm.spg import ops, sequences, windows
from ghcm.spg.graph import Task
from ghcm.spg.stages import unites
from ghcm.spg.traits import TIME, WATERMARK, hidden_before
from ghcm.types import Field, Struct, Type, is_nullable


def task_body(scope: Scope, task: Task, rounds: Mapping[str, list[str]] | None = None) -> list[str]:
    """The statements of the task's function; the last one returns its rows, where it has any. `rounds`: of an iteration
    those of the functions that give what the next round takes, by their names, which take the rows `state`.
    """
    op = task.op
    if isinstance(op, ops.PythonBatch | ops.PythonAsync):
        return [f"return {_called(scope, op, task.collection.element)}"]
    if isinstance(op, ops.ChainOp | ops.Fused):
        return _chained(scope, task, op)
    match op:
        case ops.Source():
            return source_body(scope, task, op)
        case ops.ReadSink():
            return read_sink_body(scope, task, op)
        case (
            ops.ReadTable() | ops.ArrivalTime() | ops.Lookup() | ops.Forgetting() | ops.Versions() | sequences.Chunks()
        ):
            raise ValueError(f"Spark does not support {op}")
        case ops.Sessions():
            return _sessions(scope, op)
        case sequences.Preceding():
            return preceding_body(scope, op)
        case sequences.Absent():
            return absent_body(scope, op)
        case sequences.Present():
            return present_body(scope, op)
        case sequences.Scan():
            return scan_body(scope, op)
        case sequences.Process():
            return process_body(scope, op, task.collection)
        case ops.Union():
            return [f"return {_united(scope, task.collection.element)}"]
        case ops.ReduceByKey():
            return reduce_body(scope, op)
        case ops.AggregateByKey():
            return aggregate_body(scope, op)
        case ops.GroupByKey():
            return group_body(scope)
        case ops.Count():
            return count_body(scope)
        case ops.Latest():
            return latest_body(scope)
        case ops.Changes() | ops.Revisions():  # a batch job has one commit
            return ["return rows"]
        case ops.Distinct():
            return distinct_body(scope)
        case ops.Sort():
            return _sort(scope, op)
        case ops.Top():
            return _top(scope, op)
        case ops.Join():
            return join_body(scope, task, op)
        case ops.Iterate():
            return iterate_body(scope, op, rounds or {})
        case ops.To():
            return write_body(scope, op)
        case ops.Publish():
            return publish_body(scope, op)
        case ops.Reply():
            return reply_body(scope)
        case _:
            assert_never(op)


# --- single records --------------------------------------------------------------------------------------------------


def _chained(scope: Scope, task: Task, op: ops.ChainOp | ops.Fused) -> list[str]:
    """The statements that make the rows of a chain: what expressions say as a few `select`s, what they do not say by
    calls.
    """
    steps = steps_of(task, scope.takes.element)
    keeps, lines = _hidden_behind(steps, scope.keep), list[str]()
    if unites(op):
        lines.append(f"rows = {_united(replace(scope, keep=keeps[0]), steps[0].taken)}")
    at, told = 0, len(steps) > 1
    for calls, group in groupby(steps, lambda step: isinstance(step.op, _CALLS)):
        run = list(group)
        for part in [[step] for step in run] if calls else [run]:
            first, had, keep = part[0], keeps[at], keeps[at + len(part)]
            taken = replace(scope.takes, element=first.taken, windowed="window" in _names(first.taken))
            inner = replace(scope, id=first.id, origin=first.origin, takes=taken, keep=keep)
            if calls:
                lines += [f"# {type(first.op).__name__} {first.id}, {first.origin}"] if told else []
                lines.append(f"rows = {_called(inner, first.op, first.given)}")
            else:
                lines += chain_body(inner, part, had, told=told)
            at += len(part)
    return [*lines, "return rows"]


def _hidden_behind(steps: Sequence[Step], keep: frozenset[str]) -> list[frozenset[str]]:
    """The hidden columns of what the chain takes, and of what each of its steps gives."""
    keeps = [keep]
    for step in reversed(steps):
        keeps.insert(0, hidden_before(step.op, keeps[0]) - {WATERMARK})
    return keeps


_CALLS = (ops.Window, ops.PythonCall)


def _called(scope: Scope, op: ops.Op, gives: Type) -> str:
    """The call of the library that does what an operation does."""
    match op:
        case ops.PythonBatch() | ops.PythonCall():
            call = "python_batches" if isinstance(op, ops.PythonBatch) else "python_rows"
            what = f"{quote(op.module)}, {quote(op.function)}, {scope.element(gives)}"
            nullable = ", nullable=True" if is_nullable(gives) else ""
            return f"{call}(job, rows, {scope.step()}, {what}{scope.keeping()}{nullable})"
        case ops.PythonAsync(module=module, function=function):
            limits = f"({op.parallel}, {op.timeout_us}, {op.retries})"
            what = f"({quote(module)}, {quote(function)}), {scope.element(gives)}, {limits}"
            nullable = ", nullable=True" if is_nullable(gives) else ""
            return f"python_awaited(job, rows, {scope.step()}, {what}{scope.keeping()}{nullable})"
        case ops.Window(assigner=assigner):
            match assigner:
                case windows.TumblingBy(size=size):
                    length = sql_text(scope.emitter.emit(size).value)
                    return f"windowed_by(job, rows, {scope.step()}, {length}{scope.keeping()})"
                case windows.Tumbling(size_us=size):
                    call = f"windowed(job, rows, {scope.step()}, {size}"
                case windows.Sliding(size_us=size, every_us=every):
                    call = f"slid(job, rows, {scope.step()}, {size}, {every}"
                case windows.Cumulating(size_us=size, every_us=every):
                    call = f"cumulated(job, rows, {scope.step()}, {size}, {every}"
                case _:
                    assert_never(assigner)
            offset = f", offset={assigner.offset_us}" if assigner.offset_us else ""
            return f"{call}{offset}{scope.keeping()})"
        case _:  # what expressions say
            raise ValueError(f"no call does {op}")


def _sessions(scope: Scope, op: ops.Sessions) -> list[str]:
    """The call that puts rows into sessions, of each key where they are pairs."""
    key = key_of(scope.unit, scope.unit.task(scope.id))
    by = f", by={sql_dict(key)}" if key else ""
    return [f"return in_sessions(job, rows, {scope.step()}, {op.gap_us}{by}{scope.keeping()})"]


def _names(element: Type) -> tuple[str, ...]:
    return element.names if isinstance(element, Struct) else ("value",)


def _united(scope: Scope, element: Type) -> str:
    """The rows of all inputs."""
    columns = [*scope.kept, *map(quoted, _names(element))]
    first, *others = (selected(name, *columns) for name in scope.inputs)
    return first + "".join(f".unionByName({each})" for each in others)


# --- whole inputs ----------------------------------------------------------------------------------------------------


def _sort(scope: Scope, op: ops.Sort) -> list[str]:
    by = scope.on_record(op.by)
    return [*scope.passed(by), f"return {_ordered(scope, by, op.descending)}"]


def _top(scope: Scope, op: ops.Top) -> list[str]:
    by = scope.on_record(op.by)
    lines, number = scope.passed(by), scope.count(op.count)
    if scope.takes.windowed:
        ties = ", ".join(map(quote, scope.comparable_names()))
        time = ", timed=True" if TIME in scope.keep else ""
        call = f"window_top(job, rows, {number}, {sql_text(by.value)}, [{ties}], descending={op.descending}{time})"
        return [*lines, f"return {call}"]
    return [*lines, f"return first_of(job, {_ordered(scope, by, op.descending, nulls_last=True)}, {number})"]


def _ordered(scope: Scope, by: Checked, descending: bool, nulls_last: bool = False) -> str:
    """Rows by a value, nulls least (or last); equal ones by the whole record, ascending."""
    how = "desc_nulls_last" if descending else "asc_nulls_last" if nulls_last else "asc_nulls_first"
    ties = "".join(f", {sql_text(quoted(name))}" for name in scope.comparable_names())
    return f"rows.orderBy(F.expr({sql_text(by.value)}).{how}(){ties})"


# --- iterations ------------------------------------------------------------------------------------------------------


def iterate_body(scope: Scope, op: ops.Iterate, rounds: Mapping[str, list[str]]) -> list[str]:
    """The rows of the last round."""
    first, *others = scope.inputs
    until = "" if op.until is None else f", until={_until(scope, op.until)}"
    known = "" if op.known is None else ", known=known"
    lines = [f"{name} = job.keep({name})" for name in others]
    for name, statements in rounds.items():
        lines += ["", f"def {name}(state: DataFrame) -> DataFrame:", *(f"    {line}" for line in statements)]
    given = f"{scope.step()}, {first}, step, {scope.count(op.limit)}"
    return [*lines, "", f"return iterated(job, {given}{known}{until})"]


def _until(scope: Scope, until: ops.Until) -> str:
    before, after = (_totals(scope, each) for each in (until.before, until.after))
    given = scope.emitter.body(until.condition, value_binding(col("before")), value_binding(col("after")))
    return f"Until({before}, {after}, {sql_text(bare(given.value))}{also(given.error)})"


def _totals(scope: Scope, aggregates: tuple[Aggregate, ...]) -> str:
    """The totals of one collection as one record."""
    if not aggregates:
        return "None"
    values = {f"@{each.name}": scope.on_record(each.argument).value for each in aggregates if each.argument is not None}
    totals = dict(pair for each in aggregates for pair in grouped_columns(each, quoted(f"@{each.name}"), scope.emitter))
    struct = Struct(tuple(Field(each.name, each.type) for each in aggregates))
    record = make_struct(struct, [final_value(each, scope.emitter) for each in aggregates])
    return f"Totals({sql_dict(values)}, {sql_dict(totals)}, {sql_text(record.value)}{also(record.error)})"
