"""The time of records: event time, with the watermark of their partition just before them; processing time, by the
clock of the unit, which is the watermark too; and when a window is closed for the operators behind it.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import gcd
from typing import Any, TypeVar

import polars as pl

from ghcm.runtime.contract import INFINITY, NEVER, Context, Outbox
from ghcm.runtime.data.batch import TIME, WATERMARK, Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.key_groups import key_group
from ghcm.runtime.native.clock import PartitionClock
from ghcm.runtime.native.code import Dead, TimeCode
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.state.packing import pack, unpack
from ghcm.spg.graph import Task, Unit, without_order
from ghcm.spg.joining import is_endless, keeps_us
from ghcm.spg.ops import ArrivalTime, EventTime, Fused, Join, Sessions, Window
from ghcm.spg.stages import event_time_of
from ghcm.spg.traits import Time, traits_of
from ghcm.spg.windows import Fixed, TumblingBy
from ghcm.types import INT_MAX, String

Made = TypeVar("Made")


class EventTimeOperator(TaskOperator):
    """A chain that gives event time. Keeps the greatest time so far of each partition: the watermark is that time minus
    the disorder. Without a bound of disorder it stays at minus infinity, as does that of what has no order.

    A partition that is silent at two barriers in a row is idle: what waits in the source when a process was held up, so
    that the clock has jumped, comes between the two. After a restart silence is counted anew.
    """

    def __init__(self, task: Task, op: EventTime, unit: Unit, code: TimeCode, context: Context) -> None:
        super().__init__(task, unit, context)
        self._disorder = op.disorder_us
        self._unordered = without_order(unit)
        self._code = code
        self._functions = [context.function(*each.split(":")) for each in code.functions]
        self._greatest: dict[str, int] = {}
        self._idle_us = op.idle_us
        self._began = context.now() if op.idle_us is not None else 0
        self._heard: dict[str, int] = {}
        self._silent: frozenset[str] = frozenset()
        self._idle: frozenset[str] = frozenset()
        self._open: frozenset[str] | None = None

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        if self._idle_us is not None:
            self._heard[batch.partition] = self._context.now()
            self._silent -= {batch.partition}
            self._idle -= {batch.partition}
        dead, columns = self._dead_to(outbox), None if self._code.columns is None else self._columns
        made = self._in_form(batch, columns, lambda piece: self._rows(piece, dead))
        yield from self._cut(made, max(self._context.rows, len(batch)) * 8)

    def _columns(self, batch: Batch) -> pl.DataFrame | None:
        assert self._code.columns is not None
        clock = self._clock(batch.partition)
        made = self._code.columns(batch.frame(), self._parameters, clock)
        return made if made is None else self._kept_of(clock, batch.partition, made)

    def _rows(self, batch: Batch, dead: Dead) -> list[Row]:
        clock = self._clock(batch.partition)
        made = self._code.rows(batch.rows(), dead, self._parameters, self._functions, clock)
        return self._kept_of(clock, batch.partition, made)

    def _clock(self, partition: str) -> PartitionClock:
        """The clock of a partition behind the records that are done."""
        disorder = None if partition in self._unordered else self._disorder
        return PartitionClock(self._greatest.get(partition), disorder)

    def _kept_of(self, clock: PartitionClock, partition: str, made: Made) -> Made:
        """What was made, behind which a partition has come as far as the clock says."""
        if clock.greatest is not None:
            self._greatest[partition] = clock.greatest
        return made

    def watermarks(self) -> Mapping[str, int]:
        disorder = self._disorder or 0
        return {partition: max(NEVER, greatest - disorder) for partition, greatest in self._greatest.items()}

    def silent(self) -> frozenset[str]:
        return self._silent

    def idle(self) -> frozenset[str]:
        return self._idle

    def look(self, open_partitions: frozenset[str]) -> None:
        self._open = open_partitions
        if self._idle_us is None:
            return
        now = self._context.now()
        ordered = open_partitions - self._unordered
        silent = frozenset(p for p in ordered if now - self._heard.get(p, self._began) >= self._idle_us)
        self._idle = self._silent & silent
        self._silent = silent

    def follow(self, partition: str, watermark: int) -> None:
        """As `Idler.follow`: as if a record had come that makes this the watermark."""
        if self._disorder is not None and watermark > NEVER:
            greatest = min(INT_MAX, watermark + self._disorder)
            self._greatest[partition] = max(self._greatest.get(partition, NEVER), greatest)

    def due(self) -> int | None:
        """As `Timer.due`: when the next partition may be found idle."""
        if self._idle_us is None:
            return None
        if self._open is None:
            return self._began + self._idle_us
        awake = self._open - self._idle - self._unordered
        return min(self._heard.get(name, self._began) for name in awake) + self._idle_us if awake else None

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: the greatest time of each partition, by the group of its name."""
        groups: dict[int, dict[str, int]] = {}
        for partition, greatest in self._greatest.items():
            groups.setdefault(key_group(partition, String(), self._context.groups), {})[partition] = greatest
        return {group: pack(each) for group, each in groups.items()}

    def restore(self, state: Mapping[int, bytes]) -> None:
        for data in state.values():
            for partition, greatest in unpack(data).items():
                self._greatest[partition] = max(greatest, self._greatest.get(partition, NEVER))


