"""Top of each window: the first records of an order, given on when their window closes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any, TypeAlias

import polars as pl

from ghcm.runtime.contract import INFINITY, NEVER, Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.native.code import OrderCode
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators.chain import columnar, in_columns
from ghcm.runtime.operators.letters import Letters
from ghcm.runtime.operators.pending import Pending, chunks
from ghcm.runtime.operators.windows import lateness_of
from ghcm.runtime.state.packing import pack, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Top
from ghcm.types import Null

_Ranked: TypeAlias = tuple[Any, Any, Row]
_SPARE = 64


class WindowTopOperator:
    """Keeps of each window no more than twice as many records as are asked for, and some."""

    def __init__(self, task: Task, op: Top, unit: Unit, code: OrderCode, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._task = task
        self._descending = op.descending
        self._code = code
        self._context = context
        self._letters = Letters(unit, task)
        self._window = task.schema.index("window")
        self._lateness = lateness_of(task, unit)
        self._windows: dict[tuple[int, int], list[_Ranked]] = {}
        self._failed: RecordFailure | None = None
        self._limit = self._count(code)
        self._pending = Pending()

    def _count(self, code: OrderCode) -> int:
        assert code.count is not None
        try:
            count = code.count(self._context.parameters)
        except RecordFailure as failure:
            self._failed = failure
            return 0
        return max(0, count) if isinstance(count, int) else 0

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        """As `Operator.process`."""
        if self._code.columns is not None and columnar(batch, self._context):
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
        columns = self._code.columns
        assert columns is not None
        frame = in_columns(lambda: columns(batch.frame(), self._context.parameters))
        if frame is None:
            return None
        best = frame.clear() if not self._limit else _with_ties(frame, self._limit, descending=self._descending)
        return Batch.from_frame(self._task.schema, best, timed=self._task.collection.timed, partition=batch.partition)

    def _take(self, batch: Batch, outbox: Outbox) -> None:
        keys = self._code.by(batch.rows(), self._letters.to(outbox), self._context.parameters)
        for key, row in zip(keys, batch.rows(), strict=True):
            if key is None:
                continue
            window: Any = row[self._window]
            ranked = self._windows.setdefault(window, [])
            ranked.append((key[0], key[1], row))
            if len(ranked) > 2 * self._limit + _SPARE:
                self._windows[window] = self._first(ranked)

    def _first(self, ranked: list[_Ranked]) -> list[_Ranked]:
        ordered = sorted(ranked, key=itemgetter(1))
        ordered.sort(key=itemgetter(0), reverse=self._descending)
        return ordered[: self._limit]

    def advance(self, watermark: int, outbox: Outbox) -> bool:
        """As `Operator.advance`: closes windows in the order of their ends."""
        return self._pending.give(outbox, lambda: self._closed(watermark, outbox))

    def _closed(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        timed, width = self._task.collection.timed, len(self._task.schema.fields)
        rows: list[Row] = []
        for window in sorted(self._windows, key=itemgetter(1)):
            if watermark != INFINITY and window[1] + self._lateness > watermark:
                break
            self._complain(outbox)
            hidden = (window[1] - 1, NEVER) if timed else ()
            rows.extend((*row[:width], *hidden) for _, _, row in self._first(self._windows.pop(window)))
        yield from chunks(self._task.schema, rows, self._context.rows, timed=timed)

    def _complain(self, outbox: Outbox) -> None:
        """Say once why nothing is counted."""
        failed, self._failed = self._failed, None
        if failed is not None:
            self._letters.other(outbox, None, Null(), failed.reason, failed.detail)

    def flush(self, outbox: Outbox) -> bool:
        """As `Operator.flush`."""
        return True

    def finish(self, outbox: Outbox) -> bool:
        """As `Operator.finish`."""
        self._complain(outbox)
        return True

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`."""
        rows = [row for ranked in self._windows.values() for _, _, row in ranked]
        return {0: pack((rows, self._failed is None))}

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        for data in state.values():
            rows, told = unpack(data)
            self._failed = None if told else self._failed
            batch = Batch.from_rows(self._task.schema, rows, timed=self._task.collection.timed)
            for key, row in zip(self._code.by(rows, _never, self._context.parameters), batch.rows(), strict=True):
                if key is not None:
                    window: Any = row[self._window]
                    self._windows.setdefault(window, []).append((key[0], key[1], row))


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
