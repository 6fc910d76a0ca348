"""Distinct: each different record once, per window where there are windows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ghcm.runtime.contract import INFINITY, NEVER, Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row, in_columns
from ghcm.runtime.data.key_groups import grouping, key_type
from ghcm.runtime.data.keys import identity_of
from ghcm.runtime.operators.event_time import lateness_of
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.state.packing import key_groups, unpack
from ghcm.spg.graph import Task, Unit


class DistinctOperator(TaskOperator):
    """Gives a record on when it sees it for the first time. What it has seen of a window is forgotten when the window
    closes.
    """

    def __init__(self, task: Task, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._window = task.schema.index("window") if task.collection.windowed else None
        self._identity = identity_of(task.schema)
        self._lateness = lateness_of(task, unit)
        self._seen: dict[int, dict[object, Row]] = {}

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        fresh = [row for row in self._candidates(batch) if self._is_new(row)]
        if self._timed:
            fresh = [(*row, self._end(row) - 1, NEVER) for row in fresh]
        yield from self._cut(self._batch(fresh))

    def _candidates(self, batch: Batch) -> Sequence[Row]:
        """The records, those that repeat within the batch perhaps left out."""
        if self._columnar(batch):
            names = list(self._schema.names)
            frame = in_columns(lambda: batch.frame().select(names).unique(maintain_order=True))
            if frame is not None:
                self.counts["columns"] += len(batch)
                return Batch.from_frame(self._schema, frame).rows()
        self.counts["rows"] += len(batch)
        width = len(self._schema.fields)
        return [row[:width] for row in batch.rows()]

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

    def advance(self, watermark: int, outbox: Outbox) -> Iterable[Batch]:
        for end in [end for end in self._seen if end + self._lateness <= watermark]:
            del self._seen[end]
        return ()

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: the records seen, by their key groups."""
        rows = (row for seen in self._seen.values() for row in seen.values())
        of_key = grouping(key_type(self._schema, ()), self._context.groups)
        only = len(self._schema.fields) == 1
        return key_groups(rows, lambda row: of_key(row[0] if only else row), change=False)

    def restore(self, state: Mapping[int, bytes]) -> None:
        for data in state.values():
            for row in unpack(data):
                self._is_new(row)
