"""What is told of a key in the order of event time: what comes before each of its values, and when it falls silent.

Records wait until none that is still to come can stand before them; those of equal times are in the order of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from ghcm.spg.sequences import Absent, Preceding
from ghcm.types import INT_MAX


class _InTimeOrder(TaskOperator):
    """Keeps the records that wait. What is known of each key beside is kept by `_told`, which takes the rows in order,
    as rows that tell it again (`_known`).
    """

    def __init__(self, task: Task, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._waits = lateness_of(task, unit)
        key, value = self._takes.columns.fields
        self._identity = identity_of(key.type)
        self._order = order_of(value.type)
        self._group = group_of(task.inputs[0].exchange, self._takes)
        self._numbers = count()
        self._waiting: list[tuple[int, int, Row]] = []

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        self.counts["rows"] += len(batch)
        for row in batch.rows():
            time = cast("int", row[-2])
            if failure := self._failure(time, cast("int", row[-1])):
                self._dead(outbox, self._record(row), self._takes.element, *failure)
            else:
                heappush(self._waiting, (time, next(self._numbers), row))
        return ()

    def _failure(self, time: int, watermark: int) -> tuple[Failure, str] | None:
        """Why a row of that time is dead, and what is said of it."""
        late = time < watermark
        return (Failure.LATE, f"its time is {time}, the watermark was {watermark}") if late else None

    def advance(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        yield from self._gathered(self._told(row, self._key(row)) for row in self._due(watermark))

    def _due(self, watermark: int) -> Iterator[Row]:
        """The rows in whose way nothing can come any more, in order."""
        waiting = self._waiting
        while waiting and is_closed(waiting[0][0] + 1, self._waits, watermark):
            time, _, row = heappop(waiting)
            same = [row]
            while waiting and waiting[0][0] == time:
                same.append(heappop(waiting)[2])
            yield from sorted(same, key=lambda each: cast("Any", self._order(each[1]))) if len(same) > 1 else same

    def _key(self, row: Row) -> object:
        return row[0] if self._identity is None else self._identity(row[0])

    def _told(self, row: Row, key: object) -> Sequence[Row]:
        """What the next row of a key gives."""
        raise NotImplementedError

    def _known(self) -> Iterable[Row]:
        """The rows from which the rest of the state can be made again, those of a key in order."""
        raise NotImplementedError

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        yield from self.advance(INFINITY, outbox)

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: whether a row waits, and the row, by key groups; those of a key in order."""
        known = ((False, row) for row in self._known())
        waiting = ((True, row) for _, _, row in sorted(self._waiting, key=lambda each: each[:2]))
        entries = (entry for several in (known, waiting) for entry in several)
        return key_groups(entries, lambda entry: self._group(entry[1]), change=False)

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        entries: Any = (entry for data in state.values() for entry in unpack(data))
        for waits, row in entries:
            if waits:
                heappush(self._waiting, (cast("int", row[-2]), next(self._numbers), row))
            else:
                self._told(row, self._key(row))


class PrecedingOperator(_InTimeOrder):
    """Keeps of each key the last values that were given, besides."""

    def __init__(self, task: Task, op: Preceding, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._count = op.count
        self._last: dict[object, list[Row]] = {}

    def _told(self, row: Row, key: object) -> tuple[Row]:
        before = self._last.setdefault(key, [])
        made = (row[0], (row[1], [each[1] for each in before]), *row[2:])
        before.append(row)
        if len(before) > self._count:
            del before[0]
        return (made,)

    def _known(self) -> Iterable[Row]:
        return (row for rows in self._last.values() for row in rows)


class AbsentOperator(_InTimeOrder):
    """Keeps the last row of each key that is not silent, besides, and when to look at it again."""

    def __init__(self, task: Task, op: Absent, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._after = op.after_us
        self._last: dict[object, Row] = {}
        self._looks: list[tuple[int, int, object]] = []

    def _failure(self, time: int, watermark: int) -> tuple[Failure, str] | None:
        if failure := super()._failure(time, watermark):
            return failure
        beyond = time > INT_MAX - self._after
        return (Failure.OVERFLOW, "no time is left in which it could be silent") if beyond else None

    def advance(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        yield from super().advance(watermark, outbox)
        yield from self._gathered(self._fallen_silent(watermark))

    def _told(self, row: Row, key: object) -> Sequence[Row]:
        before = self._last.get(key)
        self._last[key] = row
        if before is None:
            self._look(row, key)
            return ()
        return (self._silence(before),) if cast("int", row[-2]) >= self._end(before) else ()

    def _end(self, row: Row) -> int:
        return cast("int", row[-2]) + self._after

    def _look(self, row: Row, key: object) -> None:
        heappush(self._looks, (self._end(row), next(self._numbers), key))

    def _silence(self, row: Row) -> Row:
        key, value, time, watermark = row
        return (key, (value, time), self._end(row), watermark)

    def _fallen_silent(self, watermark: int) -> Iterator[tuple[Row]]:
        """One look for each key, whatever came of it since: when its last row says so, it is silent, else looked at
        again.
        """
        while self._looks and is_closed(self._looks[0][0], self._waits, watermark):
            end, _, key = heappop(self._looks)
            row = self._last[key]
            if self._end(row) == end:
                del self._last[key]
                yield (self._silence(row),)
            else:
                self._look(row, key)

    def _known(self) -> Iterable[Row]:
        return self._last.values()
