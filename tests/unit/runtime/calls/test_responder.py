"""Calls at hand of units that a growing program has no more, calls that find no room, and calls whose Redis refuses."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest

from ghcm.fence import Fence, Lease, awake, note_lease
from ghcm.runtime.calls import responder
from ghcm.runtime.jobs.calls import CallStore
from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.pubsub.cache import MessageCache, cache_topic
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State, now_us
from ghcm.runtime.pubsub.redis_connection import commands
from ghcm.runtime.sinks.reply import store_reply
from ghcm.runtime.sinks.sink import latest_version
from ghcm.runtime.sinks.table_sink import TableWriter
from ghcm.runtime.slot.engine import Engine
from ghcm.spg.connectors import Mode, Parquet
from tests.redis_server import connected
from tests.system.running import until
from tests.unit.runtime.calls.test_calls import answers_at, ask, serving, started
from tests.unit.runtime.small_operators import Compiled, rows_of

WITHOUT = replace(serving(), units=tuple(unit for unit in serving().units if unit.name != "ask"))


@contextmanager
def retiring(base: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[tuple[Engine, MessageCache, Event]]:
    """An engine that has no unit "ask" any more, whose one call may be answered when the event says so."""
    finish, answering, may_answer = CallStore.finish, Event(), Event()

    def slow(self: CallStore, id: str, feedback: Feedback, reply: str | None) -> Feedback:
        answering.set()
        assert may_answer.wait(60)
        return finish(self, id, feedback, reply)

    monkeypatch.setattr(CallStore, "finish", slow)
    with started(serving(), base) as (running, connections):
        cache = connections.cache(cache_topic("small", "ask"), "small", "test")
        cache.send(Instruction("last", "small", "ask", reply="last"))
        assert answering.wait(60)
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


class Disk:
    """A disk under all tables that is full until `free` is called; `refused` counts what found no room."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *phases: str) -> None:
        self.refused = 0
        self._full = True
        for phase in phases:
            monkeypatch.setattr(TableWriter, phase, self._refusing(getattr(TableWriter, phase)))

    def free(self) -> None:
        self._full = False

    def _refusing(self, method: Callable[..., object]) -> Callable[..., object]:
        def refusing(*given: object) -> object:
            if self._full:
                self.refused += 1
                raise OSError(errno.ENOSPC, "No space left on device")
            return method(*given)

        return refusing


def waiting(base: Path, id: str) -> str:
    """What a call waits for, once it does."""
    store = open_store(base / "jobs.sqlite")
    try:
        found = ""

        def waits() -> str:
            nonlocal found
            call = store.calls.get(id)
            assert call is None or not call.final, call
            found = "" if call is None else call.waits_for
            return found

        until(waits, "the call to wait")
        return found
    finally:
        store.close()


@pytest.mark.parametrize("phase", ["write", "prepare", "commit"])
def test_a_call_whose_sink_finds_no_room_waits_and_is_done_when_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    monkeypatch.setattr(responder, "MENDED_US", 100_000)
    program = serving()
    with started(program, tmp_path) as (running, connections):
        disk = Disk(monkeypatch, phase)
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(ask, connections, "keep", id="the-call")
            assert "No space left on device. It goes on when that has passed." in waiting(tmp_path, "the-call")
            assert ask(connections, "ask").state is State.DONE
            until(lambda: disk.refused > 2, "the call to be tried again")
            disk.free()
            answer = asked.result(60)
        assert (answer.state, answer.rows) == (State.DONE, 5), answer

        def counted() -> dict[str, object]:
            return cast("dict[str, dict[str, object]]", running.status()["units"])["keep"]

        until(lambda: counted()["answered"], "the call to be counted")
        assert (counted()["answered"], counted()["failed"]) == (1, 0)
    assert len(rows_of(program, "copies", tmp_path)) == 5


def test_a_call_that_waits_for_room_expires_at_its_deadline_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with started(serving(), tmp_path) as (_, connections), ThreadPoolExecutor(1) as threads:
        Disk(monkeypatch, "write")
        deadline = now_us() + 300_000_000
        asked = threads.submit(ask, connections, "keep", id="late", deadline=deadline)
        waiting(tmp_path, "late")
        store = open_store(tmp_path / "jobs.sqlite")
        store.calls.expire_overdue(deadline)
        store.close()
        answer = asked.result(60)
        assert answer.state is State.EXPIRED
        assert answer.error is not None and "No space left on device" in answer.error.detail, answer


