"""Inner joins of two bounded inputs by hash: each side is kept by key, and a record meets what the other side has so
far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ghcm.runtime.batch import Batch
from ghcm.runtime.columns import Row
from ghcm.runtime.native.code import JoinCode
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operator import NEVER, Context, Outbox
from ghcm.runtime.operators.letters import Letters
from ghcm.runtime.operators.pending import Pending
from ghcm.runtime.operators.state import pack, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Join
from ghcm.types import Collection, Struct

__all__ = ["JoinOperator"]


class JoinOperator:
    """Keeps the rows of both sides by key. The element is {left, right}, or {key, value: {left, right}} of pairs
    joined by key.
    """

    def __init__(self, task: Task, op: Join, unit: Unit, code: JoinCode, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._task = task
        self._by_key = op.by_key
        self._code = code
        self._context = context
        self._letters = Letters(unit, task)
        self._sides = [unit.task(edge.producer).collection for edge in task.inputs]
        self._kept: list[dict[tuple[object, ...], list[Row]]] = [{}, {}]
        self._pending = Pending()

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        """As `Operator.process`."""
        return self._pending.give(outbox, lambda: self._given(ordinal, batch, outbox))

    def _given(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        self.counts["rows"] += len(batch)
        rows: list[Row] = []
        mine, others = self._kept[ordinal], self._kept[1 - ordinal]
        for row, key in zip(batch.rows(), self._keys(ordinal, batch, outbox), strict=True):
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

    def _keys(self, ordinal: int, batch: Batch, outbox: Outbox) -> Sequence[tuple[object, ...] | None]:
        element = self._sides[ordinal].element

        def dead(stage: str, record: object, reason: Any, detail: str) -> None:
            self._letters.other(outbox, record, element, reason, detail)

        keys = self._code.left if ordinal == 0 else self._code.right
        return keys(batch.rows(), dead, self._context.parameters)

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
            names = self._sides[0].columns, self._sides[1].columns
            key, value = left[names[0].index("key")], (left[names[0].index("value")], right[names[1].index("value")])
            made: Row = (key, value)
        else:
            made = (_record(left, self._sides[0]), _record(right, self._sides[1]))
        if not self._task.collection.timed:
            return made
        times = [row[-2] for row, side in zip((left, right), self._sides, strict=True) if side.timed]
        return (*made, max(times), NEVER)  # type: ignore[type-var]

    def _batch(self, rows: list[Row]) -> Batch:
        return Batch.from_rows(self._task.schema, rows, timed=self._task.collection.timed)

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
        kept = [[row for rows in side.values() for row in rows] for side in self._kept]
        return {0: pack(kept)} if any(kept) else {}

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        for data in state.values():
            for ordinal, rows in enumerate(unpack(data)):
                keys = (self._code.left, self._code.right)[ordinal](rows, _ignore, self._context.parameters)
                for row, key in zip(rows, keys, strict=True):
                    if key is not None:
                        self._kept[ordinal].setdefault(key, []).append(row)


def _ignore(stage: str, record: object, reason: object, detail: str) -> None:
    """What was kept has a key."""


def _record(row: Row, collection: Collection) -> object:
    return row[: len(collection.columns.fields)] if isinstance(collection.element, Struct) else row[0]
