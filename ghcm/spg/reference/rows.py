"""The operations on single records: filter, map and their kind, event time, windows, Python functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, assert_never, cast

from ghcm.expr import Lambda
from ghcm.functions import Failure
from ghcm.spg import ops
from ghcm.spg.ops import RowOp
from ghcm.spg.reference.functions import Failed, checked
from ghcm.spg.reference.python import batch_result, load, result_of
from ghcm.spg.reference.state import NEVER, Record, Run, Step, Window, part
from ghcm.spg.traits import traits_of
from ghcm.types import Collection, Shape, Struct


def row_operation(run: Run, step: Step, op: RowOp | ops.PythonBatch, records: Sequence[Record]) -> list[Record]:
    """What the operation makes of the records, in order."""
    match op:
        case ops.Filter(predicate=predicate):
            return [record for record, holds in run.applied(step, predicate, records) if holds is True]
        case ops.Map(function=function) | ops.MapToPair(function=function):
            return [record.with_value(value) for record, value in run.applied(step, function, records)]
        case ops.FlatMap(function=function):
            several = run.applied(step, function, records)
            return [record.with_value(each) for record, items in several for each in cast("list[Any]", items) or ()]
        case ops.MapValues(function=function):
            return _new_values(run, step, function, records)
        case ops.KeyBy(function=function):
            return [record.with_value((key, record.value)) for record, key in run.applied(step, function, records)]
        case ops.PythonCall() | ops.PythonBatch():
            called = load(op.module, op.function, run.outside.base)
            result = result_of if isinstance(op, ops.PythonCall) else batch_result
            made = run.each(step, records, lambda record: result(called, record.value, step.takes, step.gives.element))
            return [record.with_value(value) for record, value in made]
        case ops.Window():
            found = run.each(step, records, lambda record: _windowed(step, op, record))
            return [new for _, several in found for new in several]
        case _:
            assert_never(op)


def _new_values(run: Run, step: Step, function: Lambda, records: Sequence[Record]) -> list[Record]:
    index = cast("Struct", step.takes.element).index("value")
    made = run.each(step, records, lambda record: run.apply(function, part(record.value, step.takes.element, "value")))
    result: list[Record] = []
    for record, value in made:
        row = cast("tuple[object, ...]", record.value)
        result.append(record.with_value((*row[:index], value, *row[index + 1 :])))
    return result


def _windowed(step: Step, op: ops.Window, record: Record) -> list[Record]:
    """The record in each of its windows that is open."""
    windows = _windows(op.assigner, cast("int", record.time))
    still_open = [window for window in windows if window[1] + op.allowed_lateness_us > record.watermark]
    if not still_open:
        raise Failed(Failure.LATE, f"the window ended at {windows[-1][1]}, the watermark was {record.watermark}")
    return [step.in_window(record, window) for window in still_open]


def _windows(assigner: ops.Tumbling | ops.Sliding, time: int) -> list[Window]:
    """The windows that hold a time, in their order; `Failed` if one of them does not fit."""
    size, every = assigner.size_us, assigner.every_us
    windows: list[Window] = []
    start = time - (time - assigner.offset_us) % every
    while start + size > time:
        windows.insert(0, (checked(start), checked(start + size)))
        start -= every
    return windows


def event_time(run: Run, step: Step, op: ops.EventTime, records: Sequence[Record]) -> list[Record]:
    """The records with their time, and with the watermark of their partition before them, which an idle one follows."""
    timed: list[Record] = []
    greatest: dict[tuple[str, str], int] = {}
    floors = run.outside.floors.get(step.id) or [NEVER] * len(records)
    records = [replace(record, watermark=floor) for record, floor in zip(records, floors, strict=True)]
    for record, time in run.each(step, records, lambda record: _time(run, op, record)):
        seen = greatest.get(record.partition)
        watermark = NEVER if seen is None or op.disorder_us is None else max(NEVER, seen - op.disorder_us)
        timed.append(Record(record.value, time, max(watermark, record.watermark), record.partition))
        greatest[record.partition] = time if seen is None else max(seen, time)
    return timed


def _time(run: Run, op: ops.EventTime, record: Record) -> int:
    time = run.apply(op.time, record.value)
    if time is None:
        raise Failed(Failure.NULL_TIME, "the record has no time")
    return cast("int", time)


def arrival_time(run: Run, step: Step, records: Sequence[Record]) -> list[Record]:
    """The records with the time at which they come, as the script says; the clock never goes back."""
    timed: list[Record] = []
    clock = NEVER
    for record, moment in zip(records, run.script(step.id, records, "goes by the clock"), strict=True):
        before, clock = clock, max(clock, moment)
        timed.append(Record(record.value, clock, before, record.partition))
    return timed


def fused(run: Run, step: Step, op: ops.Fused, records: Sequence[Record]) -> list[Record]:
    """What the stages make of the records, one after the other."""
    takes = step.takes
    for stage in op.stages:
        keeps = traits_of(stage.op).picks or isinstance(stage.op, ops.MapValues)
        windowed = takes.windowed if keeps else isinstance(stage.op, ops.Window)
        gives = Collection(Shape.STREAM, stage.element, takes.bounded, takes.timed, windowed)
        inner = Step(stage.id, stage.op, takes, gives, stage.origin)
        records = row_operation(run, inner, stage.op, records)
        takes = gives
    return list(records)
