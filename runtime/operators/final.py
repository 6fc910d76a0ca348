"""The final pairs of a table: what it holds when its input has ended."""

from __future__ import annotations

from collections.abc import Mapping

from ghcm.runtime.contract import Context, Outbox, Table
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.operators.pending import Pending, chunks
from ghcm.spg.graph import Task


class FinalOperator:
    """Keeps nothing: at the end it reads the table where it stands, so that a value that the table gave at a commit and
    took back later is not taken for its last one.
    """

    def __init__(self, task: Task, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._schema = task.schema
        self._context = context
        self._table: Table | None = None
        self._pending = Pending()

    def reads(self, table: Table) -> None:
        """As `TableReader.reads`."""
        self._table = table

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        """As `Operator.process`: what a table gives before its end is not final."""
        self.counts["rows"] += len(batch)
        return True

    def advance(self, watermark: int, outbox: Outbox) -> bool:
        """As `Operator.advance`."""
        return True

    def flush(self, outbox: Outbox) -> bool:
        """As `Operator.flush`."""
        return True

    def finish(self, outbox: Outbox) -> bool:
        """As `Operator.finish`: all pairs of the table."""
        table = self._table
        assert table is not None, "wired to its table"
        return self._pending.give(outbox, lambda: chunks(self._schema, table.copy(), self._context.rows, timed=False))

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`."""
        return {}

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
