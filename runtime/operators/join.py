"""Joins of two bounded inputs by hash.

By rows each side is kept by key, and a record meets what the other side has so far; those that met nobody follow when
both sides have ended. In columns both sides are kept as they came and joined when they have ended; if a record fails
then, or its keys are none that Polars joins by, the batches go by rows after all. Joins as of a time keep both sides,
too, and go by rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ghcm.runtime.contract import Context, Operator, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.native.code import JoinCode
from ghcm.runtime.native.order import order_of
from ghcm.runtime.operators.batches import Pending
from ghcm.runtime.operators.joined import JoinedRows, joined_frames
from ghcm.runtime.state.packing import pack, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.joining import JoinKind
from ghcm.spg.ops import Join


@dataclass(slots=True)
class _Held:
    """A kept row, and whether it has met one of the other side."""

    row: Row
    met: bool = False


class JoinOperator(Operator):
    """Keeps the rows of both sides by key. The element is {left, right}, {key, value: {left, right}} of pairs joined by
    key, or the left one alone.
    """

    def __init__(self, task: Task, op: Join, unit: Unit, code: JoinCode, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._task = task
        self._op = op
        self._code = code
        self._context = context
        self._sides = [unit.task(edge.producer).collection for edge in task.inputs]
        self._makes = JoinedRows(task, op, unit, code, context)
        self._stay = (op.kind.keeps_left or op.kind is JoinKind.ANTI, op.kind.keeps_right)
        self._kept: list[dict[tuple[object, ...], list[_Held]]] = [{}, {}]
        self._whole: list[list[Batch]] = [[], []]
        self._pending = Pending()

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        if self._op.asof or (self._code.columns is not None and self._context.form != "rows"):
            self._whole[ordinal].append(batch)
            return True
        return self._pending.give(outbox, lambda: self._met(ordinal, batch, outbox))

    def finish(self, outbox: Outbox) -> bool:
        return self._pending.give(outbox, lambda: self._last(outbox))

    def _last(self, outbox: Outbox) -> Iterator[Batch]:
        whole, self._whole = self._whole, [[], []]
        records = sum(len(batch) for side in whole for batch in side)
        if self._op.asof:
            self.counts["rows"] += records
            yield from self._as_of(whole, outbox)
            return
        made = None
        columnar = self._context.form == "columns" or records >= self._context.columnar_from
        if self._code.columns is not None and columnar:
            made = joined_frames(self._code.columns, self._op, self._sides, whole, self._context)
        if made is None:
            for ordinal, batches in enumerate(whole):
                for batch in batches:
                    yield from self._met(ordinal, batch, outbox)
            yield from self._alone()
            return
        self.counts["columns"] += records
        for frame in made:
            yield Batch.from_frame(self._task.schema, frame, timed=self._task.collection.timed)

    # --- rows --------------------------------------------------------------------------------------------------------

    def _met(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        self.counts["rows"] += len(batch)
        rows: list[Row] = []
        mine, others = self._kept[ordinal], self._kept[1 - ordinal]
        for row, key in zip(batch.rows(), self._makes.keys(ordinal, batch.rows(), outbox), strict=True):
            if key is None:
                continue
            if not key:
                rows += [self._lone(ordinal, row)] if self._stay[ordinal] else []
                continue
            held = _Held(row)
            mine.setdefault(key, []).append(held)
            for other in others.get(key, ()):
                rows += self._pair(*((held, other) if ordinal == 0 else (other, held)), outbox)
            if len(rows) >= self._context.rows:
                yield self._batch(rows)
                rows = []
        if rows:
            yield self._batch(rows)

    def _pair(self, left: _Held, right: _Held, outbox: Outbox) -> list[Row]:
        """What two records of one key give."""
        if not self._makes.belong(left.row, right.row, outbox):
            return []
        first, left.met, right.met = not left.met, True, True
        match self._op.kind:
            case JoinKind.INNER | JoinKind.LEFT | JoinKind.RIGHT | JoinKind.FULL:
                return [self._makes.row(left.row, right.row)]
            case JoinKind.SEMI:
                return [self._makes.row(left.row, None)] if first else []
            case JoinKind.ANTI:
                return []

    def _as_of(self, whole: Sequence[Sequence[Batch]], outbox: Outbox) -> Iterator[Batch]:
        """Each left record with the latest right one, of several at that time the greatest."""
        rights: dict[tuple[object, ...], list[Row]] = {}
        for batch in whole[1]:
            for row, key in zip(batch.rows(), self._makes.keys(1, batch.rows(), outbox), strict=True):
                if key:
                    rights.setdefault(key, []).append(row)
        for batch in whole[0]:
            rows: list[Row] = []
            for row, key in zip(batch.rows(), self._makes.keys(0, batch.rows(), outbox), strict=True):
                found = [each for each in rights.get(key or (), ()) if self._makes.belong(row, each, outbox)]
                rows += [] if key is None else self._answer(row, found)
            yield self._batch(rows)

    def _answer(self, left: Row, found: Sequence[Row]) -> list[Row]:
        match self._op.kind:
            case JoinKind.SEMI | JoinKind.ANTI:
                return [self._makes.row(left, None)] if bool(found) == (self._op.kind is JoinKind.SEMI) else []
            case JoinKind.LEFT if not found:
                return [self._makes.row(left, None)]
            case JoinKind.INNER | JoinKind.LEFT | JoinKind.RIGHT | JoinKind.FULL:
                order = order_of(self._sides[1].columns)
                return [self._makes.row(left, max(found, key=lambda row: (row[-2], order(row))))] if found else []

    def _alone(self) -> Iterator[Batch]:
        """The kept records that met nobody."""
        rows: list[Row] = []
        for ordinal, stay in enumerate(self._stay):
            for held in (each for several in self._kept[ordinal].values() for each in several if stay):
                if not held.met:
                    rows.append(self._lone(ordinal, held.row))
                if len(rows) >= self._context.rows:
                    yield self._batch(rows)
                    rows = []
        if rows:
            yield self._batch(rows)

    def _lone(self, ordinal: int, row: Row) -> Row:
        return self._makes.row(row, None) if ordinal == 0 else self._makes.row(None, row)

    def _batch(self, rows: list[Row]) -> Batch:
        return Batch.from_rows(self._task.schema, rows, timed=self._task.collection.timed)

    # --- state -------------------------------------------------------------------------------------------------------

    def save(self) -> Mapping[int, bytes]:
        kept = [[(held.row, held.met) for rows in side.values() for held in rows] for side in self._kept]
        whole = [[row for batch in side for row in batch.rows()] for side in self._whole]
        return {0: pack((kept, whole))} if any(kept) or any(whole) else {}

    def restore(self, state: Mapping[int, bytes]) -> None:
        for data in state.values():
            kept, whole = unpack(data)
            for ordinal, side in enumerate(self._sides):
                if whole[ordinal]:
                    batch = Batch.from_rows(side.columns, whole[ordinal], timed=side.timed)
                    self._whole[ordinal].append(batch)
                self._restore_kept(ordinal, kept[ordinal])

    def _restore_kept(self, ordinal: int, kept: Sequence[tuple[Any, bool]]) -> None:
        keys = self._makes.keys(ordinal, [row for row, _ in kept], None)
        for (row, met), key in zip(kept, keys, strict=True):
            if key:
                self._kept[ordinal].setdefault(key, []).append(_Held(row, met))