def test_a_call_fails_that_finds_no_room_where_nothing_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with started(serving(), tmp_path, waits=False) as (_, connections):
        Disk(monkeypatch, "write")
        answer = ask(connections, "keep")
        assert answer.error is not None and answer.error.code == "GHCM-731", answer


def test_calls_in_order_wait_behind_one_that_finds_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responder, "MENDED_US", 100_000)
    program = serving()
    program = replace(program, sinks=(replace(program.sinks[0], mode=Mode.REPLACE),))
    with started(program, tmp_path) as (_, connections):
        disk = Disk(monkeypatch, "commit")
        with ThreadPoolExecutor(2) as threads:
            first = threads.submit(ask, connections, "keep", id="first")
            waiting(tmp_path, "first")
            second = threads.submit(ask, connections, "keep", id="second")
            until(lambda: disk.refused > 2, "the first to be tried again")
            assert not second.done()
            disk.free()
            assert [first.result(60).state, second.result(60).state] == [State.DONE, State.DONE]
    assert latest_version(program.sinks[0], connections) == "second"


@pytest.mark.parametrize("waits", [True, False])
def test_a_call_whose_sink_another_daemon_has_written_since_waits_for_the_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    monkeypatch.setattr(responder, "MENDED_US", 100_000)
    program, fence = serving(), Fence("small", tmp_path / "leases")
    program = replace(program, sinks=(replace(program.sinks[0], connector=Parquet("copies")),))
    fence.folder.mkdir()

    def lease(token: int) -> None:
        note_lease(fence.file, Lease("somebody", token, awake() + 1e6))

    with started(program, tmp_path, waits=waits) as (_, connections), ThreadPoolExecutor(1) as threads:
        lease(2)
        connections.fence = fence
        others = connected(tmp_path)
        assert ask(others, "keep").state is State.DONE
        lease(1)  # whose file shows no end yet
        asked = threads.submit(ask, others, "keep", id="the-call")
        assert 'another daemon has taken over program "small"' in waiting(tmp_path, "the-call")
        lease(3)
        assert asked.result(60).state is State.DONE
    assert len(rows_of(program, "copies", tmp_path)) == 10


@contextmanager
def set_otherwise(client: Any, name: str, value: str) -> Generator[None]:
    """The Redis of the tests with another setting for the time of the block, and connections that are new."""
    before = client.config_get(name)[name]
    client.config_set(name, value)
    try:
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        yield
    finally:
        client.config_set(name, before)


@contextmanager
def follows_another(client: Any) -> Generator[None]:
    """The Redis of the tests takes nothing that is written, as a replica."""
    client.execute_command("REPLICAOF", "127.0.0.1", "1")
    try:
        yield
    finally:
        client.execute_command("REPLICAOF", "NO", "ONE")


REFUSALS: dict[str, Callable[[Any], AbstractContextManager[None]]] = {
    "is out of memory": lambda client: set_otherwise(client, "maxmemory", "1"),
    "refuses the password": lambda client: set_otherwise(client, "requirepass", "another"),
    "read only replica": follows_another,
    "good replicas": lambda client: set_otherwise(client, "min-replicas-to-write", "3"),
}
"""Redis as it refuses, by what is said of it."""


@pytest.mark.parametrize("said", REFUSALS)
def test_a_call_whose_answer_redis_refuses_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setattr(responder, "MENDED_US", 100_000)
    monkeypatch.setattr(responder, "LARGEST", 0)  # larger ones than this are kept in Redis
    reached, may_go_on = Event(), Event()

    def stored(*given: Any) -> None:
        reached.set()
        assert may_go_on.wait(60)
        store_reply(*given)

    monkeypatch.setattr(responder, "store_reply", stored)
    with started(serving(), tmp_path) as (running, connections):
        client: Any = commands(connections.redis()).client()
        connections.patience = 0.1
        cache = connections.cache(cache_topic("small", "ask"), "small", "test")
        cache.send(Instruction("the-call", "small", "ask", reply="the-reply"))
        assert reached.wait(60)
        with REFUSALS[said](client):
            may_go_on.set()
            if said in ("is out of memory", "refuses the password"):
                assert f"{said}. It goes on when that has passed." in waiting(tmp_path, "the-call")
            else:
                until(lambda: said in str(trouble(running)), "the answer to be tried again")
        [answer] = answers_at(cache, "the-reply", 1)
        assert (answer.state, answer.rows) == (State.DONE, 5), answer


def trouble(running: Engine) -> object:
    """What unit "ask" has with storing its answers; empty where there is none."""
    return cast("dict[str, dict[str, object]]", running.status()["units"])["ask"]["trouble"] or ""
