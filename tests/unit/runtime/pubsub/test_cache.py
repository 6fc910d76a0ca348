"""Msg caches and replies: what callers and executors can rely on."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.cache import Topic
from ghcm.runtime.pubsub.connections import Connections, topic_of
from ghcm.runtime.pubsub.envelope import LIMIT, Feedback, Instruction, State
from ghcm.runtime.sinks.reply import load_reply, store_reply
from ghcm.source import Origin
from ghcm.spg.connectors import Connector, Format, Kafka, Parquet, Redis
from ghcm.spg.graph import Cache, Program, Unit
from ghcm.supervisor.inbox import Inbox
from tests.redis_server import connected

CALL = Instruction("c1", "p", "u", {"n": 1})


@pytest.fixture
def connections(tmp_path: Path) -> Iterator[Connections]:
    found = connected(tmp_path)
    yield found
    found.close()


def test_an_instruction_is_delivered_until_it_is_acknowledged(connections: Connections) -> None:
    first = connections.cache("k", "p", "engine")
    first.send(CALL)
    delivery = first.receive("u", 30)
    assert delivery is not None
    assert (delivery.instruction, delivery.attempt) == (CALL, 1)
    assert first.receive("u", 0) is None
    first.close()
    second = connections.cache("k", "p", "engine")
    again = second.receive("u", 30)
    assert again is not None
    assert again.attempt == 2
    again.give_back()
    third = second.receive("u", 30)
    assert third is not None
    assert third.attempt == 3
    third.acknowledge(Feedback(third.instruction.id, State.DONE))
    assert second.receive("u", 0) is None
    second.close()


def test_who_called_is_told_with_the_acknowledgement(connections: Connections) -> None:
    cache = connections.cache("k", "p", "engine")
    cache.send(replace(CALL, reply="here"))
    delivery = cache.receive("u", 30)
    assert delivery is not None
    assert cache.feedback("here", timeout=0) == []
    delivery.acknowledge(Feedback("c1", State.DONE))
    assert [placed.feedback for placed in cache.feedback("here", timeout=0)] == [Feedback("c1", State.DONE)]


def test_the_same_id_is_held_back_and_other_units_are_not_given_out(connections: Connections) -> None:
    cache = connections.cache("k", "p", "engine")
    for one in (CALL, CALL, Instruction("c2", "p", "other"), Instruction("c3", "q", "u")):
        cache.send(one)
    delivery = cache.receive("u", 30)
    assert delivery is not None
    assert cache.receive("u", 0.1) is None
    other = cache.receive("other", 30)
    assert other is not None
    assert other.instruction.id == "c2"


def test_a_large_instruction_is_refused(connections: Connections) -> None:
    with pytest.raises(GhcmError, match="too large"):
        connections.cache("k", "p", "engine").send(Instruction("c1", "p", "u", {"x": "x" * LIMIT}))


def test_closing_ends_all_waiting(connections: Connections) -> None:
    cache = connections.cache("k", "p", "engine")
    ended: list[object] = []
    threads = [
        threading.Thread(target=lambda: ended.append(cache.receive("u"))),
        threading.Thread(target=lambda: ended.append(cache.feedback("a"))),
    ]
    for thread in threads:
        thread.start()
    cache.close()
    for thread in threads:
        thread.join(30)
    assert sorted(map(str, ended)) == ["None", "[]"]


def test_callers_in_an_event_loop_are_answered(connections: Connections) -> None:
    async def call() -> list[State]:
        executor = connections.cache("k", "p", "engine")
        caller = connections.async_cache("k")
        inbox = Inbox(caller, "here")
        serving = asyncio.create_task(inbox.serve())
        with inbox.follow("c1") as feedbacks:
            await caller.send(CALL)
            delivery = await asyncio.to_thread(executor.receive, "u", 30)
            assert delivery is not None
            executor.send_feedback("here", Feedback("c0", State.DONE))
            executor.send_feedback("here", Feedback("c1", State.PROGRESS, 0.5))
            executor.send_feedback("here", Feedback("c1", State.DONE))
            answers = [(await asyncio.wait_for(feedbacks.get(), 60)).state for _ in range(2)]
        await caller.close()
        await serving
        executor.close()
        return answers

    assert asyncio.run(call()) == [State.PROGRESS, State.DONE]


def test_a_reply_is_kept_under_its_call(connections: Connections) -> None:
    assert load_reply(connections, "c1") is None
    store_reply(connections, "c1", '[{"n":1}]')
    assert load_reply(connections, "c1") == '[{"n":1}]'


@pytest.mark.parametrize(
    ("connector", "place"),
    [
        (Redis("calls"), Topic("calls")),
        (Kafka("topic", Format("json")), Topic("topic", log=True)),
        (None, Topic("ghcm:cache:p:u", log=True)),
    ],
)
def test_the_place_of_a_cache(connector: Connector | None, place: Topic) -> None:
    origin = Origin("p.istream", 1, 1)
    caches = () if connector is None else (Cache("calls", connector, origin),)
    unit = Unit("u", "batch", True, (), "calls" if caches else None, (), origin)
    assert topic_of(Program("p", caches, (), (unit,)), unit) == place


def test_files_carry_no_calls() -> None:
    origin = Origin("p.istream", 1, 1)
    unit = Unit("u", "batch", True, (), "calls", (), origin)
    with pytest.raises(GhcmError, match="only redis and kafka carry calls"):
        topic_of(Program("p", (Cache("calls", Parquet("x"), origin),), (), (unit,)), unit)


def test_what_holds_a_password_does_not_show_it() -> None:
    connections = Connections(Path(), "redis://me:secret@localhost:1/0")
    cache = connections.cache("k", "p", "engine")
    assert "secret" not in f"{connections!r} {cache!r}"
    cache.close()
    connections.close()
