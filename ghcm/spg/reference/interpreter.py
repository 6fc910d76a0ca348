"""Runs a unit: every task on the whole output of the tasks before it; of an iteration the step, round by round.

Inputs come one after the other in the order in which a task names them; that order decides where policies count and
which of several records of a key is the last. Engines may interleave inputs otherwise.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, assert_never, cast, get_args

from ghcm.expr import Call
from ghcm.functions import FUNCTIONS
from ghcm.reducers import Aggregate
from ghcm.spg import ops, sequences
from ghcm.spg.graph import Program, Task, entry_of, leading_to, step_unit
from ghcm.spg.ops import RowOp
from ghcm.spg.reference.aggregates import aggregate, given
from ghcm.spg.reference.ends import publish, read_sink, read_table, source, write
from ghcm.spg.reference.functions import Failed
from ghcm.spg.reference.joins import joined
from ghcm.spg.reference.lookups import looked_up
from ghcm.spg.reference.operations import (
    arrival_time,
    distinct,
    event_time,
    forgetting,
    fused,
    latest,
    of_groups,
    row_operation,
    sorted_records,
    top,
    versions,
)
from ghcm.spg.reference.sequences import in_chunks, processed, returned, scanned, silences, with_preceding
from ghcm.spg.reference.state import Outside, Parts, Record, Result, Run, Step
from ghcm.spg.reference.times import in_sessions, watermarks_of_idle
from ghcm.spg.traits import traits_of
from ghcm.types import Collection, Shape, Type

Outputs: TypeAlias = dict[str, list[Record]]


def iterated(
    run: Run,
    step: Step,
    op: ops.Iterate,
    inputs: Sequence[list[Record]],
    round_of: Callable[[tuple[Task, ...], Outputs], Outputs],
) -> list[Record]:
    """What the last round gave. `round_of` runs tasks of the step on what its entries hold."""
    state = added = _timeless(inputs[0])
    kept: list[Record] = []
    others = {entry_of(index): records for index, records in enumerate(inputs) if index}
    rounds = 0
    for _ in range(run.count(step, op.limit)):
        if op.known is None:
            after = _timeless(round_of(op.tasks, {entry_of(0): state, **others})[op.result])
        else:
            kept += _timeless(round_of(leading_to(op.tasks, op.known), {entry_of(0): added, **others})[op.known])
            added = _timeless(round_of(leading_to(op.tasks, op.result), {entry_of(0): added, **others})[op.result])
            after = [*kept, *added]
        ended = op.until is not None and _ended(run, step, op.until, state, after)
        state, rounds = after, rounds + 1
        if ended:
            break
    run.result.rounds[step.id] = rounds
    return state


def _timeless(records: Sequence[Record]) -> list[Record]:
    return [Record(record.value) for record in records]


def _ended(run: Run, step: Step, until: ops.Until, before: Sequence[Record], after: Sequence[Record]) -> bool:
    element = step.gives.element
    try:
        totals = [_totals(run, until.before, before, element), _totals(run, until.after, after, element)]
        return run.apply(until.condition, *totals) is True
    except Failed as failure:
        run.dead(step, "null", failure)
        return False


def _totals(run: Run, aggregates: Sequence[Aggregate], records: Sequence[Record], element: Type) -> tuple[object, ...]:
    columns = [[given(run, each, record, record.value, element) for record in records] for each in aggregates]
    return tuple([aggregate(run, each, column) for each, column in zip(aggregates, columns, strict=True)])


def run(
    program: Program,
    unit_name: str,
    *,
    parameters: Mapping[str, object] | None = None,
    base: Path = Path(),
    inputs: Mapping[str, Parts] | None = None,
    sinks: Mapping[str, Sequence[object]] | None = None,
    tables: Mapping[tuple[str, str], Sequence[tuple[object, object]]] | None = None,
    arrivals: Mapping[str, Sequence[int]] | None = None,
) -> Result:
    """Run a unit on finite input until it ends.

    `parameters`: canonical values by name; the others have their defaults. `base`: where paths and user modules start
    from. `inputs`: raw bytes by source task and partition name, instead of what its files or socket give; of a topic
    messages by partition ("topic/0"), or lines that are the values of messages. `sinks`: canonical rows of the sinks
    that are read. `tables`: pairs by (unit, task), of a lookup those that its service has. `arrivals`: by task that
    goes by the clock, or of which partitions may be idle, when each record comes to it (microseconds). GhcmError where
    there is nothing to read.
    """
    unit = program.unit(unit_name)
    given = {each.name: each.default for each in unit.parameters} | dict(parameters or {})
    state = Run(program, unit, given, Outside(base, inputs or {}, sinks or {}, tables or {}, arrivals or {}))
    if arrivals:  # which partitions are idle depends on what all of them give
        outputs = _run_tasks(replace(state, result=Result()), {})
        state.outside = replace(state.outside, floors=watermarks_of_idle(state, outputs))
    _run_tasks(state, {})
    state.result.inexact = any(_is_inexact(task.op) for task in unit.tasks if not isinstance(task.op, ops.Source))
    return state.result


def _is_inexact(part: object) -> bool:
    """Whether a function is called somewhere in an operation whose last digits engines may choose."""
    if isinstance(part, tuple):
        return any(map(_is_inexact, cast("tuple[object, ...]", part)))
    if isinstance(part, Call) and FUNCTIONS[part.function].inexact:
        return True
    return any(_is_inexact(getattr(part, name)) for name in _names(cast("Hashable", type(part))))


@cache
def _names(class_: type[Any]) -> tuple[str, ...]:
    """The fields in which something may be called: types, of which most of a graph consists, call nothing."""
    if not is_dataclass(class_) or class_ in get_args(Type):
        return ()
    return tuple(each.name for each in fields(class_))


def _run_tasks(run: Run, outputs: dict[str, list[Record]]) -> dict[str, list[Record]]:
    """What every task of the run's unit gives; `outputs` holds what is known already."""
    for task in run.unit.tasks:
        if task.id in outputs:
            continue
        inputs = [outputs[edge.producer] for edge in task.inputs]
        outputs[task.id] = _run_task(run, task, inputs)
        if task.collection.shape is Shape.TABLE and not traits_of(task.op).role.ends:
            pairs = [cast("tuple[object, object]", record.value) for record in outputs[task.id]]
            run.result.tables[task.id] = pairs
    return outputs


