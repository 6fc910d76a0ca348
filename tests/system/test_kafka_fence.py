"""Topics and msg caches on a real Kafka, of a daemon whose program another has taken over."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ghcm.errors import GhcmError
from ghcm.fence import awake, note_lease
from ghcm.runtime.pubsub.cache import Topic
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State
from ghcm.runtime.pubsub.kafka_connection import topic_name
from ghcm.runtime.pubsub.kafka_group import Group
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.sinks.sink import open_writer
from ghcm.runtime.worker import may_pass
from tests.conformance.live_runs import checked
from tests.kafka_server import brokers, kafka, messages, new_topic
from tests.redis_server import RedisServer
from tests.unit.test_fence import Daemons

pytestmark = pytest.mark.system

SINK = """program fenced
record Visit { user: string, n: int }
sink out = kafka("TOPIC", key = v => v.user, delivery = DELIVERY, record = Visit)
stream u { files("visits.jsonl", format = json).as(Visit).to(out) }
"""


@pytest.fixture
def daemons(redis_server: RedisServer, tmp_path: Path) -> Daemons:
    return Daemons(redis_server, tmp_path)


def connections(daemons: Daemons, name: str) -> Connections:
    return replace(daemons.connections(name), kafka=kafka())


def take_over(daemons: Daemons) -> None:
    """Have the first sleep for longer than its lease, and the second take the program meanwhile."""
    daemons.lapse()
    daemons.take("second")
    fence = daemons.fences["first"]
    note_lease(fence.file, replace(fence.held(), until=awake()))


def workers(group: str) -> list[str]:
    """The names of those that share the calls of a unit."""
    with brokers().admin() as manager:
        told = manager.describe_groups([topic_name(group)])[topic_name(group)]
    return [each["group_instance_id"] for each in told["members"]]


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_a_topic_gets_nothing_from_whoever_had_the_program_before(daemons: Daemons, delivery: str) -> None:
    topic = new_topic([], [])
    sink = checked(SINK.replace("TOPIC", topic).replace("DELIVERY", delivery)).sinks[0]

    def writer(name: str) -> SinkWriter:
        found = connections(daemons, name)
        return open_writer(sink, found, writer=f"{topic}.{name}", key=lambda row: row[0], staging=daemons.folder / name)

    daemons.take("first")
    old = writer("first")
    old.recover()
    old.write([("a", 1)])
    old.prepare("v1")
    old.commit("v1")
    old.write([("b", 2)])
    old.prepare("v2")
    take_over(daemons)
    seen = messages(topic)
    new = writer("second")
    new.recover()
    new.write([("c", 3)])
    new.prepare("v3")
    new.commit("v3")
    (before,), (after,) = seen, messages(topic)
    steps: list[Callable[[], object]] = [
        lambda: old.commit("v2"),
        lambda: old.abort("v2"),
        lambda: old.prepare("v4"),
        lambda: old.recover(["v2"]),
    ]
    steps += [lambda: old.write([("d", 4)])] if delivery == "at_least_once" else []
    for step in steps:
        with pytest.raises(GhcmError, match="without its lease") as refused:
            step()
        assert refused.value.code == "GHCM-729" and may_pass(refused.value)  # so it waits to be told what has become
    for each in (old, new):
        each.close()
    assert [value for _, _, value, _ in before if b'"n":1' in (value or b"")] == [b'{"user":"a","n":1}']
    assert len(after) == len(before) + 1
    assert messages(topic) == [after]


def test_a_cache_on_kafka_takes_and_answers_nothing_for_whoever_had_the_program_before(
    daemons: Daemons, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemons.take("first")
    program, address = daemons.program, f"{daemons.program}:feedback"
    place, replies = Topic(f"{program}:calls", log=True), Instruction("1", program, "unit", reply=address)
    old, new, caller = (
        connections(daemons, name).cache(place, program, name) for name in ("first", "second", "caller")
    )
    answer = Feedback("1", State.DONE)
    try:
        caller.send(replies)
        taken = old.receive("unit", 60)
        assert taken is not None
        lease = daemons.fences["first"].held()
        take_over(daemons)
        steps: list[Callable[[], object]] = [
            lambda: taken.acknowledge(answer),
            lambda: old.send(Instruction("2", program, "unit")),
            lambda: old.send_feedback(address, answer),
            lambda: old.receive("unit", 5),
        ]
        for step in steps:
            with pytest.raises(GhcmError, match="without its lease"):
                step()

        note_lease(daemons.fences["first"].file, lease)
        caller.send(replace(replies, id="3"))
        before = Group.take

        def slept(group: Group, milliseconds: int) -> Any:
            """The process stands still between its look at the lease and the instruction that comes."""
            found = before(group, milliseconds)
            if found is not None:
                take_over(daemons)
            return found

        with monkeypatch.context() as patch:
            patch.setattr(Group, "take", slept)
            with pytest.raises(GhcmError, match="without its lease"):
                old.receive("unit", 60)
        assert workers(f"{program}:calls.{program}.unit") == []  # so that its partitions are the second's at once
        ended = set[str]()
        while ended != {"1", "3"}:  # the first has not committed what it took
            found = new.receive("unit", 60)
            assert found is not None and found.instruction.id != "2"
            found.acknowledge(Feedback(found.instruction.id, State.DONE))
            ended.add(found.instruction.id)
        told = list[str]()
        while len(told) < len(ended):
            told += [each.feedback.id for each in caller.feedback(address, timeout=60)]
        assert sorted(told) == ["1", "3"]
    finally:
        for cache in (old, new, caller):
            cache.close()
