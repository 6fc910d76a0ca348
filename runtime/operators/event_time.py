"""Event time: each record gets its time, and the watermark of its partition just before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from ghcm.runtime.contract import NEVER, Context, Outbox
from ghcm.runtime.data.batch import TIME, WATERMARK, Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.keys import key_group
from ghcm.runtime.native.code import TimeCode
from ghcm.runtime.operators.chain import columnar, in_columns
from ghcm.runtime.operators.letters import Letters
from ghcm.runtime.operators.pending import Pending
from ghcm.runtime.operators.pieces import in_pieces
from ghcm.runtime.state.packing import pack, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import EventTime
from ghcm.types import INT_MAX, String


class EventTimeOperator:
    """Keeps the greatest time so far of each partition. The watermark is that time minus the disorder; without a
    bound of disorder it stays at minus infinity.

    A partition that is silent at two barriers in a row is idle: what waits in the source when a process was held up, so
    that the clock has jumped, comes between the two. After a restart silence is counted anew.
    """

    def __init__(self, task: Task, op: EventTime, unit: Unit, code: TimeCode, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._disorder = op.disorder_us
        self._code = code
        self._context = context
        self._schema = task.schema
        self._width = len(task.schema.fields)
        self._letters = Letters(unit, task)
        self._greatest: dict[str, int] = {}
        self._pending = Pending()
        self._idle_us = op.idle_us
        self._began = context.now() if op.idle_us is not None else 0
        self._heard: dict[str, int] = {}
        self._silent: frozenset[str] = frozenset()
        self._idle: frozenset[str] = frozenset()
        self._open: frozenset[str] | None = None

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        """As `Operator.process`."""
        return self._pending.give(outbox, lambda: self._given(batch, outbox))

    def _given(self, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        if self._idle_us is not None:
            self._heard[batch.partition] = self._context.now()
            self._silent -= {batch.partition}
            self._idle -= {batch.partition}
        if self._code.columns is None or not columnar(batch, self._context):
            yield self._by_rows(batch, outbox)
        else:
            least = self._context.columnar_from
            yield in_pieces(batch, least, self._by_columns, lambda piece: self._by_rows(piece, outbox))

    def _by_columns(self, batch: Batch) -> Batch | None:
        frame = in_columns(lambda: self._columns(batch))
        if frame is None:
            return None
        self.counts["columns"] += len(batch)
        return Batch.from_frame(self._schema, frame, timed=True, partition=batch.partition)

    def _by_rows(self, batch: Batch, outbox: Outbox) -> Batch:
        self.counts["rows"] += len(batch)
        return Batch.from_rows(self._schema, self._rows(batch, outbox), timed=True, partition=batch.partition)

    def _columns(self, batch: Batch) -> pl.DataFrame | None:
        assert self._code.columns is not None
        times = self._code.columns(batch.frame(), self._context.parameters)
        if times is None:
            return None
        before = self._greatest.get(batch.partition, NEVER)
        so_far = times.cum_max().shift(1, fill_value=NEVER).clip(before)
        if len(times):
            greatest = times.max()
            assert isinstance(greatest, int)
            self._greatest[batch.partition] = max(before, greatest)
        return batch.frame().select(*self._schema.names, times.alias(TIME), self._behind(so_far).alias(WATERMARK))

    def _behind(self, greatest: pl.Series) -> pl.Series:
        if self._disorder is None:
            return pl.Series([NEVER], dtype=pl.Int64).new_from_index(0, len(greatest))
        return greatest.clip(NEVER + self._disorder) - self._disorder

    def _rows(self, batch: Batch, outbox: Outbox) -> list[Row]:
        times = self._code.rows(batch.rows(), self._letters.to(outbox), self._context.parameters)
        greatest = self._greatest.get(batch.partition, NEVER)
        seen = batch.partition in self._greatest
        result: list[Row] = []
        for row, time in zip(batch.rows(), times, strict=True):
            if time is not None:
                result.append((*row[: self._width], time, self._watermark(greatest)))
                greatest, seen = max(greatest, time), True
        if seen:
            self._greatest[batch.partition] = greatest
        return result

    def _watermark(self, greatest: int) -> int:
        return NEVER if self._disorder is None else max(NEVER, greatest - self._disorder)

    def watermarks(self) -> Mapping[str, int]:
        """As `Clock.watermarks`."""
        return {partition: self._watermark(greatest) for partition, greatest in self._greatest.items()}

    def silent(self) -> frozenset[str]:
        """As `Idler.silent`."""
        return self._silent

    def idle(self) -> frozenset[str]:
        """As `Idler.idle`."""
        return self._idle

    def look(self, open_partitions: frozenset[str]) -> None:
        """As `Idler.look`."""
        self._open = open_partitions
        if self._idle_us is None:
            return
        now = self._context.now()
        silent = frozenset(p for p in open_partitions if now - self._heard.get(p, self._began) >= self._idle_us)
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
        awake = self._open - self._idle
        return (
            min((self._heard.get(name, self._began) for name in awake), default=INT_MAX) + self._idle_us
            if awake
            else None
        )

    def advance(self, watermark: int, outbox: Outbox) -> bool:
        """As `Operator.advance`."""
        return True

    def flush(self, outbox: Outbox) -> bool:
        """As `Operator.flush`."""
        return True

    def finish(self, outbox: Outbox) -> bool:
        """As `Operator.finish`."""
        return True

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: the greatest time of each partition, by the group of its name."""
        groups: dict[int, dict[str, int]] = {}
        for partition, greatest in self._greatest.items():
            groups.setdefault(key_group(partition, String(), self._context.groups), {})[partition] = greatest
        return {group: pack(each) for group, each in groups.items()}

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        for data in state.values():
            self._greatest.update(unpack(data))
