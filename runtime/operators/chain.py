"""Row operations: filter, map and their kind, alone or fused, through generated code in the form that suits the
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import polars as pl

from ghcm.runtime.contract import Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.native.code import RowCode
from ghcm.runtime.operators.letters import Letters
from ghcm.runtime.operators.pending import Pending
from ghcm.runtime.operators.pieces import in_pieces
from ghcm.spg.graph import Task, Unit


def columnar(batch: Batch, context: Context) -> bool:
    """Whether a batch is to be done in columnar form, where there is one."""
    match context.form:
        case "rows":
            return False
        case "columns":
            return True
        case "auto":
            return len(batch) >= context.columnar_from


def in_columns(make: Callable[[], pl.DataFrame | None]) -> pl.DataFrame | None:
    """The frame, or None where a record failed or Polars gave up: then the batch is done by rows."""
    try:
        return make()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


class ChainOperator:
    """A chain of row operations. Stateless; a batch gives at most a batch, cut where it grew beyond what edges like."""

    def __init__(self, task: Task, unit: Unit, code: RowCode, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._code = code
        self._context = context
        self._schema = task.schema
        self._timed = task.collection.timed
        self._letters = Letters(unit, task)
        self._functions = [_load(each, context) for each in code.functions]
        self._pending = Pending()

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        """As `Operator.process`."""
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


def _load(name: str, context: Context) -> Callable[[object], object]:
    module, function = name.split(":")
    loaded: Callable[[object], object] = getattr(context.load(module), function)
    return loaded
