"""All records of all inputs."""

from __future__ import annotations

from collections.abc import Mapping

from ghcm.runtime.contract import Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.spg.graph import Task


class UnionOperator:
    """Passes batches on as they are, without their time where not every input has one."""

    def __init__(self, task: Task) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._schema = task.schema
        self._timed = task.collection.timed

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        """As `Operator.process`."""
        if not outbox.offer(self._fitting(batch)):
            return False
        self.counts["columns" if batch.columnar else "rows"] += len(batch)
        return True

    def _fitting(self, batch: Batch) -> Batch:
        if batch.timed == self._timed and batch.schema == self._schema:
            return batch
        if batch.columnar:
            return Batch.from_frame(self._schema, batch.frame(), timed=self._timed, partition=batch.partition)
        width = len(self._schema.fields) + (2 if self._timed else 0)
        rows = batch.rows() if batch.timed == self._timed else [row[:width] for row in batch.rows()]
        return Batch.from_rows(self._schema, rows, timed=self._timed, partition=batch.partition)

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
        """As `Operator.save`."""
        return {}

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
