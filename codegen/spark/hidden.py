"""Which hidden columns each task has to give on: event time, watermark, and the position in a partition.

They are carried only where a later task asks for them, so that a job without windows has none.
"""

from __future__ import annotations

from collections.abc import Iterable

from ghcm.reducers import Aggregate
from ghcm.spg.graph import Task, Unit, entry_of, step_unit
from ghcm.spg.ops import AggregateByKey, EventTime, Fused, Iterate, Join, Op, Publish
from ghcm.spg.traits import TIME, WATERMARK, Time, traits_of

ORDER = frozenset({"@partition", "@order"})


def live_tasks(unit: Unit, result: str | None = None) -> tuple[Task, ...]:
    """The tasks whose records reach an end, or the result of a step, in order."""
    live: set[str] = set()
    for task in reversed(unit.tasks):
        if traits_of(task.op).role.ends or task.id in live or task.id == result:
            live |= {task.id, *(edge.producer for edge in task.inputs)}
    return tuple(task for task in unit.tasks if task.id in live)


def hidden_columns(unit: Unit, result: str | None = None) -> dict[str, frozenset[str]]:
    """By task the hidden columns that its consumers need from it; `result` is the end of a step."""
    needed: dict[str, frozenset[str]] = {task.id: frozenset() for task in unit.tasks}
    for task in reversed(live_tasks(unit, result)):
        for edge, taken in zip(task.inputs, _from_inputs(unit, task, needed[task.id]), strict=True):
            timeless = not unit.task(edge.producer).collection.timed
            needed[edge.producer] |= taken - {TIME, WATERMARK} if timeless else taken
    return needed


def _from_inputs(unit: Unit, task: Task, given: frozenset[str]) -> list[frozenset[str]]:
    """What a task needs from each of its inputs to give those columns."""
    if isinstance(task.op, Iterate):
        inner = hidden_columns(step_unit(unit, task, task.op), task.op.result)
        return [frozenset(), *(inner[entry_of(index)] for index in range(1, len(task.inputs)))]
    return [_taken(task.op, given)] * len(task.inputs)


def _taken(op: Op, given: frozenset[str]) -> frozenset[str]:
    """What a task needs from its inputs to give those columns."""
    facts = traits_of(op)
    match op:
        case EventTime(disorder_us=disorder):
            own = ORDER if WATERMARK in given and disorder is not None else frozenset[str]()
            return (given - {TIME, WATERMARK}) | own
        case Fused(stages=stages):
            return given.union(*(traits_of(stage.op).hidden for stage in stages))
        case Join():
            return frozenset({TIME}) if op.by_time else given & {TIME}
        case AggregateByKey(aggregates=aggregates):
            return _placing(aggregates)
        case Publish(call=call):
            return _placing(each for _, each in call.arguments if isinstance(each, Aggregate))
        case _:  # the others read the same columns whatever their arguments are: their traits say it
            return facts.hidden | (given if facts.time is Time.KEEPS else frozenset[str]())


def _placing(aggregates: Iterable[Aggregate]) -> frozenset[str]:
    """What aggregates read that go by event time."""
    return frozenset({TIME} if any(each.by_time for each in aggregates) else ())
