"""What comes before each value of a key in event time: records wait until none that is still to come can stand before
them, and then the last values of each key are what those behind them are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import count
from typing import Any, cast

from ghcm.functions import Failure
from ghcm.runtime.contract import INFINITY, Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.keys import identity_of
from ghcm.runtime.native.order import order_of
from ghcm.runtime.operators.event_time import is_closed, lateness_of
from ghcm.runtime.operators.join import group_of
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.state.packing import key_groups, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Preceding


class PrecedingOperator(TaskOperator):
    """Keeps the records that wait, and of each key the last values that were given."""

    def __init__(self, task: Task, op: Preceding, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._count = op.count
        self._waits = lateness_of(task, unit)
        key, value = self._takes.columns.fields
        self._identity = identity_of(key.type)
        self._order = order_of(value.type)
        self._group = group_of(task.inputs[0].exchange, self._takes)
        self._numbers = count()
        self._waiting: list[tuple[int, int, Row]] = []
        self._last: dict[object, list[Row]] = {}

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        self.counts["rows"] += len(batch)
        for row in batch.rows():
            time, watermark = cast("int", row[-2]), cast("int", row[-1])
            if time < watermark:
                detail = f"its time is {time}, the watermark was {watermark}"
                self._dead(outbox, self._record(row), self._takes.element, Failure.LATE, detail)
            else:
                heappush(self._waiting, (time, next(self._numbers), row))
        return ()

    def advance(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        yield from self._gathered(self._with_before(row) for row in self._due(watermark))

    def _due(self, watermark: int) -> Iterator[Row]:
        """The rows in whose way nothing can come any more, in order."""
        waiting = self._waiting
        while waiting and is_closed(waiting[0][0] + 1, self._waits, watermark):
            time, _, row = heappop(waiting)
            same = [row]
            while waiting and waiting[0][0] == time:
                same.append(heappop(waiting)[2])
            yield from sorted(same, key=lambda each: cast("Any", self._order(each[1]))) if len(same) > 1 else same

    def _with_before(self, row: Row) -> tuple[Row]:
        key, value, *hidden = row
        before = self._last.setdefault(key if self._identity is None else self._identity(key), [])
        made = (key, (value, [each[1] for each in before]), *hidden)
        before.append(row)
        if len(before) > self._count:
            del before[0]
        return (made,)

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        yield from self.advance(INFINITY, outbox)

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: whether a row waits, and the row, by key groups; those of a key in order."""
        given = ((False, row) for rows in self._last.values() for row in rows)
        waiting = ((True, row) for _, _, row in sorted(self._waiting, key=lambda each: each[:2]))
        entries = (entry for several in (given, waiting) for entry in several)
        return key_groups(entries, lambda entry: self._group(entry[1]), change=False)

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        entries: Any = (entry for data in state.values() for entry in unpack(data))
        for waits, row in entries:
            if waits:
                heappush(self._waiting, (cast("int", row[-2]), next(self._numbers), row))
            else:
                self._with_before(row)
