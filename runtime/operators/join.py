"""Inner joins of two bounded inputs by hash.

By rows each side is kept by key, and a record meets what the other side has so far. In columns both sides are kept as
they came and joined when they have ended; if a record fails then, or its keys are none that Polars joins by, the
batches go by rows after all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from ghcm.functions import Failure
from ghcm.runtime.batch import Batch
from ghcm.runtime.columns import Row
from ghcm.runtime.native.code import JoinCode, JoinColumns, Parameters
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operator import NEVER, Context, Outbox
from ghcm.runtime.operators.chain import LEAST_COLUMNAR, in_columns
from ghcm.runtime.operators.letters import Letters
from ghcm.runtime.operators.pending import Pending
from ghcm.runtime.operators.state import pack, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Join
from ghcm.types import Collection, Struct

__all__ = ["JoinOperator"]

Frames = Callable[[pl.DataFrame, Parameters], pl.DataFrame | None]


class JoinOperator:
    """Keeps the rows of both sides by key. The element is {left, right}, or {key, value: {left, right}} of pairs
    joined by key.
    """

    def __init__(self, task: Task, op: Join, unit: Unit, code: JoinCode, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._task = task
        self._by_key = op.by_key
        self._keys = len(op.left_keys)
        self._code = code
        self._context = context
        self._letters = Letters(unit, task)
        self._sides = [unit.task(edge.producer).collection for edge in task.inputs]
        self._kept: list[dict[tuple[object, ...], list[Row]]] = [{}, {}]
        self._whole: list[list[Batch]] = [[], []]
        self._pending = Pending()

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        """As `Operator.process`."""
        if self._code.columns is not None and self._context.form != "rows":
            self._whole[ordinal].append(batch)
            return True
        return self._pending.give(outbox, lambda: self._met(ordinal, batch, outbox))

    # --- columns -----------------------------------------------------------------------------------------------------

    def finish(self, outbox: Outbox) -> bool:
        """As `Operator.finish`."""
        return self._pending.give(outbox, lambda: self._last(outbox))

    def _last(self, outbox: Outbox) -> Iterator[Batch]:
        whole, self._whole = self._whole, [[], []]
        records = sum(len(batch) for side in whole for batch in side)
        made = None
        if self._code.columns is not None and (self._context.form == "columns" or records >= LEAST_COLUMNAR):
            made = self._joined_frames(self._code.columns, whole)
        if made is None:
            for ordinal, batches in enumerate(whole):
                for batch in batches:
                    yield from self._met(ordinal, batch, outbox)
            return
        self.counts["columns"] += records
        for frame in made:
            yield Batch.from_frame(self._task.schema, frame, timed=self._task.collection.timed)

    def _joined_frames(self, code: JoinColumns, whole: list[list[Batch]]) -> list[pl.DataFrame] | None:
        """The result, a slice of the left side at a time; None if a record fails."""
        left = self._frames(code.left, whole[0])
        right = self._frames(code.right, whole[1])
        if left is None or right is None:
            return None
        result: list[pl.DataFrame] = []
        if not left or not right:
            return result
        other, keys = pl.concat(right), [f"@{index}" for index in range(self._keys)]
        for frame in left:
            for start in range(0, frame.height, self._context.rows):
                part = frame.slice(start, self._context.rows)
                joined = part.join(other, on=keys, how="inner", maintain_order="left_right")
                made = in_columns(lambda frame=joined: code.joined(frame, self._context.parameters))  # type: ignore[misc]
                if made is None:
                    return None
                result.append(made)
        return result

    def _frames(self, make: Frames, batches: list[Batch]) -> list[pl.DataFrame] | None:
        result: list[pl.DataFrame] = []
        for batch in batches:
            frame = in_columns(lambda batch=batch: make(batch.frame(), self._context.parameters))  # type: ignore[misc]
            if frame is None:
                return None
            result.append(frame)
        return result

    # --- rows --------------------------------------------------------------------------------------------------------

    def _met(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        self.counts["rows"] += len(batch)
        rows: list[Row] = []
        mine, others = self._kept[ordinal], self._kept[1 - ordinal]
        for row, key in zip(batch.rows(), self._row_keys(ordinal, batch.rows(), outbox), strict=True):
            if key is None:
                continue
            mine.setdefault(key, []).append(row)
            for other in others.get(key, ()):
                left, right = (row, other) if ordinal == 0 else (other, row)
                if self._belong(left, right, outbox):
                    rows.append(self._joined(left, right))
            if len(rows) >= self._context.rows:
                yield self._batch(rows)
                rows = []
        if rows:
            yield self._batch(rows)

    def _row_keys(
        self, ordinal: int, rows: Sequence[Row], outbox: Outbox | None
    ) -> Sequence[tuple[object, ...] | None]:
        """The keys; failing records are dead letters unless they were before (no outbox)."""
        element = self._sides[ordinal].element

        def dead(stage: str, record: object, reason: Failure, detail: str) -> None:
            if outbox is not None:
                self._letters.other(outbox, record, element, reason, detail)

        keys = self._code.left if ordinal == 0 else self._code.right
        return keys(rows, dead, self._context.parameters)

    def _belong(self, left: Row, right: Row, outbox: Outbox) -> bool:
        if self._code.residual is None:
            return True
        try:
            one, two = _record(left, self._sides[0]), _record(right, self._sides[1])
            return self._code.residual(one, two, self._context.parameters)
        except RecordFailure as failure:
            pair = self._joined(left, right)[: len(self._task.schema.fields)]
            self._letters.other(outbox, pair, self._task.schema, failure.reason, failure.detail)
            return False

    def _joined(self, left: Row, right: Row) -> Row:
        if self._by_key:
            one, two = (side.columns for side in self._sides)
            made: Row = (left[one.index("key")], (left[one.index("value")], right[two.index("value")]))
        else:
            made = (_record(left, self._sides[0]), _record(right, self._sides[1]))
        if not self._task.collection.timed:
            return made
        times: list[Any] = [row[-2] for row, side in zip((left, right), self._sides, strict=True) if side.timed]
        return (*made, max(times), NEVER)

    def _batch(self, rows: list[Row]) -> Batch:
        return Batch.from_rows(self._task.schema, rows, timed=self._task.collection.timed)

    def advance(self, watermark: int, outbox: Outbox) -> bool:
        """As `Operator.advance`."""
        return True

    def flush(self, outbox: Outbox) -> bool:
        """As `Operator.flush`."""
        return True

    # --- state -------------------------------------------------------------------------------------------------------

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`."""
        kept = [[row for rows in side.values() for row in rows] for side in self._kept]
        whole = [[row for batch in side for row in batch.rows()] for side in self._whole]
        return {0: pack((kept, whole))} if any(kept) or any(whole) else {}

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        for data in state.values():
            kept, whole = unpack(data)
            for ordinal, side in enumerate(self._sides):
                if whole[ordinal]:
                    batch = Batch.from_rows(side.columns, whole[ordinal], timed=side.timed)
                    self._whole[ordinal].append(batch)
                rows = kept[ordinal]
                for row, key in zip(rows, self._row_keys(ordinal, rows, None), strict=True):
                    if key is not None:
                        self._kept[ordinal].setdefault(key, []).append(row)


def _record(row: Row, collection: Collection) -> object:
    return row[: len(collection.columns.fields)] if isinstance(collection.element, Struct) else row[0]
