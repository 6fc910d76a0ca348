"""Lookups: joins in which each left record is answered for by itself, in the order in which the records come.

The right side is kept by key. Where it ends, left records wait for its end, at the input if they can and here if not.
Where it is a table that never ends, the latest value of each key counts that the table has given on, which it does with
every commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

import polars as pl

from ghcm.runtime.contract import Context, Operator, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.keys import identity_of
from ghcm.runtime.native.code import JoinCode
from ghcm.runtime.operators.batches import Pending, columnar
from ghcm.runtime.operators.joined import JoinedRows, looked_up, side_frame
from ghcm.runtime.state.packing import pack, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.joining import JoinKind
from ghcm.spg.ops import Join
from ghcm.types import Shape

LEFT, RIGHT = 0, 1


class LookupOperator(Operator):
    """Keeps the right rows by key, of a table one for each; and the left ones that came before the right side was
    complete.
    """

    def __init__(self, task: Task, op: Join, unit: Unit, code: JoinCode, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._task = task
        self._op = op
        self._code = code
        self._context = context
        self._sides = [unit.task(edge.producer).collection for edge in task.inputs]
        self._makes = JoinedRows(task, op, unit, code, context)
        right = self._sides[RIGHT]
        self._table = right.shape is Shape.TABLE
        self._identity = identity_of(right.columns.fields[0].type) if self._table else None
        self._complete = not right.bounded
        self._numbers = count()
        self._rows: dict[object, tuple[tuple[object, ...], Row]] = {}
        self._by_key: dict[tuple[object, ...], dict[object, Row]] = {}
        self._frame: pl.DataFrame | None = None
        self._packed: bytes | None = None
        self._waiting: list[Batch] = []
        self._pending = Pending()

    def holds(self, ordinal: int) -> bool:
        return ordinal == LEFT and not self._complete

    @property
    def holding(self) -> bool:
        return bool(self._waiting)

    def ended(self, ordinal: int, outbox: Outbox) -> bool:
        if ordinal == RIGHT:
            self._complete = True
        return not self._complete or self._pending.give(outbox, lambda: self._released(outbox))

    def _released(self, outbox: Outbox) -> Iterator[Batch]:
        waiting, self._waiting = self._waiting, []
        for batch in waiting:
            yield from self._made(batch, outbox)

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        if ordinal == RIGHT:
            self._take(batch.rows(), outbox)
            return True
        if not self._complete:
            self._waiting.append(batch)
            return True
        return self._pending.give(outbox, lambda: self._made(batch, outbox))

    # --- the right side ----------------------------------------------------------------------------------------------

    def _take(self, rows: Sequence[Row], outbox: Outbox | None) -> None:
        """Keep right rows; of a table the latest of each of its keys."""
        self._frame = self._packed = None
        for row, key in zip(rows, self._makes.keys(RIGHT, rows, outbox), strict=True):
            name: object = next(self._numbers)
            if self._table:
                name = row[0] if self._identity is None else self._identity(row[0])
            before = self._rows.pop(name, None)
            if before is not None:
                del self._by_key[before[0]][name]
            if key:
                self._rows[name] = (key, row)
                self._by_key.setdefault(key, {})[name] = row

    def _right_frame(self) -> pl.DataFrame | None:
        """The right side in columns; None where Polars cannot hold it or a key fails."""
        if self._frame is None and self._code.columns is not None:
            side = self._sides[RIGHT]
            batch = Batch.from_rows(side.columns, [row for _, row in self._rows.values()], timed=side.timed)
            self._frame = side_frame(self._code.columns.right, batch, self._context.parameters)
        return self._frame

    # --- the left side -----------------------------------------------------------------------------------------------

    def _made(self, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        timed, schema = self._task.collection.timed, self._task.schema
        if self._code.columns is not None and columnar(batch, self._context):
            right = self._right_frame()
            frame = None if right is None else looked_up(self._code.columns, self._op, batch, right, self._context)
            if frame is not None:
                self.counts["columns"] += len(batch)
                made = Batch.from_frame(schema, frame, timed=timed, partition=batch.partition)
                for start in range(0, len(made), self._context.rows):
                    yield made.slice(start, start + self._context.rows)
                return
        self.counts["rows"] += len(batch)
        rows: list[Row] = []
        for row, key in zip(batch.rows(), self._makes.keys(LEFT, batch.rows(), outbox), strict=True):
            if key is not None:
                rows += self._answers(row, key, outbox)
            if len(rows) >= self._context.rows:
                yield Batch.from_rows(schema, rows, timed=timed, partition=batch.partition)
                rows = []
        if rows:
            yield Batch.from_rows(schema, rows, timed=timed, partition=batch.partition)

    def _answers(self, left: Row, key: tuple[object, ...], outbox: Outbox) -> list[Row]:
        found = (
            [row for row in self._by_key.get(key, {}).values() if self._makes.belong(left, row, outbox)] if key else []
        )
        match self._op.kind:
            case JoinKind.SEMI:
                return [self._makes.row(left, None)] if found else []
            case JoinKind.ANTI:
                return [] if found else [self._makes.row(left, None)]
            case JoinKind.LEFT if not found:
                return [self._makes.row(left, None)]
            case JoinKind.INNER | JoinKind.LEFT | JoinKind.RIGHT | JoinKind.FULL:
                return [self._makes.row(left, right) for right in found]

    # --- state -------------------------------------------------------------------------------------------------------

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`. The right side is packed again only where it has changed."""
        if self._packed is None:
            self._packed = pack([row for _, row in self._rows.values()])
        waiting = [(batch.partition, list(batch.rows())) for batch in self._waiting]
        return {0: pack((self._packed, self._complete, waiting))}

    def restore(self, state: Mapping[int, bytes]) -> None:
        for data in state.values():
            packed, self._complete, waiting = unpack(data)
            self._take(unpack(packed), None)
            left = self._sides[LEFT]
            self._waiting += [
                Batch.from_rows(left.columns, rows, timed=left.timed, partition=partition)
                for partition, rows in waiting
            ]
