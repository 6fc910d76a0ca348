"""Joins as of a time of inputs that never end: each left record with the latest right one at or before its own time.

A left record waits until no right one that is still to come can be so early. Of each key the right records are kept
that left ones to come may ask for: those that the watermark has not passed, and before them the latest one, or, where
only some belong to a left record, all within the interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeAlias, cast

from ghcm.functions import Failure
from ghcm.runtime.contract import INFINITY, Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.native.code import JoinCode
from ghcm.runtime.operators.event_time import is_closed, lateness_of
from ghcm.runtime.operators.join import LEFT, RIGHT, group_of
from ghcm.runtime.operators.joined import JoiningOperator
from ghcm.runtime.state.packing import key_groups, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.joining import is_late
from ghcm.spg.ops import Join

_Key: TypeAlias = tuple[object, ...]


class StreamAsOfOperator(JoiningOperator):
    """Keeps the left rows that wait, and the right ones by key."""

    def __init__(self, task: Task, op: Join, unit: Unit, code: JoinCode, context: Context) -> None:
        super().__init__(task, op, unit, code, context)
        self._lateness = lateness_of(task, unit)
        self._numbers = count()
        self._waiting: list[tuple[int, int, Row, _Key]] = []
        self._passing: list[tuple[int, int, _Key]] = []
        self._rights: dict[_Key, list[Row]] = {}

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        rows: list[Row] = []
        for row in batch.rows():
            if is_late(cast("int", row[-2]), cast("int", row[-1]), 0):
                detail = "its time has passed"
                self._dead(outbox, self._record_of(ordinal, row), self._sides[ordinal].element, Failure.LATE, detail)
            else:
                rows.append(row)
        self.counts["rows"] += len(batch)
        self._take(ordinal, rows, outbox)
        return ()

    def _take(self, ordinal: int, rows: list[Row], outbox: Outbox | None) -> None:
        for row, key in zip(rows, self._keys(ordinal, rows, outbox), strict=True):
            if key is None:
                continue
            time, number = cast("int", row[-2]), next(self._numbers)
            if ordinal == LEFT:
                heappush(self._waiting, (time, number, row, key))
            elif key:
                self._rights.setdefault(key, []).append(row)
                heappush(self._passing, (time, number, key))
                if self._op.within_us is not None:
                    heappush(self._passing, (time + self._op.within_us, next(self._numbers), key))

    def advance(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        due = self._due(watermark)
        yield from self._gathered(self._answers(row, self._latest(row, key, outbox)) for row, key in due)
        while self._passing and self._is_past(self._passing[0][0], watermark):
            self._forget(heappop(self._passing)[2], watermark)

    def _due(self, watermark: int) -> Iterator[tuple[Row, _Key]]:
        """The left rows that need wait no longer."""
        while self._waiting and self._is_past(self._waiting[0][0], watermark):
            _, _, row, key = heappop(self._waiting)
            yield row, key

    def _is_past(self, time: int, watermark: int) -> bool:
        return is_closed(time + 1, self._lateness, watermark)

    def _latest(self, left: Row, key: _Key, outbox: Outbox) -> list[Row]:
        rows: Sequence[Row] = self._rights.get(key, ())
        if self._op.versions:
            rows = self._latest_of([row for row in rows if cast("int", row[-2]) <= cast("int", left[-2])])
        return self._latest_of([row for row in rows if self._belong(left, row, outbox)])

    def _forget(self, key: _Key, watermark: int) -> None:
        """Let go of the right rows of a key that no left row to come asks for."""
        rows = self._rights.get(key, [])
        past = [row for row in rows if self._is_past(cast("int", row[-2]), watermark)]
        within = self._op.within_us
        if within is not None:
            past = [row for row in past if not self._is_past(cast("int", row[-2]) + within, watermark)]
        if self._code.residual is None or self._op.versions:
            past = self._latest_of(past)
        kept = [*past, *(row for row in rows if not self._is_past(cast("int", row[-2]), watermark))]
        if kept:
            self._rights[key] = kept
        else:
            self._rights.pop(key, None)

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        yield from self.advance(INFINITY, outbox)

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: the rows of both sides by the key groups that they are dealt out by."""
        groups = [group_of(edge.exchange, side) for edge, side in zip(self._task.inputs, self._sides, strict=True)]
        entries: list[tuple[int, Row]] = [
            *((LEFT, row) for _, _, row, _ in self._waiting),
            *((RIGHT, row) for rows in self._rights.values() for row in rows),
        ]
        return key_groups(iter(entries), lambda entry: groups[entry[0]](entry[1]), change=False)

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        entries: Any = [entry for data in state.values() for entry in unpack(data)]
        for side in (LEFT, RIGHT):
            self._take(side, [row for number, row in entries if number == side], None)
