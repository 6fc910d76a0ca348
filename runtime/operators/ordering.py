"""Sort and top: the records of bounded input in order, given on when the input has ended; and the first records of each
window, given on when it closes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

import polars as pl

from ghcm.runtime.contract import NEVER, Context, Operator, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row, in_columns
from ghcm.runtime.native.code import OrderCode
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators.batches import Pending, chunks, columnar
from ghcm.runtime.operators.dead_letters import DeadLetters
from ghcm.runtime.operators.event_time import is_closed, lateness_of
from ghcm.runtime.state.packing import pack, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Sort, Top
from ghcm.types import Null

_Ranked: TypeAlias = tuple[Any, Any, Row]
"""A row behind what it is ordered by, and what ties are."""
_SPARE, _SPARE_OF_WINDOW = 4096, 64


class _Order:
    """The order of a task, and how many records of it are asked for (None: all)."""

    def __init__(self, task: Task, op: Sort | Top, unit: Unit, code: OrderCode, context: Context) -> None:
        self.descending = op.descending
        self.limit: int | None = None
        self._schema = task.schema
        self._timed = task.collection.timed
        self._code = code
        self._parameters = context.parameters
        self._letters = DeadLetters(unit, task)
        self._failed: RecordFailure | None = None
        if code.count is not None:
            try:
                count = code.count(self._parameters)
                self.limit = max(0, count) if isinstance(count, int) else 0
            except RecordFailure as failure:
                self._failed, self.limit = failure, 0

    @property
    def told(self) -> bool:
        """Whether it was said why nothing is counted, or need not be."""
        return self._failed is None

    def tell(self, outbox: Outbox | None) -> None:
        """Say once why nothing is counted; it was said already where there is no outbox."""
        failed, self._failed = self._failed, None
        if failed is not None and outbox is not None:
            self._letters.other(outbox, None, Null(), failed.reason, failed.detail)

    def columns(self, batch: Batch) -> pl.DataFrame | None:
        """The batch with its keys as the column `@by`; None where columns cannot say."""
        columns = self._code.columns
        assert columns is not None
        return in_columns(lambda: columns(batch.frame(), self._parameters))

    def ranked(self, batch: Batch, outbox: Outbox | None) -> list[_Ranked]:
        """The rows with their keys; those that fail are dead letters unless they were before (no outbox)."""
        dead = _never if outbox is None else self._letters.to(outbox)
        keys = self._code.by(batch.rows(), dead, self._parameters)
        return [(key[0], key[1], row) for key, row in zip(keys, batch.rows(), strict=True) if key is not None]

    def first(self, ranked: Sequence[_Ranked]) -> list[_Ranked]:
        """As many as are asked for, in order."""
        ordered = sorted(ranked, key=itemgetter(1))
        ordered.sort(key=itemgetter(0), reverse=self.descending)
        return ordered if self.limit is None else ordered[: self.limit]

    def batch(self, rows: Sequence[Row]) -> Batch:
        """Rows that were saved."""
        return Batch.from_rows(self._schema, rows, timed=self._timed)


class OrderOperator(Operator):
    """Keeps records with their sort keys; of a top no more than twice its count and some. Frames stay frames until a
    row comes.
    """

    def __init__(self, task: Task, op: Sort | Top, unit: Unit, code: OrderCode, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._task = task
        self._nulls_last = isinstance(op, Top) or op.descending
        self._columnar = code.columns is not None
        self._context = context
        self._order = _Order(task, op, unit, code, context)
        self._ranked: list[_Ranked] = []
        self._frames: list[pl.DataFrame] = []
        self._pending = Pending()

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        if self._columnar and columnar(batch, self._context):
            frame = self._order.columns(batch)
            if frame is not None:
                self.counts["columns"] += len(batch)
                self._frames.append(frame)
                self._shorten_frames()
                return True
        self.counts["rows"] += len(batch)
        self._take_rows(batch, outbox)
        return True

    def _take_rows(self, batch: Batch, outbox: Outbox | None) -> None:
        self._ranked += self._order.ranked(batch, outbox)
        if self._order.limit is not None and len(self._ranked) > 2 * self._order.limit + _SPARE:
            self._ranked = self._order.first(self._ranked)

    def _shorten_frames(self) -> None:
        limit = self._order.limit
        if limit is not None and sum(frame.height for frame in self._frames) > 2 * limit + _SPARE:
            self._frames = [self._frame_in_order()]

    def _frame_in_order(self) -> pl.DataFrame:
        names = list(self._task.schema.names)
        others = [False] * len(names)
        ordered = pl.concat(self._frames).sort(
            ["@by", *names],
            descending=[self._order.descending, *others],
            nulls_last=[self._nulls_last, *others],
            maintain_order=True,
        )
        return ordered if self._order.limit is None else ordered.head(self._order.limit)

    def finish(self, outbox: Outbox) -> bool:
        return self._pending.give(outbox, lambda: self._result(outbox))

    def _result(self, outbox: Outbox) -> Iterator[Batch]:
        self._order.tell(outbox)
        timed = self._task.collection.timed
        if self._frames and not self._ranked:
            frame = self._frame_in_order()
            self._frames = []
            for start in range(0, frame.height, self._context.rows):
                yield Batch.from_frame(self._task.schema, frame.slice(start, self._context.rows), timed=timed)
            return
        frames, self._frames = self._frames, []
        for frame in frames:
            self._take_rows(Batch.from_frame(self._task.schema, frame, timed=timed), outbox)
        ranked, self._ranked = self._order.first(self._ranked), []
        yield from chunks(self._task.schema, [row for _, _, row in ranked], self._context.rows, timed=timed)

    def save(self) -> Mapping[int, bytes]:
        rows = [row for _, _, row in self._ranked]
        for frame in self._frames:
            rows += Batch.from_frame(self._task.schema, frame, timed=self._task.collection.timed).rows()
        return {0: pack(rows)} if rows else {}

    def restore(self, state: Mapping[int, bytes]) -> None:
        for data in state.values():
            self._take_rows(self._order.batch(unpack(data)), None)


class WindowTopOperator(Operator):
    """Keeps of each window no more than twice as many records as are asked for, and some."""

    def __init__(self, task: Task, op: Top, unit: Unit, code: OrderCode, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._task = task
        self._columnar = code.columns is not None
        self._context = context
        self._window = task.schema.index("window")
        self._lateness = lateness_of(task, unit)
        self._windows: dict[tuple[int, int], list[_Ranked]] = {}
        self._order = _Order(task, op, unit, code, context)
        self._pending = Pending()

    @property
    def _limit(self) -> int:
        assert self._order.limit is not None, "a top has a count"
        return self._order.limit

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        if self._columnar and columnar(batch, self._context):
            best = self._best(batch)
            if best is not None:
                self.counts["columns"] += len(batch)
                self._take(best, outbox)
                return True
        self.counts["rows"] += len(batch)
        self._take(batch, outbox)
        return True

    def _best(self, batch: Batch) -> Batch | None:
        """The records of a batch that may be among the first of their windows; None where columns cannot say. Of equal
        ones all stay: which come first is decided by rows.
        """
        frame = self._order.columns(batch)
        if frame is None:
            return None
        best = frame.clear() if not self._limit else _with_ties(frame, self._limit, descending=self._order.descending)
        return Batch.from_frame(self._task.schema, best, timed=self._task.collection.timed, partition=batch.partition)

    def _take(self, batch: Batch, outbox: Outbox) -> None:
        for each in self._order.ranked(batch, outbox):
            ranked = self._of(each[2])
            ranked.append(each)
            if len(ranked) > 2 * self._limit + _SPARE_OF_WINDOW:
                ranked[:] = self._order.first(ranked)

    def _of(self, row: Row) -> list[_Ranked]:
        """The records of the row's window."""
        window: Any = row[self._window]
        return self._windows.setdefault(window, [])

    def advance(self, watermark: int, outbox: Outbox) -> bool:
        """Closes windows in the order of their ends."""
        return self._pending.give(outbox, lambda: self._closed(watermark, outbox))

    def _closed(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        timed, width = self._task.collection.timed, len(self._task.schema.fields)
        rows: list[Row] = []
        for window in sorted(self._windows, key=itemgetter(1)):
            if not is_closed(window[1], self._lateness, watermark):
                break
            self._order.tell(outbox)
            hidden = (window[1] - 1, NEVER) if timed else ()
            rows.extend((*row[:width], *hidden) for _, _, row in self._order.first(self._windows.pop(window)))
        yield from chunks(self._task.schema, rows, self._context.rows, timed=timed)

    def finish(self, outbox: Outbox) -> bool:
        self._order.tell(outbox)
        return True

    def save(self) -> Mapping[int, bytes]:
        rows = [row for ranked in self._windows.values() for _, _, row in ranked]
        return {0: pack((rows, self._order.told))}

    def restore(self, state: Mapping[int, bytes]) -> None:
        for data in state.values():
            rows, told = unpack(data)
            if told:
                self._order.tell(None)
            for each in self._order.ranked(self._order.batch(rows), None):
                self._of(each[2]).append(each)


def _with_ties(frame: pl.DataFrame, limit: int, *, descending: bool) -> pl.DataFrame:
    """The records that come in the order `@by` of their window no later than the last one asked for; all of a window
    that has no such one.
    """
    end, by = pl.col("window").struct.field("end").alias("@end"), pl.col("@by")
    last = by.sort(descending=descending, nulls_last=True).slice(limit - 1, 1).first().alias("@last")
    bounds = frame.group_by(end).agg(last)
    bounded = frame.with_columns(end).join(bounds, on="@end", how="left", maintain_order="left")
    early = by >= pl.col("@last") if descending else by <= pl.col("@last")
    return bounded.filter(pl.col("@last").is_null() | early).drop("@end", "@last")


def _never(stage: str, record: object, reason: object, detail: str) -> None:
    """What has been accepted before does not fail again."""
