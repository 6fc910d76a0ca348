"""Row operations: filter, map and their kind, alone or fused, through generated code in the form that suits the batch;
and unions, which pass batches on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ghcm.runtime.contract import Context, Operator, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import in_columns
from ghcm.runtime.native.code import RowCode
from ghcm.runtime.operators.batches import Pending, columnar, in_pieces
from ghcm.runtime.operators.dead_letters import DeadLetters
from ghcm.spg.graph import Task, Unit


class ChainOperator(Operator):
    """A chain of row operations. Stateless; a batch gives at most a batch, cut where it grew beyond what edges like."""

    def __init__(self, task: Task, unit: Unit, code: RowCode, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._code = code
        self._context = context
        self._schema = task.schema
        self._timed = task.collection.timed
        self._letters = DeadLetters(unit, task)
        self._functions = [_load(each, context) for each in code.functions]
        self._pending = Pending()

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        return self._pending.give(outbox, lambda: self._given(batch, outbox))

    def _given(self, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        made = self._made(batch, outbox)
        most = max(self._context.rows, len(batch)) * 8
        for start in range(0, len(made), most):
            yield made.slice(start, start + most)

    def _made(self, batch: Batch, outbox: Outbox) -> Batch:
        if self._code.columns is None or not columnar(batch, self._context):
            return self._rows(batch, outbox)
        return in_pieces(batch, self._context.columnar_from, self._columns, lambda piece: self._rows(piece, outbox))

    def _columns(self, batch: Batch) -> Batch | None:
        columns, parameters = self._code.columns, self._context.parameters
        assert columns is not None
        frame = in_columns(lambda: columns(batch.frame(), parameters))
        if frame is None:
            return None
        self.counts["columns"] += len(batch)
        return Batch.from_frame(self._schema, frame, timed=self._timed, partition=batch.partition)

    def _rows(self, batch: Batch, outbox: Outbox) -> Batch:
        self.counts["rows"] += len(batch)
        dead = self._letters.to(outbox)
        rows = self._code.rows(batch.rows(), dead, self._context.parameters, self._functions)
        return Batch.from_rows(self._schema, rows, timed=self._timed, partition=batch.partition)


def _load(name: str, context: Context) -> Callable[[object], object]:
    module, function = name.split(":")
    loaded: Callable[[object], object] = getattr(context.load(module), function)
    return loaded


class UnionOperator(Operator):
    """Passes batches on as they are, without their time where not every input has one."""

    def __init__(self, task: Task) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._schema = task.schema
        self._timed = task.collection.timed

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
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
