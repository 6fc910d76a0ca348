"""A tasklet whose operator has much to give at once lets others have their turn in between."""

from __future__ import annotations

from threading import get_ident

import pytest

from ghcm.runtime.contract import INFINITY, Operator, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.engine.edge import Edge, End, Watermark
from ghcm.runtime.engine.host import Saved
from ghcm.runtime.engine.inlets import Ends
from ghcm.runtime.engine.instances import Instance
from ghcm.runtime.engine.operator_tasklet import OperatorTasklet
from ghcm.runtime.engine.routes import Direct
from ghcm.runtime.engine.scheduler import Progress, Scheduler
from ghcm.types import Field, Int, Struct

NUMBER = Struct((Field("n", Int()),))


def batch(n: int) -> Batch:
    return Batch.from_rows(NUMBER, [(n,)])


class Thrice(Operator):
    """Gives each batch three times."""

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> list[Batch]:
        return [batch] * 3


class Thrifty(Thrice):
    """What nobody asks to save anything."""

    def save(self) -> dict[int, bytes]:
        raise AssertionError("nobody keeps it")


class Hoards(Thrice):
    """Goes through all that it keeps with each batch and whenever event time goes on; `threads` have done so."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def gathers(self, rows: int) -> bool:
        return True

    def closes(self, watermark: int) -> bool:
        return True

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> list[Batch]:
        self.threads.append(get_ident())
        return super().process(ordinal, batch, outbox)

    def advance(self, watermark: int, outbox: Outbox) -> list[Batch]:
        if watermark == INFINITY:
            return []
        self.threads.append(get_ident())
        return [batch(watermark)] * 3


class Host:
    def __init__(self, *, keeps_state: bool = True) -> None:
        self.keeps_state = keeps_state
        self.scheduler = Scheduler()
        self.ended: list[str] = []

    def acknowledge(self, name: str, snapshot: int, saved: Saved) -> None: ...

    def finished(self, name: str, saved: Saved) -> None:
        self.ended.append(name)

    def failed(self, task: str, error: Exception) -> None:
        raise error

    def mark_dirty(self) -> None: ...

    def dead(self, letter: DeadLetter) -> None: ...


def given(edge: Edge) -> list[object]:
    """What came, batches as they were offered."""
    items: list[object] = []
    while (item := edge.take(1)) is not None:
        items.append(item.rows()[0][0] if isinstance(item, Batch) else item)
    return items


def test_a_step_that_lasts_too_long_goes_on_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghcm.runtime.engine.scheduler._LONG_STEP_S", 0.0)
    taken, gave, host = Edge(), Edge(), Host()
    tasklet = OperatorTasklet(Instance("thrice"), Thrice(), Ends([taken], [0], [Direct(gave)]), host)
    for item in (batch(1), Watermark(5), batch(2), End()):
        taken.offer(item)
    steps: list[tuple[Progress, list[object]]] = []
    while not tasklet.ended:
        steps.append((tasklet.step(), given(gave)))
    assert [progress for progress, _ in steps] == [Progress.WORKED] * len(steps), "whoever has not done asks for a turn"
    assert [items for _, items in steps] == [[1], [1], [1, Watermark(5)], [2], [2], [2, End()]]


def test_a_step_that_is_refused_for_want_of_room_waits_to_be_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghcm.runtime.engine.scheduler._LONG_STEP_S", 0.0)
    taken, gave = Edge(), Edge(rows=1)
    tasklet = OperatorTasklet(Instance("thrice"), Thrice(), Ends([taken], [0], [Direct(gave)]), Host())
    taken.offer(batch(1))
    assert tasklet.step() is Progress.WORKED
    assert tasklet.step() is Progress.WAITING
    assert given(gave) == [1]
    assert tasklet.step() is Progress.WORKED


def test_what_ends_saves_nothing_where_nobody_keeps_it() -> None:
    taken, host = Edge(), Host(keeps_state=False)
    tasklet = OperatorTasklet(Instance("thrifty"), Thrifty(), Ends([taken], [0], [Direct(Edge())]), host)
    taken.offer(End())
    while not tasklet.ended:
        tasklet.step()
    assert host.ended == ["thrifty"]


def test_what_goes_through_all_that_it_keeps_does_so_beside_the_loop() -> None:
    taken, gave, host, operator = Edge(), Edge(rows=1), Host(), Hoards()
    ends, scheduler = Ends([taken], [0], [Direct(gave)]), host.scheduler
    tasklet = OperatorTasklet(Instance("hoards"), operator, ends, host, computes=True)
    came: list[object] = []

    def take() -> None:
        came.extend(given(gave))
        if tasklet.ended:
            scheduler.stop()

    gave.wake_sender = lambda: scheduler.wake(tasklet)
    gave.wake_receiver = lambda: scheduler.post(take)
    for item in (batch(1), Watermark(5), End()):
        taken.offer(item)
    scheduler.wake(tasklet)
    scheduler.run()
    assert came == [1, 1, 1, 5, 5, 5, Watermark(5), End()]
    assert len(operator.threads) == 2, "each call is made once, though there is room for one batch at a time"
    assert get_ident() not in operator.threads
