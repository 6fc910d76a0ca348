"""Sessions of a stream unit: a session is given on when no record that is still to come can be part of it.

A record that is not late may be up to a gap and the allowed lateness behind the watermark, and lengthen a session that
ends up to a gap behind it. So a session waits for the watermark to be both behind its end, unless records come by the
clock, of which none is behind the watermark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any, cast

from ghcm.functions import Failure
from ghcm.runtime.contract import INFINITY, Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.keys import identity_of
from ghcm.runtime.operators.event_time import is_closed, lateness_of, waits_of
from ghcm.runtime.operators.join import group_of
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.state.packing import key_groups, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Sessions
from ghcm.types import INT_MAX, Shape


@dataclass(slots=True)
class _Session:
    """The rows of a session, in the order in which they came, from the first time to the last."""

    first: int
    last: int
    rows: list[Row] = field(default_factory=list[Row])


class StreamSessionsOperator(TaskOperator):
    """Keeps the open sessions of each key."""

    def __init__(self, task: Task, op: Sessions, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._gap, self._lateness = op.gap_us, op.allowed_lateness_us
        self._waits = waits_of(task, op, unit) + lateness_of(task, unit)
        self._window = task.schema.index("window")
        columns = self._takes.columns
        self._key = columns.index("key") if self._takes.shape is Shape.PAIRS else None
        self._identity = None if self._key is None else identity_of(columns.fields[self._key].type)
        self._group = group_of(task.inputs[0].exchange, self._takes)
        self._sessions: dict[object, list[_Session]] = {}
        self._ending: list[tuple[int, int, object]] = []
        self._numbers = count()

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        self.counts["rows"] += len(batch)
        for row in batch.rows():
            end, watermark = cast("int", row[-2]) + self._gap, cast("int", row[-1])
            if end > INT_MAX:
                self._fail(outbox, row, Failure.OVERFLOW, "its session has no end")
            elif end + self._lateness <= watermark:
                self._fail(outbox, row, Failure.LATE, f"its session ended at {end}, the watermark was {watermark}")
            else:
                self._add(row)
        return ()

    def _fail(self, outbox: Outbox, row: Row, reason: Failure, detail: str) -> None:
        self._dead(outbox, self._record(row), self._takes.element, reason, detail)

    def _add(self, row: Row) -> None:
        """Put a row into the session that it falls into; it may make one of two."""
        time, key = cast("int", row[-2]), None if self._key is None else row[self._key]
        if self._identity is not None:
            key = self._identity(key)
        sessions = self._sessions.setdefault(key, [])
        near = [each for each in sessions if each.first - self._gap < time < each.last + self._gap]
        if not near:
            near = [_Session(time, time)]
            sessions += near
        session, *others = near
        ended = session.last
        for other in others:
            session.rows += other.rows
            session.first, session.last = min(session.first, other.first), max(session.last, other.last)
            sessions.remove(other)
        session.first, session.last = min(session.first, time), max(session.last, time)
        session.rows.append(row)
        if session.last > ended or len(session.rows) == 1:
            heappush(self._ending, (session.last + self._gap, next(self._numbers), key))

    def advance(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        yield from self._gathered(self._placed(session) for session in self._closed(watermark))

    def _closed(self, watermark: int) -> Iterator[_Session]:
        while self._ending and is_closed(self._ending[0][0], self._waits, watermark):
            end, _, key = heappop(self._ending)
            sessions = self._sessions.get(key, [])
            for session in [each for each in sessions if each.last + self._gap == end]:
                sessions.remove(session)
                yield session
            if not sessions:
                self._sessions.pop(key, None)

    def _placed(self, session: _Session) -> list[Row]:
        window = (session.first, session.last + self._gap)
        return [(*row[: self._window], window, *row[self._window :]) for row in session.rows]

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        yield from self.advance(INFINITY, outbox)

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: the rows of open sessions by their key groups."""
        rows = (row for sessions in self._sessions.values() for each in sessions for row in each.rows)
        return key_groups(rows, self._group, change=False)

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        rows: Any = (row for data in state.values() for row in unpack(data))
        for row in rows:
            self._add(row)
