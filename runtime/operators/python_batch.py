"""Users' Python functions by batch: an Arrow table in, as many records out, in the same order.

Where a call fails, or gives what does not fit, the batch is replayed record by record, so that only the bad ones become
dead letters. Results in exactly the columns that are asked for go on as columns; others are checked value by value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import polars as pl
import pyarrow as pa

from ghcm.functions import Failure
from ghcm.runtime.contract import Context, Operator, Outbox
from ghcm.runtime.data.batch import TIME, WATERMARK, Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.arrow import conform, to_arrow
from ghcm.runtime.native.python import exchange_of
from ghcm.runtime.operators.batches import Pending
from ghcm.runtime.operators.dead_letters import DeadLetters
from ghcm.schemas.arrow import arrow_type
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import PythonBatch
from ghcm.types import Bool, Bytes, Collection, Float, Int, Int32, String, Struct, is_nullable, strip

_LONGEST_DETAIL = 2000
_PLAIN = Bool | Int | Int32 | Float | String | Bytes


class _Wrong(Exception):
    """A result that does not fit."""


class PythonBatchOperator(Operator):
    """Calls the function with whole batches. Stateless."""

    def __init__(self, task: Task, op: PythonBatch, unit: Unit, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._function = cast("Callable[[pa.Table], object]", getattr(context.load(op.module), op.function))
        self._context = context
        self._task = task
        self._takes = unit.task(task.inputs[0].producer).collection
        self._exchange = exchange_of(task.collection.element)
        self._letters = DeadLetters(unit, task)
        self._pending = Pending()

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        return self._pending.give(outbox, lambda: self._given(batch, outbox))

    def _given(self, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        table = to_arrow(batch.frame(), self._takes.columns)
        if self._context.form != "rows":
            made = self._whole(batch, table)
            if made is not None:
                self.counts["columns"] += len(batch)
                yield made
                return
        self.counts["rows"] += len(batch)
        rows = [row for index in range(len(batch)) for row in self._one(batch.rows()[index], table, index, outbox)]
        yield self._batch(rows, batch)

    def _batch(self, rows: list[Row], batch: Batch) -> Batch:
        schema, timed = self._task.schema, self._task.collection.timed
        return Batch.from_rows(schema, rows, timed=timed, partition=batch.partition)

    def _whole(self, batch: Batch, table: pa.Table) -> Batch | None:
        """The result of one call; None where it fails or does not fit."""
        try:
            given = self._function(table)
            frame = _as_frame(given, self._task.collection, len(batch))
            if frame is None:
                rows = [self._row(each) for each in _records(given, self._task.collection, len(batch))]
                hidden = batch.rows() if batch.timed else ()
                return self._batch(
                    [(*row, *old[-2:]) for row, old in zip(rows, hidden, strict=True)] if hidden else rows, batch
                )
        except Exception:  # whatever it is, the replay says which record it is about
            return None
        if self._task.collection.timed:
            frame = frame.hstack(batch.frame().select(TIME, WATERMARK))
        timed = self._task.collection.timed
        return Batch.from_frame(self._task.schema, frame, timed=timed, partition=batch.partition)

    def _one(self, row: Row, table: pa.Table, index: int, outbox: Outbox) -> Iterator[Row]:
        """The result for one record, or its dead letter."""
        try:
            given = self._function(table.slice(index, 1))
        except Exception as error:  # whatever a user's function raises is this record's failure
            detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            self._dead(row, Failure.PYTHON, detail, outbox)
            return
        try:
            made = self._row(_records(given, self._task.collection, 1)[0])
        except (_Wrong, TypeError, ValueError, OverflowError, pa.ArrowException) as error:
            self._dead(row, Failure.WRONG_RESULT, str(error), outbox)
            return
        yield (*made, *row[-2:]) if self._task.collection.timed else made

    def _row(self, record: object) -> Row:
        value = self._exchange.take(record)
        return cast("Row", value) if isinstance(self._task.collection.element, Struct) else (value,)

    def _dead(self, row: Row, reason: Failure, detail: str, outbox: Outbox) -> None:
        width = len(self._takes.columns.fields)
        record = tuple(row[:width]) if isinstance(self._takes.element, Struct) else row[0]
        self._letters.other(outbox, record, self._takes.element, reason, detail[:_LONGEST_DETAIL])


def _as_frame(given: object, wanted: Collection, count: int) -> pl.DataFrame | None:
    """The result as columns, where it has exactly those that are asked for and these need no look at every value."""
    if not isinstance(given, pa.Table | pa.RecordBatch) or given.num_rows != count:
        return None
    table = given if isinstance(given, pa.Table) else pa.Table.from_batches([given])
    fields = wanted.columns.fields
    if table.column_names != [field.name for field in fields]:
        return None
    for field, column in zip(fields, table.columns, strict=True):
        missing = column.null_count and not is_nullable(field.type)
        if not isinstance(strip(field.type), _PLAIN) or column.type != arrow_type(field.type) or missing:
            return None
    return conform(table, wanted.columns, "")


def _records(given: object, wanted: Collection, count: int) -> list[object]:
    """The records of a result as Python's own objects; `_Wrong` where they are not as many as were given."""
    match given:
        case pa.Table() | pa.RecordBatch():
            rows = cast("list[dict[str, object]]", given.to_pylist(maps_as_pydicts="strict"))
            found = [each if isinstance(wanted.element, Struct) else _only(each) for each in rows]
        case pa.Array() | pa.ChunkedArray():
            found = cast("list[object]", given.to_pylist(maps_as_pydicts="strict"))
        case list():
            found = cast("list[object]", given)
        case _:
            raise _Wrong(f"expected a table, an array or a list, found {type(given).__name__}")
    if len(found) != count:
        raise _Wrong(f"expected {count} records, found {len(found)}")
    return found


def _only(row: dict[str, object]) -> object:
    if len(row) != 1:
        raise _Wrong(f"expected one column, found {len(row)}")
    return next(iter(row.values()))
