"""Joins of inputs that never end: within an interval of event time, or in windows that both sides share.

A record is kept until none that is still to come can belong to it. Within an interval around it that is when the
watermark is more than twice the interval behind its time: one that comes later is late, a dead letter, as its own
interval has passed by then. In windows it is when the window has closed. By rows; what met nobody is given on then,
where the kind of the join keeps it.
"""

from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, TypeAlias, cast

from ghcm.functions import Failure
from ghcm.runtime.contract import INFINITY, Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.native.code import JoinCode
from ghcm.runtime.operators.event_time import is_closed, lateness_of
from ghcm.runtime.operators.join import Held, JoinOperator
from ghcm.spg.graph import Task, Unit
from ghcm.spg.joining import is_late, keeps_us, waits_us
from ghcm.spg.ops import Join

_Expiring: TypeAlias = tuple[int, int, int, tuple[object, ...]]
"""Until when something is kept, a number, on which side, and under which key."""
_AT_ONCE = 1024
"""So many records are let go of before others have their turn."""


class StreamJoinOperator(JoinOperator):
    """Keeps the rows of both sides by key, and lets go of them as event time goes on."""

    def __init__(self, task: Task, op: Join, unit: Unit, code: JoinCode, context: Context) -> None:
        super().__init__(task, op, unit, code, context)
        self._frame_join = None
        self._lateness = lateness_of(task, unit)
        self._numbers = count()
        self._expiring: list[_Expiring] = []
        self._keeps = [0 if self._interval is None else keeps_us(self._interval, ordinal) for ordinal in (0, 1)]
        self._windows = [side.columns.index("window") if side.windowed else 0 for side in self._sides]

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        rows = batch.rows()
        if self._interval is not None:
            waits = waits_us(self._interval, ordinal)
            late = [row for row in rows if is_late(cast("int", row[-2]), cast("int", row[-1]), waits)]
            if late:
                rows = [row for row in rows if not is_late(cast("int", row[-2]), cast("int", row[-1]), waits)]
            for row in late:
                detail = "the interval in which others belong to it has passed"
                self._dead(outbox, self._record_of(ordinal, row), self._sides[ordinal].element, Failure.LATE, detail)
        return self._met(ordinal, batch.with_rows(batch.schema, rows), outbox)

    def _hold(self, ordinal: int, key: tuple[object, ...], held: Held) -> None:
        super()._hold(ordinal, key, held)
        heappush(self._expiring, (self._until(ordinal, held.row), next(self._numbers), ordinal, key))

    def _until(self, ordinal: int, row: Row) -> int:
        """The event time behind which nothing belongs to a row."""
        if self._interval is not None:
            return min(INFINITY - 1, cast("int", row[-2]) + self._keeps[ordinal])
        window: Any = row[self._windows[ordinal]]
        return cast("int", window[1]) - 1

    def advance(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        alone: list[Row] = []
        done = 0
        while self._expiring and is_closed(self._expiring[0][0] + 1, self._lateness, watermark):
            until, _, ordinal, key = heappop(self._expiring)
            alone += self._let_go(ordinal, key, until)
            done += 1
            if done % _AT_ONCE == 0:
                yield self._batch(alone)
                alone = []
        yield self._batch(alone)

    def _let_go(self, ordinal: int, key: tuple[object, ...], until: int) -> Iterator[Row]:
        """Forget what is kept under a key up to there; what met nobody is given on where the join keeps it."""
        kept = self._kept_rows[ordinal].get(key, [])
        rest = [held for held in kept if self._until(ordinal, held.row) > until]
        for held in kept if len(rest) < len(kept) and self._stay[ordinal] else ():
            if not held.met and self._until(ordinal, held.row) <= until:
                yield self._lone(ordinal, held.row)
        if rest:
            self._kept_rows[ordinal][key] = rest
        else:
            self._kept_rows[ordinal].pop(key, None)

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        yield from self.advance(INFINITY, outbox)

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        super().restore(state)
        self._expiring = [
            (self._until(ordinal, held.row), next(self._numbers), ordinal, key)
            for ordinal, kept in enumerate(self._kept_rows)
            for key, rows in kept.items()
            for held in rows
        ]
        heapify(self._expiring)
