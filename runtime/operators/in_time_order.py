"""What is told of a key in the order of event time: what comes before each of its values, what all so far make
together, what a table holds of it at each time, and when it falls silent.

Records wait until none that is still to come can stand before them; those of equal times are in the order of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from heapq import heappop, heappush
from itertools import chain, count, groupby
from typing import Any, cast

from ghcm.functions import Failure
from ghcm.runtime.contract import INFINITY, Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.keys import identity_of
from ghcm.runtime.native.code import GroupCode, ScanCode
from ghcm.runtime.native.order import order_of
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators.event_time import is_closed, lateness_of
from ghcm.runtime.operators.fallible_reducers import fallible, has_lambda
from ghcm.runtime.operators.join import group_of
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.state.packing import key_groups, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import ReduceByKey, Versions
from ghcm.spg.sequences import Absent, Preceding, Present, Scan
from ghcm.types import INT_MAX, Field, Struct
from ghcm.values.timestamps import timestamp_text

_WAITS, _LAST, _KNOWN = range(3)
"""What a saved row is for."""


class InTimeOrder(TaskOperator):
    """Keeps the records that wait, and where keys may fall silent the last row of each that is not silent, and when to
    look at it again. What else is known of a key is said as rows that begin with it (`_known`), from which it can be
    learnt again (`_learn`), until it is silent (`_silent`).
    """

    def __init__(self, task: Task, unit: Unit, context: Context, after_us: int | None) -> None:
        super().__init__(task, unit, context)
        self._waits = lateness_of(task, unit)
        self._after = after_us
        key, value = self._takes.columns.fields
        self._identity = identity_of(key.type)
        self._order = order_of(value.type)
        self._group = group_of(task.inputs[0].exchange, self._takes)
        self._numbers = count()
        self._waiting: list[tuple[int, int, Row]] = []
        self._last: dict[object, Row] = {}
        self._looks: list[tuple[int, int, object]] = []

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
        if time >= watermark:
            return None
        return Failure.LATE, f"its time is {timestamp_text(time)}, the watermark was {timestamp_text(watermark)}"

    def advance(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        yield from self._gathered(self._next(row, outbox) for row in self._due(watermark))
        yield from self._gathered(self._fallen_silent(watermark))

    def _due(self, watermark: int) -> Iterator[Row]:
        """The rows before which nothing can come any more, in order."""
        waiting = self._waiting
        while waiting and is_closed(waiting[0][0] + 1, self._waits, watermark):
            time, _, row = heappop(waiting)
            same = [row]
            while waiting and waiting[0][0] == time:
                same.append(heappop(waiting)[2])
            yield from sorted(same, key=lambda each: cast("Any", self._order(each[1]))) if len(same) > 1 else same

    def _key(self, row: Row) -> object:
        return row[0] if self._identity is None else self._identity(row[0])

    def _next(self, row: Row, outbox: Outbox) -> Sequence[Row]:
        """What the next row in order gives; before it, what the silence before it does."""
        key = self._key(row)
        before = self._last.get(key)
        silent = before is not None and cast("int", row[-2]) >= self._end(before)
        given = self._silent(before, key) if before is not None and silent else ()
        given = (*given, *self._told(row, key, outbox, begins=before is None or silent))
        self._hear(row, key)
        return given

    def _hear(self, row: Row, key: object) -> None:
        """Note that a key is not silent."""
        if self._after is None:
            return
        if key not in self._last:
            self._look(row, key)
        self._last[key] = row

    def _end(self, row: Row) -> int:
        """When a key is silent whose last row that is."""
        return cast("int", row[-2]) + (self._after or 0)

    def _look(self, row: Row, key: object) -> None:
        heappush(self._looks, (self._end(row), next(self._numbers), key))

    def _fallen_silent(self, watermark: int) -> Iterator[Sequence[Row]]:
        """One look for each key, whatever came of it since: when its last row says so, it is silent, else looked at
        again.
        """
        while self._looks and is_closed(self._looks[0][0], self._waits, watermark):
            end, _, key = heappop(self._looks)
            row = self._last[key]
            if self._end(row) == end:
                del self._last[key]
                yield self._silent(row, key)
            else:
                self._look(row, key)

    def _told(self, row: Row, key: object, outbox: Outbox, *, begins: bool) -> Sequence[Row]:
        """What a row of a key gives. `begins`: nothing is heard of the key, as far as is known, or it was silent."""
        return ()

    def _silent(self, row: Row, key: object) -> Sequence[Row]:
        """What the silence of a key gives whose last row that is."""
        return ()

    def _known(self) -> Iterable[Row]:
        """What else is known of keys, in order where there are several rows of one."""
        return ()

    def _learn(self, row: Row, key: object) -> None:
        """Take back such a row."""

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        yield from self.advance(INFINITY, outbox)

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: rows with what they are for, by key groups."""
        waiting = ((_WAITS, row) for _, _, row in sorted(self._waiting, key=lambda each: each[:2]))
        entries = chain(
            waiting, ((_LAST, row) for row in self._last.values()), ((_KNOWN, row) for row in self._known())
        )
        return key_groups(entries, lambda entry: self._group(entry[1]), change=False)

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        entries: Any = (entry for data in state.values() for entry in unpack(data))
        for what, row in entries:
            if what == _WAITS:
                heappush(self._waiting, (cast("int", row[-2]), next(self._numbers), row))
            elif what == _LAST:
                self._hear(row, self._key(row))
            else:
                self._learn(row, self._key(row))


