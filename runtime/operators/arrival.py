"""Arrival time: each record gets the time at which it came, by the clock of the unit, which is the watermark too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd
from typing import assert_never

import polars as pl

from ghcm.runtime.contract import NEVER, Context, Outbox
from ghcm.runtime.data.batch import TIME, WATERMARK, Batch
from ghcm.runtime.operators.pending import Pending
from ghcm.runtime.state.packing import pack, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Fused, Sliding, Tumbling, Window


class ArrivalOperator:
    """Remembers the latest time that it has given, so that time never goes back, not even over a recovery on another
    clock.

    As long as windows behind it may be open it asks to be flushed when the next of them ends, so that they close while
    nothing comes.
    """

    def __init__(self, task: Task, unit: Unit, context: Context) -> None:
        self._context = context
        self._tick, self._longest = _windows_behind(task, unit)
        self._latest = NEVER
        self._came: int | None = None
        self._pending = Pending()

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        """As `Operator.process`."""
        return self._pending.give(outbox, lambda: self._given(batch))

    def _given(self, batch: Batch) -> Iterator[Batch]:
        if not len(batch):
            return
        before, now = self._latest, self.moment()
        self._came = now
        yield _stamped(batch, before, now)

    def moment(self) -> int:
        """As `WallClock.moment`."""
        self._latest = max(self._latest, self._context.now())
        return self._latest

    def due(self) -> int | None:
        """As `Timer.due`: the end of the next window, until none is open that a record came for."""
        if self._came is None or self._latest >= self._came + self._longest:
            return None
        return (self._latest // self._tick + 1) * self._tick

    def advance(self, watermark: int, outbox: Outbox) -> bool:
        """As `Operator.advance`."""
        return True

    def flush(self, outbox: Outbox) -> bool:
        """As `Operator.flush`."""
        return True

    def finish(self, outbox: Outbox) -> bool:
        """As `Operator.finish`."""
        self._came = None
        return True

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: one clock, so one group."""
        return {0: pack((self._latest, self._came))} if self._latest > NEVER else {}

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        for data in state.values():
            self._latest, self._came = unpack(data)


def _stamped(batch: Batch, before: int, now: int) -> Batch:
    schema = batch.schema
    if batch.columnar:
        stamps = (pl.lit(now, pl.Int64).alias(TIME), pl.lit(before, pl.Int64).alias(WATERMARK))
        frame = batch.frame().select(*schema.names, *stamps)
        return Batch.from_frame(schema, frame, timed=True, partition=batch.partition)
    width = len(schema.fields)
    rows = [(*row[:width], now, before) for row in batch.rows()]
    return Batch.from_rows(schema, rows, timed=True, partition=batch.partition)


def _windows_behind(task: Task, unit: Unit) -> tuple[int, int]:
    """Of all windows behind the task: a step of the clock that ends all of them, and how long after a record the last
    one that it is part of may close; results of windows may be in windows again.
    """
    reached, tick, longest = {task.id}, 0, 0
    for each in unit.tasks:
        if not any(edge.producer in reached for edge in each.inputs):
            continue
        reached.add(each.id)
        for window in _windows_of(each):
            size, every = _size_and_every(window.assigner)
            tick = gcd(tick, size, every, window.assigner.offset_us)
            longest += size + window.allowed_lateness_us
    return max(tick, 1), longest


def _size_and_every(assigner: Tumbling | Sliding) -> tuple[int, int]:
    match assigner:
        case Tumbling(size_us=size):
            return size, size
        case Sliding(size_us=size, every_us=every):
            return size, every
        case _:
            assert_never(assigner)


def _windows_of(task: Task) -> list[Window]:
    ops = [stage.op for stage in task.op.stages] if isinstance(task.op, Fused) else [task.op]
    return [op for op in ops if isinstance(op, Window)]
