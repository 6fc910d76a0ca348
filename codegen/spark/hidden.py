"""Which hidden columns each task has to give on: event time, watermark, and the place in a partition.

They are carried only where a later task asks for them, so that a job without windows has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from ghcm.reducers import Aggregate
from ghcm.spg.graph import Task, Unit
from ghcm.spg.iterations import entry_of, step_unit
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
    Op,
    Publish,
    PythonBatch,
    PythonCall,
    ReadSink,
    ReadTable,
    ReduceByKey,
    Reply,
    Sessions,
    Sort,
    Source,
    To,
    Top,
    Union,
    Window,
)

TIME, WATERMARK = "@time", "@watermark"
ORDER = frozenset({"@partition", "@order"})
_WINDOW = frozenset({TIME, WATERMARK})


def live_tasks(unit: Unit, result: str | None = None) -> tuple[Task, ...]:
    """The tasks whose records reach an end, or the result of a step, in order."""
    live: set[str] = set()
    for task in reversed(unit.tasks):
        if isinstance(task.op, To | Publish | Reply) or task.id in live or task.id == result:
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
        return [frozenset(), *(inner[entry_of(place)] for place in range(1, len(task.inputs)))]
    return [_taken(task.op, given)] * len(task.inputs)


def _taken(op: Op, given: frozenset[str]) -> frozenset[str]:
    """What a task needs from its inputs to give those columns."""
    match op:
        case EventTime(disorder_us=disorder):
            own = ORDER if WATERMARK in given and disorder is not None else frozenset[str]()
            return (given - {TIME, WATERMARK}) | own
        case Window() | Sessions():
            return given | _WINDOW
        case Fused(stages=stages):
            return given | (_WINDOW if any(isinstance(stage.op, Window) for stage in stages) else frozenset[str]())
        case (
            Filter()
            | Map()
            | FlatMap()
            | MapToPair()
            | MapValues()
            | KeyBy()
            | PythonCall()
            | PythonBatch()
            | Union()
            | Sort()
            | Top()
        ):
            return given
        case Join():
            return frozenset({TIME}) if op.by_time else given & {TIME}
        case AggregateByKey(aggregates=aggregates):
            return _placing(aggregates)
        case Publish(call=call):
            return _placing(each for _, each in call.arguments if isinstance(each, Aggregate))
        case ReduceByKey() | GroupByKey() | Count() | Changes() | Distinct() | Iterate():
            return frozenset()
        case ArrivalTime():  # which no batch unit has
            return frozenset()
        case Source() | ReadSink() | ReadTable() | To() | Reply():
            return frozenset()
        case _:
            assert_never(op)


def _placing(aggregates: Iterable[Aggregate]) -> frozenset[str]:
    """What aggregates read that go by event time."""
    return frozenset({TIME} if any(each.by_time for each in aggregates) else ())