class ProcessingTimeOperator(TaskOperator):
    """Remembers the latest time that it has given, so that time never goes back, not even over a recovery on another
    clock.

    As long as windows behind it may be open it asks to be flushed when the next of them ends, so that they close while
    nothing comes.
    """

    def __init__(self, task: Task, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._ticks, self._longest = _windows_behind(task, unit)
        self._latest = NEVER
        self._came: int | None = None

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        if not len(batch):
            return
        before, now = self._latest, self.moment()
        self._came = now
        if batch.columnar:
            stamps = (pl.lit(now, pl.Int64).alias(TIME), pl.lit(before, pl.Int64).alias(WATERMARK))
            yield self._framed(batch.frame().select(*self._schema.names, *stamps), batch.partition)
        else:
            width = len(self._schema.fields)
            yield self._batch([(*row[:width], now, before) for row in batch.rows()], batch.partition)

    def moment(self) -> int:
        self._latest = max(self._latest, self._context.now())
        return self._latest

    def due(self) -> int | None:
        """As `Timer.due`: the end of the next window, until none is open that a record came for."""
        if self._came is None or self._latest >= self._came + self._longest:
            return None
        return min((self._latest // tick + 1) * tick for tick in self._ticks)

    def finish(self, outbox: Outbox) -> Iterable[Batch]:
        self._came = None
        return ()

    def _kept(self) -> object:
        return (self._latest, self._came) if self._latest > NEVER else None

    def _put_back(self, kept: Any) -> None:
        latest, came = kept
        self._latest, self._came = max(self._latest, latest), came if self._came is None else max(self._came, came or 0)


_LATER = 16
"""A session may close by a part of its gap later than it ends: no step of the clock ends all sessions."""


def _windows_behind(task: Task, unit: Unit) -> tuple[list[int], int]:
    """Of all windows behind the task: steps of the clock that end all of them, and how long after a record the last
    one that it is part of may close; results of windows may be in windows again.
    """
    reached, tick, longest = {task.id}, 0, 0
    ticks: list[int] = []
    for each in unit.tasks:
        if not any(edge.producer in reached for edge in each.inputs):
            continue
        reached.add(each.id)
        for assigner, lateness in _fixed_windows_of(each):
            tick = gcd(tick, assigner.size_us, assigner.every_us, assigner.offset_us)
            longest += assigner.size_us + lateness
        if isinstance(each.op, Sessions):
            ticks.append(max(1, each.op.gap_us // _LATER))
            longest += each.op.gap_us + waits_of(each, each.op, unit)
    return [*ticks, tick] if tick else ticks or [1], longest


def waits_of(task: Task, op: Sessions, unit: Unit) -> int:
    """How long behind its end a session may get records that are not late: none where they come by the clock."""
    return 0 if _by_clock(task, unit) else op.gap_us + op.allowed_lateness_us


def _by_clock(task: Task, unit: Unit) -> bool:
    """Whether the event time of what a task takes is that at which it came."""
    before = [unit.task(edge.producer) for edge in task.inputs]
    kept = [each for each in before if traits_of(each.op).time is Time.KEEPS and event_time_of(each.op) is None]
    others = [each for each in before if each not in kept]
    came = all(isinstance(each.op, ArrivalTime) for each in others)
    return bool(before) and came and all(_by_clock(each, unit) for each in kept)


def _windows_of(task: Task) -> list[Window]:
    ops = [stage.op for stage in task.op.stages] if isinstance(task.op, Fused) else [task.op]
    return [op for op in ops if isinstance(op, Window)]


def _fixed_windows_of(task: Task) -> Iterator[tuple[Fixed, int]]:
    """The windows that may close before the input has ended, and their lateness."""
    for window in _windows_of(task):
        if not isinstance(window.assigner, TumblingBy):
            yield window.assigner, window.allowed_lateness_us


def lateness_of(task: Task, unit: Unit) -> int:
    """How long (microseconds of event time) after its end a window of the task's input may still get records.

    An upstream windowed aggregation gives its results only when its own windows close, which is so much later.
    """
    longest = 0
    for producer in (unit.task(edge.producer) for edge in task.inputs):
        own = sum(window.allowed_lateness_us for window in _windows_of(producer)) + _kept_back(producer, unit)
        longest = max(longest, lateness_of(producer, unit) + own)
    return longest


def _kept_back(task: Task, unit: Unit) -> int:
    """How long behind the watermark a task may give records besides the lateness of windows. Sessions wait for what
    may be part of them. A join of endless inputs gives what met nobody when nobody can come any more: within an
    interval twice as late, in windows when they close.
    """
    if isinstance(task.op, Sessions) and unit.kind == "stream":
        return waits_of(task, task.op, unit)
    sides = [unit.task(edge.producer).collection for edge in task.inputs]
    if not isinstance(task.op, Join) or not is_endless(*sides):
        return 0
    if task.op.asof:
        return 0
    if task.op.interval_us is not None:
        return max(keeps_us(task.op.interval_us, side) for side in (0, 1))
    return 0 if task.collection.windowed else _longest_window(task, unit)


def _longest_window(task: Task, unit: Unit) -> int:
    """The size of the largest window in the way to a task."""
    before = [unit.task(edge.producer) for edge in task.inputs]
    own = [assigner.size_us for each in before for assigner, _ in _fixed_windows_of(each)]
    return max([0, *own, *(_longest_window(each, unit) for each in before)])


def is_closed(end: int, lateness: int, watermark: int) -> bool:
    """Whether a window with this end gets no more records: the watermark is past its lateness, or the last record came.

    >>> is_closed(60, 10, 69), is_closed(60, 10, 70), is_closed(INFINITY, 10, INFINITY)
    (False, True, True)
    """
    return watermark == INFINITY or end + lateness <= watermark
