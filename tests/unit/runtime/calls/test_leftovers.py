"""What calls leave behind in memory: nothing. The engine's loop keeps the collector from most of its work, so that
what only the collector finds stays for many minutes.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.contract import Operator, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.engine.services import Services
from ghcm.runtime.pubsub.cache import cache_topic
from ghcm.runtime.pubsub.envelope import Instruction, State, new_id, now_us
from ghcm.runtime.sources.memory import RowsSource
from ghcm.spg.graph import Unit
from ghcm.spg.ops import Filter
from tests.unit.runtime import small_operators
from tests.unit.runtime.calls.test_calls import PAIR, answers_at, ask, serving, started
from tests.unit.runtime.small_operators import _X, task

_CALLS = 60


def works(_: pytest.MonkeyPatch) -> None: ...


def fails(patch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Iterable[Batch]:
        raise GhcmError("it is broken", code="GHCM-701")

    patch.setattr(small_operators.Rows, "process", broken)


def waits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RowsSource, "ended", False)
    patch.setattr(RowsSource, "poll", lambda *_: None)


def goes_on(patch: pytest.MonkeyPatch) -> None:
    def endless(self: small_operators.Rows, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        while True:
            time.sleep(0.001)
            yield batch

    patch.setattr(small_operators.Rows, "process", endless)


@contextmanager
def uncollected() -> Generator[None]:
    """The collector rests, as it does in an engine most of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def ours() -> int:
    """How many objects of the runtime there are."""
    return sum(str(type(each).__module__).startswith("ghcm.runtime.") for each in gc.get_objects())


@pytest.mark.parametrize(
    ("called", "how", "state"),
    [
        ("ask", works, State.DONE),
        ("keep", works, State.DONE),
        ("ask", fails, State.FAILED),
        ("ask", waits, State.EXPIRED),
        ("keep", waits, State.EXPIRED),
        ("ask", goes_on, State.EXPIRED),
    ],
)
def test_nothing_is_left_of_calls_that_are_over(
    called: str,
    how: Callable[[pytest.MonkeyPatch], None],
    state: State,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with started(serving(), tmp_path) as (_, connections):
        ask(connections, called)  # what is made once is there
        how(monkeypatch)
        cache = connections.cache(cache_topic("small", called), "small", "test")
        with closing(cache), uncollected():
            before = ours()
            seconds = 0.2 if state is State.EXPIRED else 60
            for _ in range(_CALLS):
                deadline = now_us() + int(seconds * 1_000_000)
                cache.send(Instruction(new_id(), "small", called, reply="all", deadline=deadline))
            assert {answer.state for answer in answers_at(cache, "all", _CALLS)} == {state}
            patience = time.monotonic() + 30  # the last answer is seen before the loop hears of it
            while (left := ours() - before) >= _CALLS and time.monotonic() < patience:
                time.sleep(0.01)
            assert left < _CALLS, f"{left} objects of {_CALLS} calls"
        monkeypatch.undo()


def test_no_thread_is_left_of_a_call_that_cannot_be_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Operator:
        raise GhcmError("it is broken", code="GHCM-701")

    def behind_the_sink(unit: Unit) -> Unit:
        return replace(unit, tasks=(*unit.tasks, task("more", Filter(_X), PAIR, "read")))

    program = serving()
    units = tuple(behind_the_sink(unit) if unit.name == "keep" else unit for unit in program.units)
    before = threading.enumerate()
    with started(replace(program, units=units), tmp_path) as (_, connections):
        with monkeypatch.context() as patch:
            patch.setattr(Services, "operator", broken)
            assert ask(connections, "keep").state is State.FAILED
        writing = [each for each in threading.enumerate() if each.name == "ghcm-keep-to" and each not in before]
        for thread in writing:
            thread.join(30)
        assert not [thread for thread in writing if thread.is_alive()]
