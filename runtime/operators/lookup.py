"""Lookups: joins in which each left record is answered for by itself, in the order in which the records come.

The right side is kept by key. Where it ends, left records wait for its end, at the input if they can and here if not.
Where it is a table that never ends, the latest value of each key counts that the table has given on, which it does with
every commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import polars as pl

from ghcm.runtime.contract import Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.keys import identity_of
from ghcm.runtime.native.code import JoinCode
from ghcm.runtime.operators.joined import JoiningOperator, looked_up, side_frame
from ghcm.runtime.operators.task_operator import batch_of
from ghcm.runtime.state.packing import pack, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Join
from ghcm.types import Shape

LEFT, RIGHT = 0, 1


class LookupOperator(JoiningOperator):
    """Keeps the right rows by key, of a table one for each; and the left ones that came before the right side was
    complete.
    """

    def __init__(self, task: Task, op: Join, unit: Unit, code: JoinCode, context: Context) -> None:
        super().__init__(task, op, unit, code, context)
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

    def holds(self, ordinal: int) -> bool:
        return ordinal == LEFT and not self._complete

    @property
    def holding(self) -> bool:
        return bool(self._waiting)

    def ended(self, ordinal: int, outbox: Outbox) -> Iterator[Batch]:
        self._complete |= ordinal == RIGHT
        if self._complete:
            waiting, self._waiting = self._waiting, []
            for batch in waiting:
                yield from self._made(batch, outbox)

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        if ordinal == LEFT and self._complete:
            return self._made(batch, outbox)
        if ordinal == LEFT:
            self._waiting.append(batch)
        else:
            self._take(batch.rows(), outbox)
        return ()

    # --- the right side ----------------------------------------------------------------------------------------------

    def _take(self, rows: Sequence[Row], outbox: Outbox | None) -> None:
        """Keep right rows; of a table the latest of each of its keys."""
        self._frame = self._packed = None
        for row, key in zip(rows, self._keys(RIGHT, rows, outbox), strict=True):
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
            batch = batch_of(side, [row for _, row in self._rows.values()])
            self._frame = side_frame(self._code.columns.right, batch, self._parameters)
        return self._frame

    # --- the left side -----------------------------------------------------------------------------------------------

    def _made(self, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        if self._code.columns is not None and self._columnar(batch):
            right = self._right_frame()
            frame = None if right is None else looked_up(self._code.columns, self._op, batch, right, self._context)
            if frame is not None:
                self.counts["columns"] += len(batch)
                yield from self._cut(self._framed(frame, batch.partition))
                return
        self.counts["rows"] += len(batch)
        keys = self._keys(LEFT, batch.rows(), outbox)
        answers = (
            self._answers(row, self._found(row, key, outbox))
            for row, key in zip(batch.rows(), keys, strict=True)
            if key is not None
        )
        yield from self._gathered(answers, batch.partition)

    def _found(self, left: Row, key: tuple[object, ...], outbox: Outbox) -> list[Row]:
        rights = self._by_key.get(key, {}).values() if key else ()
        return [row for row in rights if self._belong(left, row, outbox)]

    # --- state -------------------------------------------------------------------------------------------------------

    def _kept(self) -> object:
        """The right side is packed again only where it has changed."""
        if self._packed is None:
            self._packed = pack([row for _, row in self._rows.values()])
        return self._packed, self._complete, [(batch.partition, list(batch.rows())) for batch in self._waiting]

    def _put_back(self, kept: Any) -> None:
        packed, self._complete, waiting = kept
        self._take(unpack(packed), None)
        self._waiting += [batch_of(self._sides[LEFT], rows, partition) for partition, rows in waiting]
