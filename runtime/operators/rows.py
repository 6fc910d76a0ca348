"""Operations on records: filter, map and their kind, alone or fused, through generated code in the form that suits the
batch; users' Python functions by batch, and async ones; and unions, which pass batches on.

A function takes an Arrow table and gives as many records, in the same order. Where a call fails, or gives what does not
fit, the batch is replayed record by record, so that only the bad ones become dead letters. Results in exactly the
columns that are asked for go on as columns; others are checked value by value.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from operator import itemgetter
from typing import cast

import polars as pl
import pyarrow as pa

from ghcm import types
from ghcm.functions import Failure
from ghcm.runtime.contract import Context, Outbox
from ghcm.runtime.data.batch import TIME, WATERMARK, Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.tables import conform, to_arrow
from ghcm.runtime.native.code import RowCode
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.schemas.arrow import arrow_type
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import PythonAsync, PythonBatch
from ghcm.values.awaited import AsyncFunction, Awaiting, Limits, Raised
from ghcm.values.exchange import exchange_of
from ghcm.values.texts import writable

_LONGEST_DETAIL = 2000
_PLAIN = types.Bool | types.Bytes | types.Float | types.Int | types.Int32 | types.String


class ChainOperator(TaskOperator):
    """A chain of operations on single records that gives no event time. Stateless; a batch gives at most a batch, cut
    where it grew beyond what edges like.
    """

    def __init__(self, task: Task, unit: Unit, code: RowCode, context: Context) -> None:
        super().__init__(task, unit, context)
        self._code = code
        self._functions = [context.function(*each.split(":")) for each in code.functions]

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        dead = self._dead_to(outbox)

        def rows(piece: Batch) -> list[Row]:
            return self._code.rows(piece.rows(), dead, self._parameters, self._functions)

        columns = None if self._code.columns is None else self._columns
        yield from self._cut(self._in_form(batch, columns, rows), max(self._context.rows, len(batch)) * 8)

    def _columns(self, batch: Batch) -> pl.DataFrame | None:
        assert self._code.columns is not None
        return self._code.columns(batch.frame(), self._parameters)


class UnionOperator(TaskOperator):
    """Passes batches on as they are, without their time where not every input has one."""

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        self.counts["columns" if batch.columnar else "rows"] += len(batch)
        yield self._fitting(batch, batch.partition)


class PythonAsyncOperator(TaskOperator):
    """Calls an async function for each record, and takes no more of them before all of a batch have their results, so
    that no barrier passes records that are under way. Stateless.
    """

    def __init__(self, task: Task, op: PythonAsync, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._ordered = op.ordered
        self._hand = exchange_of(self._takes.element).hand
        self._take = exchange_of(task.collection.element).take
        function = cast("AsyncFunction", context.function(op.module, op.function))
        self._awaiting = Awaiting(function, Limits(op.parallel, op.timeout_us, op.retries), f"{unit.name}-{task.id}")

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        rows = batch.rows()
        self.counts["rows"] += len(rows)
        results = self._awaiting.results([self._hand(self._record(row)) for row in rows])
        for some in [sorted(chain.from_iterable(results), key=itemgetter(0))] if self._ordered else results:
            made = [row for place, outcome in some for row in self._made(rows[place], outcome, outbox)]
            yield from self._cut(self._batch(made, batch.partition))

    def _made(self, row: Row, outcome: object, outbox: Outbox) -> Iterator[Row]:
        """The row of a result, or a dead letter."""
        reason, detail = Failure.PYTHON, ""
        made: Row = ()
        if isinstance(outcome, Raised):
            detail = f"{type(outcome.error).__name__}: {outcome.error}".rstrip(": ")
        else:
            try:
                value = self._take(outcome)
                made = cast("Row", value) if isinstance(self._task.collection.element, types.Struct) else (value,)
            except (TypeError, ValueError, OverflowError) as error:
                reason, detail = Failure.WRONG_RESULT, str(error)
        if detail:
            text = writable(detail[:_LONGEST_DETAIL])
            self._dead(outbox, self._record(row), self._takes.element, reason, text)
        else:
            yield (*made, *row[-2:]) if self._timed else made

    def close(self) -> None:
        """End all calls."""
        self._awaiting.close()


class _Wrong(Exception):
    """A result that does not fit."""


class PythonBatchOperator(TaskOperator):
    """Calls the function with whole batches. Stateless."""

    def __init__(self, task: Task, op: PythonBatch, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._function = cast("Callable[[pa.Table], object]", context.function(op.module, op.function))
        self._exchange = exchange_of(task.collection.element)

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        table = to_arrow(batch.frame(), self._takes.columns)
        made = self._whole(batch, table) if self._context.form != "rows" else None
        self.counts["rows" if made is None else "columns"] += len(batch)
        if made is None:
            rows = [row for index in range(len(batch)) for row in self._one(batch.rows()[index], table, index, outbox)]
            made = self._batch(rows, batch.partition)
        yield made

    def _whole(self, batch: Batch, table: pa.Table) -> Batch | None:
        """The result of one call; None where it fails or does not fit."""
        try:
            given = self._function(table)
            frame = _as_frame(given, self._task.collection, len(batch))
            if frame is None:
                rows = [self._row(each) for each in _records(given, self._task.collection, len(batch))]
                hidden = batch.rows() if batch.timed else ()
                timed = [(*row, *old[-2:]) for row, old in zip(rows, hidden, strict=True)] if hidden else rows
                return self._batch(timed, batch.partition)
        except Exception:  # whatever it is, the replay says which record it is about
            return None
        if self._timed:
            frame = frame.hstack(batch.frame().select(TIME, WATERMARK))
        return self._framed(frame, batch.partition)

    def _one(self, row: Row, table: pa.Table, index: int, outbox: Outbox) -> Iterator[Row]:
        """The result for one record, or its dead letter."""
        try:
            given = self._function(table.slice(index, 1))
        except Exception as error:  # whatever a user's function raises is this record's failure
            detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            self._failed(row, Failure.PYTHON, detail, outbox)
            return
        try:
            made = self._row(_records(given, self._task.collection, 1)[0])
        except (_Wrong, TypeError, ValueError, OverflowError, pa.ArrowException) as error:
            self._failed(row, Failure.WRONG_RESULT, str(error), outbox)
            return
        yield (*made, *row[-2:]) if self._timed else made

    def _row(self, record: object) -> Row:
        value = self._exchange.take(record)
        return cast("Row", value) if isinstance(self._task.collection.element, types.Struct) else (value,)

    def _failed(self, row: Row, reason: Failure, detail: str, outbox: Outbox) -> None:
        self._dead(outbox, self._record(row), self._takes.element, reason, writable(detail[:_LONGEST_DETAIL]))


def _as_frame(given: object, wanted: types.Collection, count: int) -> pl.DataFrame | None:
    """The result as columns, where it has exactly those that are asked for and these need no look at every value."""
    if not isinstance(given, pa.Table | pa.RecordBatch) or given.num_rows != count:
        return None
    table = given if isinstance(given, pa.Table) else pa.Table.from_batches([given])
    fields = wanted.columns.fields
    if table.column_names != [field.name for field in fields]:
        return None
    for field, column in zip(fields, table.columns, strict=True):
        missing = column.null_count and not types.is_nullable(field.type)
        plain = isinstance(types.strip(field.type), _PLAIN)
        if not plain or column.type != arrow_type(field.type) or missing:
            return None
    return conform(table, wanted.columns, "")


def _records(given: object, wanted: types.Collection, count: int) -> list[object]:
    """The records of a result as Python's own objects; `_Wrong` where they are not as many as were given."""
    match given:
        case pa.Table() | pa.RecordBatch():
            rows = cast("list[dict[str, object]]", given.to_pylist(maps_as_pydicts="strict"))
            found = [each if isinstance(wanted.element, types.Struct) else _only(each) for each in rows]
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
