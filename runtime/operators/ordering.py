"""Sort and top: the records of bounded input in order, given on when the input has ended; and the first records of each
window, given on when it closes.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

import polars as pl

from ghcm.runtime.contract import NEVER, Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row, in_columns
from ghcm.runtime.native.code import OrderCode
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators.event_time import is_closed, lateness_of
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Sort, Top
from ghcm.types import Null

_Ranked: TypeAlias = tuple[Any, Any, Row]
"""A row behind what it is ordered by, and what ties are."""
_SPARE, _SPARE_OF_WINDOW = 4096, 64


class _Ordered(TaskOperator):
    """Knows the order of a task, and how many records of it are asked for (None: all)."""

    def __init__(self, task: Task, op: Sort | Top, unit: Unit, code: OrderCode, context: Context) -> None:
        super().__init__(task, unit, context)
        self._descending = op.descending
        self._limit: int | None = None
        self._code = code
        self._failed: RecordFailure | None = None
        if code.count is not None:
            try:
                count = code.count(self._parameters)
                self._limit = max(0, count) if isinstance(count, int) else 0
            except RecordFailure as failure:
                self._failed, self._limit = failure, 0

    def _tell(self, outbox: Outbox) -> None:
        """Say once why nothing is counted."""
        failed, self._failed = self._failed, None
        if failed is not None:
            self._dead(outbox, None, Null(), failed.reason, failed.detail)

    def _keyed_frame(self, batch: Batch) -> pl.DataFrame | None:
        """The batch with its keys as the column `@by`; None where columns cannot say."""
        columns = self._code.columns
        if columns is None or not self._columnar(batch):
            return None
        return in_columns(lambda: columns(batch.frame(), self._parameters))

    def _rank(self, rows: Sequence[Row], outbox: Outbox | None) -> list[_Ranked]:
        """The rows with their keys; those that fail are dead letters unless they were before (no outbox)."""
        dead = _never if outbox is None else self._dead_to(outbox)
        keys = self._code.by(rows, dead, self._parameters)
        return [(key[0], key[1], row) for key, row in zip(keys, rows, strict=True) if key is not None]

    def _first(self, ranked: Sequence[_Ranked]) -> list[_Ranked]:
        """As many as are asked for, in order."""
        ordered = sorted(ranked, key=itemgetter(1))
        ordered.sort(key=itemgetter(0), reverse=self._descending)
        return ordered if self._limit is None else ordered[: self._limit]


class OrderOperator(_Ordered):
    """Keeps records with their sort keys; of a top no more than twice its count and some. Frames stay frames until a
    row comes.
    """

    def __init__(self, task: Task, op: Sort | Top, unit: Unit, code: OrderCode, context: Context) -> None:
        super().__init__(task, op, unit, code, context)
        self._nulls_last = isinstance(op, Top) or op.descending
        self._most = None if self._limit is None else 2 * self._limit + _SPARE
        self._ranked: list[_Ranked] = []
        self._frames: list[pl.DataFrame] = []

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        frame = self._keyed_frame(batch)
        if frame is not None:
            self.counts["columns"] += len(batch)
            self._frames.append(frame)
            if self._most is not None and sum(each.height for each in self._frames) > self._most:
                self._frames = [self._frame_in_order()]
            return ()
        self.counts["rows"] += len(batch)
        self._take_rows(batch.rows(), outbox)
        return ()

    def _take_rows(self, rows: Sequence[Row], outbox: Outbox | None) -> None:
        self._ranked += self._rank(rows, outbox)
        if self._most is not None and len(self._ranked) > self._most:
            self._ranked = self._first(self._ranked)

    def _frame_in_order(self) -> pl.DataFrame:
        names = list(self._schema.names)
        others = [False] * len(names)
        ordered = pl.concat(self._frames).sort(
            ["@by", *names],
            descending=[self._descending, *others],
            nulls_last=[self._nulls_last, *others],
            maintain_order=True,
        )
        return ordered if self._limit is None else ordered.head(self._limit)

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        self._tell(outbox)
        if self._frames and not self._ranked:
            frame, self._frames = self._frame_in_order(), []
            yield from self._cut(self._framed(frame))
            return
        frames, self._frames = self._frames, []
        for frame in frames:
            self._take_rows(self._framed(frame).rows(), outbox)
        ranked, self._ranked = self._first(self._ranked), []
        yield from self._cut(self._batch([row for _, _, row in ranked]))

    def _kept(self) -> object:
        rows = [row for _, _, row in self._ranked]
        for frame in self._frames:
            rows += self._framed(frame).rows()
        return rows or None

    def _put_back(self, kept: Any) -> None:
        self._take_rows(kept, None)


class WindowTopOperator(_Ordered):
    """Keeps of each window no more than twice as many records as are asked for, and some."""

    def __init__(self, task: Task, op: Top, unit: Unit, code: OrderCode, context: Context) -> None:
        super().__init__(task, op, unit, code, context)
        self._count = self._limit or 0
        self._window = task.schema.index("window")
        self._lateness = lateness_of(task, unit)
        self._windows: dict[tuple[int, int], list[_Ranked]] = {}

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        frame = self._keyed_frame(batch)
        self.counts["rows" if frame is None else "columns"] += len(batch)
        if frame is not None:  # of equal ones all stay: which come first is decided by rows
            batch = self._framed(self._with_ties(frame) if self._count else frame.clear())
        for each in self._rank(batch.rows(), outbox):
            ranked = self._of(each[2])
            ranked.append(each)
            if len(ranked) > 2 * self._count + _SPARE_OF_WINDOW:
                ranked[:] = self._first(ranked)
        return ()

    def _with_ties(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The records that come in the order `@by` of their window no later than the last one asked for; all of a
        window that has no such one.
        """
        end, by = pl.col("window").struct.field("end").alias("@end"), pl.col("@by")
        last = by.sort(descending=self._descending, nulls_last=True).slice(self._count - 1, 1).first().alias("@last")
        bounds = frame.group_by(end).agg(last)
        bounded = frame.with_columns(end).join(bounds, on="@end", how="left", maintain_order="left")
        early = by >= pl.col("@last") if self._descending else by <= pl.col("@last")
        return bounded.filter(pl.col("@last").is_null() | early).drop("@end", "@last")

    def _of(self, row: Row) -> list[_Ranked]:
        """The records of the row's window."""
        window: Any = row[self._window]
        return self._windows.setdefault(window, [])

    def advance(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        """Closes windows in the order of their ends."""
        width = len(self._schema.fields)
        rows: list[Row] = []
        for window in sorted(self._windows, key=itemgetter(1)):
            if not is_closed(window[1], self._lateness, watermark):
                break
            self._tell(outbox)
            hidden = (window[1] - 1, NEVER) if self._timed else ()
            rows.extend((*row[:width], *hidden) for _, _, row in self._first(self._windows.pop(window)))
        yield from self._cut(self._batch(rows))

    def finish(self, outbox: Outbox) -> Iterable[Batch]:
        self._tell(outbox)
        return ()

    def _kept(self) -> object:
        return [row for ranked in self._windows.values() for _, _, row in ranked], self._failed is None

    def _put_back(self, kept: Any) -> None:
        rows, told = kept
        if told:
            self._failed = None
        for each in self._rank(rows, None):
            self._of(each[2]).append(each)


def _never(stage: str, record: object, reason: object, detail: str) -> None:
    """What has been accepted before does not fail again."""
