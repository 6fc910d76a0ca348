"""Sessions of a stream unit: a session is given on when no record that is still to come can be part of it.

A record that is not late may be up to a gap and the allowed lateness behind the watermark, and lengthen a session that
ends up to a gap behind it. So a session waits for the watermark to be both behind its end, unless records come by the
clock, of which none is behind the watermark.

Of a batch in columns only where sessions begin and end is looked at one by one, not each record.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count, islice
from operator import itemgetter
from typing import Any, cast

import polars as pl

from ghcm.functions import Failure
from ghcm.runtime.contract import INFINITY, NEVER, Context, Outbox
from ghcm.runtime.data.batch import TIME, WATERMARK, Batch
from ghcm.runtime.data.columns import Row, dtype, values
from ghcm.runtime.data.keys import identity_of
from ghcm.runtime.operators.event_time import is_closed, lateness_of, waits_of
from ghcm.runtime.operators.join import group_of, groups_by
from ghcm.runtime.operators.sessions import in_order
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.state.packing import key_groups, unpack
from ghcm.runtime.state.runs import RunState, runs_of
from ghcm.runtime.state.session_pieces import AT, NUMBER, Part, Piece, placed
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Sessions
from ghcm.types import INT_MAX, Shape
from ghcm.values.timestamps import timestamp_text

_AT_ONCE = 4096
"""So many sessions are closed before others have their turn."""


@dataclass(slots=True)
class _Session:
    """The records of a session, from the first time to the last: rows with the numbers in whose order they came, and
    parts of pieces.
    """

    first: int
    last: int
    rows: list[tuple[int, Row]] = field(default_factory=list[tuple[int, Row]])
    parts: list[Part] = field(default_factory=list[Part])


class StreamSessionsOperator(TaskOperator):
    """Keeps the open sessions of each key."""

    def __init__(self, task: Task, op: Sessions, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._gap, self._lateness = op.gap_us, op.allowed_lateness_us
        self._waits = waits_of(task, op, unit) + lateness_of(task, unit)
        self._window = task.schema.index("window")
        self._window_type = dtype(task.schema.field_of("window").type)
        columns = self._takes.columns
        self._at = columns.index("key") if self._takes.shape is Shape.PAIRS else None
        self._key = None if self._at is None else columns.fields[self._at]
        self._identity = None if self._key is None else identity_of(self._key.type)
        self._group = group_of(task.inputs[0].exchange, self._takes)
        self._groups = groups_by(task.inputs[0].exchange, self._takes)
        self._sessions: dict[object, list[_Session]] = {}
        self._pieces: dict[int, Piece] = {}
        self._ending: list[tuple[int, int, object]] = []
        self._numbers = count()

    # --- records -----------------------------------------------------------------------------------------------------

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        columnar = self._columnar(batch)
        self.counts["columns" if columnar else "rows"] += len(batch)
        if columnar:
            frame = batch.frame()
            fails = frame.select(self._fails())[TIME]
            if fails.any():
                self._sound(batch.with_frame(batch.schema, frame.filter(fails)).rows(), outbox)
                frame = frame.filter(~fails)
            self._add_frame(frame)
            return ()
        for row in self._sound(batch.rows(), outbox):
            self._add(row)
        return ()

    def _fails(self) -> pl.Expr:
        """Where a record is late, or its session has no end."""
        time, lateness = pl.col(TIME), self._lateness
        ended = time.clip(upper_bound=INT_MAX - self._gap) + self._gap
        late = ended <= pl.col(WATERMARK).clip(NEVER + lateness) - lateness
        return (time > INT_MAX - self._gap) | late

    def _sound(self, rows: Iterable[Row], outbox: Outbox) -> Iterable[Row]:
        """The rows that are in time and whose sessions have an end; the others are dead."""
        sound: list[Row] = []
        for row in rows:
            end, watermark = cast("int", row[-2]) + self._gap, cast("int", row[-1])
            if end > INT_MAX:
                self._fail(outbox, row, Failure.OVERFLOW, "its session has no end")
            elif end + self._lateness <= watermark:
                passed = f"its session ended at {timestamp_text(end)}, the watermark was {timestamp_text(watermark)}"
                self._fail(outbox, row, Failure.LATE, passed)
            else:
                sound.append(row)
        return sound

    def _fail(self, outbox: Outbox, row: Row, reason: Failure, detail: str) -> None:
        self._dead(outbox, self._record(row), self._takes.element, reason, detail)

    def _add(self, row: Row) -> None:
        """Put a row into the session that it falls into."""
        key = None if self._at is None else row[self._at]
        if self._identity is not None:
            key = self._identity(key)
        time = cast("int", row[-2])
        self._session(key, time, time).rows.append((next(self._numbers), row))

    def _add_frame(self, frame: pl.DataFrame) -> None:
        """Put the records of a frame into their sessions."""
        if not frame.height:
            return
        order = in_order(frame, self._key, self._gap)
        held = frame[order["@at"]].with_columns(order["@at"].alias(AT))
        piece = Piece(next(self._numbers), held, held.height)
        self._pieces[piece.number] = piece
        starts = order["@begins"].arg_true()
        stops = starts.shift(-1, fill_value=held.height)
        first, last = held[TIME].gather(starts).to_list(), held[TIME].gather(stops - 1).to_list()
        keys: list[object] = [None] * len(first)
        if self._key is not None:
            keys = values(held["key"].gather(starts), self._key.type)
            keys = keys if self._identity is None else [self._identity(key) for key in keys]
        for key, begin, end, start, stop in zip(keys, first, last, starts.to_list(), stops.to_list(), strict=True):
            self._session(key, begin, end).parts.append(piece.part(start, stop))

    def _session(self, key: object, first: int, last: int) -> _Session:
        """The session into which records of those times fall; it may be one of two that they join."""
        sessions = self._sessions.setdefault(key, [])
        near = [each for each in sessions if each.first - self._gap < last and first < each.last + self._gap]
        if not near:
            session = _Session(first, last)
            sessions.append(session)
            ended = None
        else:
            session, *others = near
            ended = session.last
            for other in others:
                session.rows = sorted((*session.rows, *other.rows), key=itemgetter(0))
                session.parts += other.parts
                session.first, session.last = min(session.first, other.first), max(session.last, other.last)
                sessions.remove(other)
            session.first, session.last = min(session.first, first), max(session.last, last)
        if ended is None or session.last > ended:
            heappush(self._ending, (session.last + self._gap, next(self._numbers), key))
        return session

    # --- results -----------------------------------------------------------------------------------------------------

    def advance(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        closed = self._closed(watermark)
        while some := list(islice(closed, _AT_ONCE)):
            yield from self._given(some)

    def _closed(self, watermark: int) -> Iterator[_Session]:
        while self._ending and is_closed(self._ending[0][0], self._waits, watermark):
            end, _, key = heappop(self._ending)
            sessions = self._sessions.get(key, [])
            for session in [each for each in sessions if each.last + self._gap == end]:
                sessions.remove(session)
                yield session
            if not sessions:
                self._sessions.pop(key, None)

    def _given(self, sessions: Iterable[_Session]) -> Iterator[Batch]:
        """The records of sessions in their windows, in the order in which they came."""
        rows: list[tuple[int, Row]] = []
        spans: dict[int, list[tuple[int, int, int, int]]] = {}
        for session in sessions:
            window = (session.first, session.last + self._gap)
            rows += [(number, (*row[: self._window], window, *row[self._window :])) for number, row in session.rows]
            for part in session.parts:
                spans.setdefault(part.piece.number, []).append((part.start, part.stop, *window))
                part.drop()
        rows.sort(key=itemgetter(0))
        done = 0
        for number in sorted(spans):
            piece, before = self._pieces[number], bisect_left(rows, number, key=itemgetter(0))
            yield from self._cut(self._batch([row for _, row in rows[done:before]]))
            yield from self._cut(self._framed(placed(piece, spans[number], self._window_type)))
            done = before
            if not piece.left():
                del self._pieces[number]
        yield from self._cut(self._batch([row for _, row in rows[done:]]))

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        yield from self.advance(INFINITY, outbox)

    # --- state -------------------------------------------------------------------------------------------------------

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: the rows of open sessions with their numbers, by key groups, and the pieces as runs."""
        numbered = (entry for sessions in self._sessions.values() for each in sessions for entry in each.rows)
        groups = key_groups(numbered, lambda entry: self._group(entry[1]), change=False)
        return RunState(groups, [piece.saved(self._groups) for piece in self._pieces.values()])

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`, in the order in which the records came."""
        rows: Any = [entry for data in state.values() for entry in unpack(data)]
        frames = [run.put_back(self._groups).frame for run in runs_of(state)]
        held: list[tuple[int, Row | pl.DataFrame]] = [
            *rows,
            *((frame[NUMBER][0], frame) for frame in frames if frame.height),
        ]
        for _, came in sorted(held, key=itemgetter(0)):
            if isinstance(came, pl.DataFrame):
                self._add_frame(came.sort(AT).drop(AT, NUMBER))
            else:
                self._add(came)
