"""A user's Python function that goes through the values of each key in the order of event time, keeps a state of it and
names moments at which it is called again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, cast

from ghcm.functions import Failure
from ghcm.runtime.contract import Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.operators.event_time import is_closed
from ghcm.runtime.operators.in_time_order import InTimeOrder
from ghcm.spg.graph import Task, Unit
from ghcm.spg.sequences import Process
from ghcm.types import Struct, answered_of_key, asked_of_key
from ghcm.values.processing import CallFailed, Kept, Processing

_FEW = 64
"""Looks at moments that were named anew, which are left alone."""


@dataclass(slots=True)
class _Key:
    """A key as its last record has it, with its watermark; what is kept of it; when it is looked at next."""

    name: object
    watermark: int
    kept: Kept
    look: int | None = None


class ProcessOperator(InTimeOrder):
    """Keeps of each key what the function has, and one look at the moment that it names, besides."""

    def __init__(self, task: Task, op: Process, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context, None)
        (key, value), given = self._takes.pair, task.collection.pair[1]
        function: Callable[..., Any] = getattr(context.load(op.module), op.function)
        asked, answered = asked_of_key(key, value, op.state), answered_of_key(given, op.state)
        self._processing = Processing(function, asked, answered)
        self._of_key = Struct(self._takes.columns.fields[:1])
        self._keys: dict[object, _Key] = {}
        self._looks_at: list[tuple[int, int, object]] = []

    def advance(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        yield from self._gathered(self._next(row, outbox) for row in self._due(watermark))
        yield from self._gathered(self._at_moments(watermark, outbox))

    def _told(self, row: Row, key: object, outbox: Outbox, *, begins: bool) -> list[Row]:
        name, value, time, watermark = row
        found = self._keys.get(key) or _Key(name, cast("int", watermark), Kept())
        given: list[Row] = []
        while (moment := found.kept.moment) is not None and moment <= cast("int", time):
            given += self._called(found, key, None, moment, outbox)
        found.name, found.watermark = name, cast("int", watermark)
        return given + self._called(found, key, value, cast("int", time), outbox)

    def _at_moments(self, watermark: int, outbox: Outbox) -> Iterator[Sequence[Row]]:
        """What the calls give whose moments have come; a moment that was named anew is looked at again then."""
        while self._looks_at and is_closed(self._looks_at[0][0], self._waits, watermark):
            look, _, key = heappop(self._looks_at)
            found = self._keys.get(key)
            if found is None or found.look != look:
                continue
            found.look = None
            if found.kept.moment == look:
                yield self._called(found, key, None, look, outbox)
            else:
                self._remember(found, key)

    def _called(self, found: _Key, key: object, value: object, time: int, outbox: Outbox) -> list[Row]:
        made: list[object] = []
        try:
            made = self._processing.call(found.kept, found.name, value, time)
        except CallFailed as failure:
            of_moment = value is None
            input_, type_ = ((found.name,), self._of_key) if of_moment else ((found.name, value), self._takes.element)
            self._dead(outbox, input_, type_, Failure(failure.reason), failure.detail)
        self._remember(found, key)
        return [(found.name, each, time, found.watermark) for each in made]

    def _remember(self, found: _Key, key: object) -> None:
        """Keep the key, and look at it at its moment, or forget it."""
        moment = found.kept.moment
        if moment is None and found.kept.state is None:
            self._keys.pop(key, None)
            return
        self._keys[key] = found
        if moment is not None and (found.look is None or moment < found.look):
            found.look = moment
            heappush(self._looks_at, (moment, next(self._numbers), key))
            if len(self._looks_at) > 2 * len(self._keys) + _FEW:  # moments that were named anew stay there, as a rule
                looks = ((each.look, name) for name, each in self._keys.items() if each.look is not None)
                self._looks_at = [(look, next(self._numbers), name) for look, name in looks]
                heapify(self._looks_at)

    def _known(self) -> Iterable[Row]:
        for found in self._keys.values():
            kept = found.kept
            yield (found.name, kept.state, kept.moment, kept.rung, found.watermark)

    def _learn(self, row: Row, key: object) -> None:
        name, state, moment, rung, watermark = cast("tuple[Any, ...]", row)
        self._remember(_Key(name, watermark, Kept(state, moment, rung)), key)
