"""What the operators of all tasks have: the two forms of work, the batches that they give, dead letters with unit,
position and JSON text, and state that is one value.

The columnar form says that some record fails, not which. So a batch is halved until the pieces that fail are small.
Where failing records are so many that this does not pay, what is left is done by rows as it is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from ghcm.functions import Failure
from ghcm.runtime.contract import Context, Operator, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row, in_columns
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.state.packing import pack, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Fused
from ghcm.types import Collection, Struct, Type
from ghcm.values import encode

_SPARE_TRIES = 4


class TaskOperator(Operator):
    """The operator of one task. `counts`: records done in each form. One whose state is a single value without a key
    says which (`_kept`) and takes it back (`_put_back`); others have a `save` and a `restore` of their own.
    """

    def __init__(self, task: Task, unit: Unit, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._task = task
        self._context = context
        self._parameters = context.parameters
        self._schema = task.schema
        self._timed = task.collection.timed
        self._sides = [unit.task(edge.producer).collection for edge in task.inputs]
        self._takes = self._sides[0]
        self._unit = unit.name
        self._stages: dict[str, tuple[Type, str]] = {task.id: (self._takes.element, str(task.origin))}
        if isinstance(task.op, Fused):
            taken = self._takes.element
            for stage in task.op.stages:
                self._stages[stage.id] = (taken, stage.origin)
                taken = stage.element

    # --- forms -------------------------------------------------------------------------------------------------------

    def _columnar(self, batch: Batch) -> bool:
        """Whether a batch is to be done in columnar form, where there is one."""
        form = self._context.form
        return form == "columns" or (form == "auto" and len(batch) >= self._context.columnar_from)

    def _in_form(
        self, batch: Batch, columns: Callable[[Batch], pl.DataFrame | None] | None, rows: Callable[[Batch], list[Row]]
    ) -> Batch:
        """What becomes of a batch in the form that suits it. `columns` gives None where a record fails."""
        least = self._context.columnar_from

        def by_columns(piece: Batch) -> Batch | None:
            assert columns is not None
            frame = in_columns(partial(columns, piece))
            if frame is None:
                return None
            self.counts["columns"] += len(piece)
            return self._framed(frame, piece.partition)

        def by_rows(piece: Batch) -> Batch:
            self.counts["rows"] += len(piece)
            return self._batch(rows(piece), piece.partition)

        if columns is None or not self._columnar(batch):
            return by_rows(batch)
        return _in_pieces(batch, least, by_columns, by_rows)

    # --- batches -----------------------------------------------------------------------------------------------------

    def _batch(self, rows: Sequence[Row], partition: str = "") -> Batch:
        return Batch.from_rows(self._schema, rows, timed=self._timed, partition=partition)

    def _framed(self, frame: pl.DataFrame, partition: str = "") -> Batch:
        return Batch.from_frame(self._schema, frame, timed=self._timed, partition=partition)

    def _cut(self, batch: Batch, most: int | None = None) -> Iterator[Batch]:
        """The batch in parts of `most` records, or as many as the context says."""
        size = most or self._context.rows
        for start in range(0, len(batch), size):
            yield batch.slice(start, start + size)

    def _gathered(self, given: Iterable[Sequence[Row]], partition: str = "") -> Iterator[Batch]:
        """Batches of the rows that each record gives, one as soon as there are enough."""
        rows: list[Row] = []
        for each in given:
            rows += each
            if len(rows) >= self._context.rows:
                yield self._batch(rows, partition)
                rows = []
        if rows:
            yield self._batch(rows, partition)

    def _fitting(self, batch: Batch, partition: str) -> Batch:
        """A batch of another task with the columns of this one, without event time where this has none."""
        if (batch.timed, batch.schema, batch.partition) == (self._timed, self._schema, partition):
            return batch
        if batch.columnar:
            return self._framed(batch.frame(), partition)
        width = len(self._schema.fields)
        same = batch.timed == self._timed
        return self._batch(batch.rows() if same else [row[:width] for row in batch.rows()], partition)

    # --- dead letters ------------------------------------------------------------------------------------------------

    def _record(self, row: Row) -> object:
        """The record of the first input that a row is, as a canonical value."""
        return row[: len(self._takes.columns.fields)] if isinstance(self._takes.element, Struct) else row[0]

    def _dead_to(self, outbox: Outbox) -> Callable[[str, object, Failure, str], None]:
        """What generated code calls with a failed record."""

        def dead(stage: str, record: object, reason: Failure, detail: str) -> None:
            type_, origin = self._stages[stage]
            outbox.dead(DeadLetter(self._unit, stage, reason, detail, encode(record, type_), origin))

        return dead

    def _dead(self, outbox: Outbox, value: object, type_: Type, reason: Failure, detail: str) -> None:
        """A letter whose input may be of any type: a record, a group, a joined pair, nothing."""
        text = encode(value, type_)
        outbox.dead(DeadLetter(self._unit, self._task.id, reason, detail, text, str(self._task.origin)))

    def _kept(self) -> object:
        """The state; None for none."""
        return None

    def _put_back(self, kept: Any) -> None:
        del kept  # what keeps nothing takes nothing

    def save(self) -> Mapping[int, bytes]:
        kept = self._kept()
        return {} if kept is None else {0: pack(kept)}

    def restore(self, state: Mapping[int, bytes]) -> None:
        for data in state.values():
            self._put_back(unpack(data))


def _in_pieces(
    batch: Batch, least: int, columns: Callable[[Batch], Batch | None], rows: Callable[[Batch], Batch]
) -> Batch:
    """What becomes of a batch. Both are called on pieces in the order of their records, `columns` first with the
    whole. Pieces of fewer than `least` records are not made.
    """
    made: list[Batch] = []
    left = [batch]
    tries = 2 * (len(batch) // max(least, 1)).bit_length() + _SPARE_TRIES
    while left:
        piece = left.pop()
        done = columns(piece) if tries else None
        if done is None and tries and len(piece) >= 2 * least:
            middle = len(piece) // 2
            left += [piece.slice(middle, len(piece)), piece.slice(0, middle)]
        else:
            made.append(rows(piece) if done is None else done)
        tries = max(0, tries - 1)
    if len(made) == 1:
        return made[0]
    some = [each for each in made if len(each)] or made[:1]
    return some[0] if len(some) == 1 else some[0].with_frame(some[0].schema, pl.concat([e.frame() for e in some]))


def batch_of(takes: Collection, rows: Sequence[Row], partition: str = "") -> Batch:
    """Rows of an input that were kept, as a batch."""
    return Batch.from_rows(takes.columns, rows, timed=takes.timed, partition=partition)
