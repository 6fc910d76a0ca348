"""Each different record once, per window where there are windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ghcm.runtime.contract import INFINITY, NEVER, Context, Operator, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row, in_columns
from ghcm.runtime.data.keys import grouping, identity_of
from ghcm.runtime.operators.batches import Pending, chunks, columnar
from ghcm.runtime.operators.event_time import lateness_of
from ghcm.runtime.state.packing import LazyKeyGroups, unpack
from ghcm.spg.graph import Task, Unit


class DistinctOperator(Operator):
    """Gives a record on when it sees it for the first time. What it has seen of a window is forgotten when the window
    closes.
    """

    def __init__(self, task: Task, unit: Unit, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._task = task
        self._context = context
        self._width = len(task.schema.fields)
        self._window = task.schema.index("window") if task.collection.windowed else None
        self._identity = identity_of(task.schema)
        self._lateness = lateness_of(task, unit)
        self._seen: dict[int, dict[object, Row]] = {}
        self._pending = Pending()

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        return self._pending.give(outbox, lambda: self._given(batch))

    def _given(self, batch: Batch) -> Iterator[Batch]:
        rows = self._candidates(batch)
        fresh = [row for row in rows if self._is_new(row)]
        if self._task.collection.timed:
            fresh = [(*row, self._time(row), NEVER) for row in fresh]
        yield from chunks(self._task.schema, fresh, self._context.rows, timed=self._task.collection.timed)

    def _candidates(self, batch: Batch) -> list[Row]:
        """The records, those that repeat within the batch perhaps left out."""
        if columnar(batch, self._context):
            names = list(self._task.schema.names)
            frame = in_columns(lambda: batch.frame().select(names).unique(maintain_order=True))
            if frame is not None:
                self.counts["columns"] += len(batch)
                return list(Batch.from_frame(self._task.schema, frame).rows())
        self.counts["rows"] += len(batch)
        return [row[: self._width] for row in batch.rows()]

    def _is_new(self, row: Row) -> bool:
        identity = self._identity(row) if self._identity is not None else row
        seen = self._seen.setdefault(self._end(row), {})
        if identity in seen:
            return False
        seen[identity] = row
        return True

    def _end(self, row: Row) -> int:
        if self._window is None:
            return INFINITY
        window: Any = row[self._window]
        end: int = window[1]
        return end

    def _time(self, row: Row) -> int:
        return self._end(row) - 1

    def advance(self, watermark: int, outbox: Outbox) -> bool:
        for end in [end for end in self._seen if end + self._lateness <= watermark]:
            del self._seen[end]
        return True

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: the records seen, by their key groups."""
        rows = (row for seen in self._seen.values() for row in seen.values())
        return LazyKeyGroups(rows, grouping(self._task.schema, self._context.groups), change=False)

    def restore(self, state: Mapping[int, bytes]) -> None:
        for data in state.values():
            for row in unpack(data):
                self._is_new(row)
