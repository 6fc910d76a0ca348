"""Joins of two bounded inputs by hash.

By rows each side is kept by key, and a record meets what the other side has so far; those that met nobody follow when
both sides have ended. In columns both sides are kept as they came and joined when they have ended; if a record fails
then, or its keys are none that Polars joins by, the batches go by rows after all. Joins as of a time keep both sides,
too, and go by rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ghcm.runtime.contract import Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.native.code import JoinCode
from ghcm.runtime.native.order import order_of
from ghcm.runtime.operators.joined import JoiningOperator, joined_frames
from ghcm.runtime.operators.task_operator import batch_of
from ghcm.spg.graph import Task, Unit
from ghcm.spg.joining import JoinKind
from ghcm.spg.ops import Join


@dataclass(slots=True)
class _Held:
    """A kept row, and whether it has met one of the other side."""

    row: Row
    met: bool = False


class JoinOperator(JoiningOperator):
    """Keeps the rows of both sides by key."""

    def __init__(self, task: Task, op: Join, unit: Unit, code: JoinCode, context: Context) -> None:
        super().__init__(task, op, unit, code, context)
        self._stay = (op.kind.keeps_left or op.kind is JoinKind.ANTI, op.kind.keeps_right)
        self._kept_rows: list[dict[tuple[object, ...], list[_Held]]] = [{}, {}]
        self._whole: list[list[Batch]] = [[], []]

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        if self._op.asof or (self._code.columns is not None and self._context.form != "rows"):
            self._whole[ordinal].append(batch)
            return ()
        return self._met(ordinal, batch, outbox)

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
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
            yield from self._gathered([row] for row in self._lonely())
            return
        self.counts["columns"] += records
        for frame in made:
            yield self._framed(frame)

    # --- rows --------------------------------------------------------------------------------------------------------

    def _met(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        self.counts["rows"] += len(batch)
        keys = self._keys(ordinal, batch.rows(), outbox)
        yield from self._gathered(
            self._met_by(ordinal, row, key, outbox)
            for row, key in zip(batch.rows(), keys, strict=True)
            if key is not None
        )

    def _met_by(self, ordinal: int, row: Row, key: tuple[object, ...], outbox: Outbox) -> list[Row]:
        """What a record gives with those that the other side has so far; without a key it is alone."""
        if not key:
            return [self._lone(ordinal, row)] if self._stay[ordinal] else []
        held, rows = _Held(row), list[Row]()
        self._kept_rows[ordinal].setdefault(key, []).append(held)
        for other in self._kept_rows[1 - ordinal].get(key, ()):
            rows += self._pair(*((held, other) if ordinal == 0 else (other, held)), outbox)
        return rows

    def _pair(self, left: _Held, right: _Held, outbox: Outbox) -> list[Row]:
        """What two records of one key give."""
        if not self._belong(left.row, right.row, outbox):
            return []
        first, left.met, right.met = not left.met, True, True
        match self._op.kind:
            case JoinKind.INNER | JoinKind.LEFT | JoinKind.RIGHT | JoinKind.FULL:
                return [self._joined(left.row, right.row)]
            case JoinKind.SEMI:
                return [self._joined(left.row, None)] if first else []
            case JoinKind.ANTI:
                return []

    def _as_of(self, whole: Sequence[Sequence[Batch]], outbox: Outbox) -> Iterator[Batch]:
        """Each left record with the latest right one, of several at that time the greatest."""
        rights: dict[tuple[object, ...], list[Row]] = {}
        for batch in whole[1]:
            for row, key in zip(batch.rows(), self._keys(1, batch.rows(), outbox), strict=True):
                if key:
                    rights.setdefault(key, []).append(row)
        order = order_of(self._sides[1].columns)
        for batch in whole[0]:
            rows: list[Row] = []
            for row, key in zip(batch.rows(), self._keys(0, batch.rows(), outbox), strict=True):
                if key is not None:
                    found = [each for each in rights.get(key, ()) if self._belong(row, each, outbox)]
                    latest = max(found, key=lambda each: (each[-2], order(each)), default=None)
                    rows += self._answers(row, [] if latest is None else [latest])
            yield self._batch(rows)

    def _lonely(self) -> Iterator[Row]:
        """The kept records that met nobody."""
        for ordinal, stay in enumerate(self._stay):
            for held in (each for several in self._kept_rows[ordinal].values() for each in several if stay):
                if not held.met:
                    yield self._lone(ordinal, held.row)

    def _lone(self, ordinal: int, row: Row) -> Row:
        return self._joined(row, None) if ordinal == 0 else self._joined(None, row)

    # --- state -------------------------------------------------------------------------------------------------------

    def _kept(self) -> object:
        kept = [[(held.row, held.met) for rows in side.values() for held in rows] for side in self._kept_rows]
        whole = [[row for batch in side for row in batch.rows()] for side in self._whole]
        return (kept, whole) if any(kept) or any(whole) else None

    def _put_back(self, kept: Any) -> None:
        for ordinal, (held, whole) in enumerate(zip(*kept, strict=True)):
            if whole:
                self._whole[ordinal].append(batch_of(self._sides[ordinal], whole))
            keys = self._keys(ordinal, [row for row, _ in held], None)
            for (row, met), key in zip(held, keys, strict=True):
                if key:
                    self._kept_rows[ordinal].setdefault(key, []).append(_Held(row, met))
