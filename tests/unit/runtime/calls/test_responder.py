"""Units that a growing program has no more, while calls of theirs are at hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from ghcm.runtime.jobs.calls import CallStore
from ghcm.runtime.pubsub.cache import MessageCache, cache_topic
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State
from ghcm.runtime.slot.engine import Engine
from tests.unit.runtime.calls.test_calls import serving, started
from tests.unit.runtime.small_operators import Compiled

WITHOUT = replace(serving(), units=tuple(unit for unit in serving().units if unit.name != "ask"))


@contextmanager
def retiring(base: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Engine, MessageCache, Event]]:
    """An engine that has no unit "ask" any more, whose one call may be answered when the event says so."""
    finish, answering, may_answer = CallStore.finish, Event(), Event()

    def slow(self: CallStore, id: str, feedback: Feedback) -> Feedback:
        answering.set()
        assert may_answer.wait(30)
        return finish(self, id, feedback)

    monkeypatch.setattr(CallStore, "finish", slow)
    with started(serving(), base) as (running, connections):
        cache = connections.cache(cache_topic("small", "ask"), "small", "test")
        cache.send(Instruction("last", "small", "ask", reply="last"))
        assert answering.wait(30)
        running.upgrade(Compiled(WITHOUT), {}, lambda: None)
        yield running, cache, may_answer


def test_an_engine_that_is_stopped_answers_the_calls_of_units_that_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with retiring(tmp_path, monkeypatch) as (running, cache, may_answer), ThreadPoolExecutor(1) as threads:
        stopped = threads.submit(running.stop, 30)
        with pytest.raises(TimeoutError):
            stopped.result(0.1)
        may_answer.set()
        assert stopped.result(30)
        assert [placed.feedback.state for placed in cache.feedback("last", timeout=0)] == [State.DONE]


def test_nothing_is_left_of_units_that_are_gone_when_the_engine_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = threading.enumerate()
    with retiring(tmp_path, monkeypatch) as (running, _, may_answer):
        mine = [each for each in threading.enumerate() if each.name.startswith("ghcm-ask") and each not in before]
        assert mine
        may_answer.set()
        running.close()
        for thread in mine:
            thread.join(30)
        assert not [thread.name for thread in mine if thread.is_alive()]