def _step(run: Run, task: Task) -> Step:
    takes = run.unit.task(task.inputs[0].producer).collection if task.inputs else task.collection
    return Step(task.id, task.op, takes, task.collection, str(task.origin))


def _sides(run: Run, task: Task, inputs: Sequence[Sequence[Record]]) -> list[tuple[Collection, Sequence[Record]]]:
    types = [run.unit.task(edge.producer).collection for edge in task.inputs]
    return list(zip(types, inputs, strict=True))


def _whole(task: Task) -> Collection:
    """What a task reads from outside, whichever columns of it it gives on."""
    return replace(task.collection, element=task.whole) if task.whole != task.schema else task.collection


def _some_columns(task: Task, records: list[Record]) -> list[Record]:
    """The records with the columns that the task gives on."""
    if task.whole == task.schema:
        return records
    places = [task.whole.index(name) for name in task.schema.names]
    values = (cast("tuple[object, ...]", record.value) for record in records)
    made = [tuple(value[place] for place in places) for value in values]
    return [record.with_value(value) for record, value in zip(records, made, strict=True)]


def _run_task(run: Run, task: Task, inputs: list[list[Record]]) -> list[Record]:
    records = [record for each in inputs for record in each]
    step = _step(run, task)
    op = task.op
    if isinstance(op, RowOp):
        return row_operation(run, step, op, records)
    match op:
        case ops.Source():
            return _some_columns(task, source(run, replace(step, gives=_whole(task)), op))
        case ops.ReadSink():
            return _some_columns(task, read_sink(run, step, op))
        case ops.ReadTable():
            return read_table(run, step, op)
        case ops.EventTime():
            return event_time(run, step, op, records)
        case ops.ArrivalTime():
            return arrival_time(run, step, records)
        case ops.PythonBatch() | ops.PythonAsync():
            return row_operation(run, step, op, records)
        case ops.Lookup():
            return looked_up(run, step, op, records)
        case ops.Sessions():
            return in_sessions(run, step, op, records)
        case sequences.Preceding():
            return with_preceding(run, step, op, records)
        case sequences.Absent():
            return silences(run, step, op, records)
        case sequences.Present():
            return returned(run, step, op, records)
        case sequences.Scan():
            return scanned(run, step, op, records)
        case sequences.Process():
            return processed(run, step, op, records)
        case sequences.Chunks():
            return in_chunks(step, op, records)
        case ops.Fused():
            return fused(run, step, op, records)
        case ops.Union():
            return records
        case ops.ReduceByKey() | ops.AggregateByKey() | ops.GroupByKey() | ops.Count():
            return of_groups(run, step, op, records)
        case ops.Forgetting():
            return forgetting(run, step, op, records)
        case ops.Versions():
            return versions(run, step, op, records)
        case ops.Latest():
            return latest(run, step, op, records)
        case ops.Changes() | ops.Revisions():  # a run has one commit, at its end
            return records
        case ops.Distinct():
            return distinct(run, step, op, records)
        case ops.Sort():
            return sorted_records(run, step, op, records)
        case ops.Top():
            return top(run, step, op, records)
        case ops.Join():
            return joined(run, step, op, _sides(run, task, inputs))
        case ops.Iterate():

            def round_of(tasks: tuple[Task, ...], given: Outputs) -> Outputs:
                return _run_tasks(replace(run, unit=step_unit(run.unit, task, replace(op, tasks=tasks))), given)

            return iterated(run, step, op, inputs, round_of)
        case ops.To():
            write(run, step, op, records)
            return []
        case ops.Publish():
            publish(run, step, op, records)
            return []
        case ops.Reply():
            run.result.reply = [*(run.result.reply or ()), *(record.value for record in records)]
            return []
        case _:
            assert_never(op)