class PrecedingOperator(InTimeOrder):
    """Keeps of each key the last values that were given, besides."""

    def __init__(self, task: Task, op: Preceding, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context, op.ttl_us)
        self._count = op.count
        self._before: dict[object, list[Row]] = {}

    def _told(self, row: Row, key: object, outbox: Outbox, *, begins: bool) -> tuple[Row]:
        made = (row[0], (row[1], [each[1] for each in self._before.get(key, ())]), *row[2:])
        self._learn(row, key)
        return (made,)

    def _silent(self, row: Row, key: object) -> tuple[()]:
        del self._before[key]
        return ()

    def _known(self) -> Iterable[Row]:
        return (row for rows in self._before.values() for row in rows)

    def _learn(self, row: Row, key: object) -> None:
        before = self._before.setdefault(key, [])
        before.append(row)
        if len(before) > self._count:
            del before[0]


class AbsentOperator(InTimeOrder):
    """Gives the last row of each key that falls silent."""

    def __init__(self, task: Task, op: Absent, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context, op.after_us)
        self._latest = INT_MAX - op.after_us

    def _failure(self, time: int, watermark: int) -> tuple[Failure, str] | None:
        if failure := super()._failure(time, watermark):
            return failure
        return (Failure.OVERFLOW, "no time is left in which it could be silent") if time > self._latest else None

    def _silent(self, row: Row, key: object) -> tuple[Row]:
        name, value, time, watermark = row
        return ((name, (value, time), self._end(row), watermark),)


class PresentOperator(InTimeOrder):
    """Gives the first row of each key that was silent."""

    def __init__(self, task: Task, op: Present, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context, op.after_us)

    def _told(self, row: Row, key: object, outbox: Outbox, *, begins: bool) -> Sequence[Row]:
        return (row,) if begins else ()


class ScanOperator(InTimeOrder):
    """Keeps of each key what the last of its values gave, besides."""

    def __init__(self, task: Task, op: Scan, unit: Unit, code: ScanCode, context: Context) -> None:
        super().__init__(task, unit, context, op.ttl_us)
        self._code = code
        self._so_far: dict[object, Row] = {}

    def _told(self, row: Row, key: object, outbox: Outbox, *, begins: bool) -> Sequence[Row]:
        name, value, *hidden = row
        try:
            before = self._so_far[key][1] if key in self._so_far else self._code.start(self._parameters)
            made = self._code.step(before, value, self._parameters)
        except RecordFailure as failure:
            self._dead(outbox, self._record(row), self._takes.element, failure.reason, failure.detail)
            return ()
        self._so_far[key] = (name, made)
        return ((name, made, *hidden),)

    def _silent(self, row: Row, key: object) -> tuple[()]:
        self._so_far.pop(key, None)
        return ()

    def _known(self) -> Iterable[Row]:
        return self._so_far.values()

    def _learn(self, row: Row, key: object) -> None:
        self._so_far[key] = row


class VersionsOperator(InTimeOrder):
    """Keeps of each key the state of its aggregation, besides."""

    def __init__(self, task: Task, op: Versions, unit: Unit, code: GroupCode, context: Context) -> None:
        super().__init__(task, unit, context, op.ttl_us)
        reducer = op.group.reducer if isinstance(op.group, ReduceByKey) else None
        self._code = fallible(code) if reducer is not None and has_lambda(reducer) else code
        self._states: dict[object, Row] = {}
        self._fresh = set[object]()
        """The keys whose states no snapshot has, which is written while others change: these may."""

    def advance(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        times = groupby(self._due(watermark), key=lambda row: row[-2])
        yield from self._gathered(self._versions(rows, outbox) for _, rows in times)
        yield from self._gathered(self._fallen_silent(watermark))

    def _versions(self, rows: Iterable[Row], outbox: Outbox) -> Sequence[Row]:
        """What the table holds of the keys of all rows of one time."""
        heard: dict[object, Row] = {}
        for row in rows:
            key = self._key(row)
            before = self._last.get(key)
            if before is not None and cast("int", row[-2]) >= self._end(before):
                self._silent(before, key)
            self._hear(row, key)
            self._take_in(row, key, outbox)
            if key in self._states:
                heard[key] = row
        made = (self._version(row, key, outbox) for key, row in heard.items())
        return [version for version in made if version is not None]

    def _take_in(self, row: Row, key: object, outbox: Outbox) -> None:
        """Add a row to the state of its key, which stays as it is where that fails."""
        value = (row[-2], row[1]) if self._code.timed else row[1]
        try:
            if key in self._states:
                before = self._states[key][1]
                state = self._code.add(before if key in self._fresh else deepcopy(before), value, self._parameters)
            else:
                state = self._code.first(value, self._parameters)
        except RecordFailure as failure:
            self._dead(outbox, self._record(row), self._takes.element, failure.reason, failure.detail)
            return
        self._states[key] = (row[0], state)
        self._fresh.add(key)

    def _version(self, row: Row, key: object, outbox: Outbox) -> Row | None:
        try:
            value = deepcopy(self._code.result(self._states[key][1], self._parameters))  # a state may change in place
        except RecordFailure as failure:
            key_only = Struct((Field("key", self._takes.pair[0]),))
            self._dead(outbox, (row[0],), key_only, failure.reason, failure.detail)
            return None
        return (row[0], value, *row[2:])

    def _silent(self, row: Row, key: object) -> tuple[()]:
        self._states.pop(key, None)
        return ()

    def save(self) -> Mapping[int, bytes]:
        self._fresh.clear()
        return super().save()

    def _known(self) -> Iterable[Row]:
        return self._states.values()

    def _learn(self, row: Row, key: object) -> None:
        self._states[key] = row
