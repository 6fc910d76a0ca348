"""Workers that share the calls of a unit as a consumer group on a real Kafka: who comes, goes, dies or is lost."""

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.structs import MemberState

from ghcm.runtime.pubsub.envelope import Instruction
from ghcm.runtime.pubsub.kafka_cache import KafkaCache
from ghcm.runtime.pubsub.kafka_group import Group
from tests.kafka_server import brokers, kafka
from tests.system.test_kafka_cache import Caches, end, take

pytestmark = pytest.mark.system


@pytest.fixture
def caches() -> Iterator[Caches]:
    caches = Caches()
    with caches.stack:
        yield caches


def test_several_workers_share_the_calls(caches: Caches) -> None:
    one, other = caches.open("engine-1", lease=2.0), caches.open("engine-2", lease=2.0)
    got: dict[str, set[str]] = {"engine-1": set(), "engine-2": set()}
    stop = threading.Event()

    def work(cache: KafkaCache) -> None:
        while not stop.is_set():
            delivery = cache.receive("u", 0.5)
            if delivery is not None:
                got[cache.consumer].add(delivery.instruction.id)
                end(delivery)

    threads = [threading.Thread(target=work, args=(cache,)) for cache in (one, other)]
    for thread in threads:
        thread.start()
    sent, number = set[str](), 0
    while not all(got.values()) or not sent <= got["engine-1"] | got["engine-2"]:
        if not all(got.values()):
            one.send(Instruction(f"c{number}", "p", "u"))
            sent.add(f"c{number}")
            number += 1
        threads[0].join(0.02)
    stop.set()
    for thread in threads:
        thread.join()


def test_a_worker_that_the_group_has_lost_joins_again(caches: Caches, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghcm.runtime.pubsub.kafka_group._SILENCE_SECONDS", 0.5)
    worker = caches.open(lease=2.0)
    while not (taking := worker._groups.get("u")) or not taking._consumer.assignment():
        assert worker.receive("u", 0.1) is None
    client: Any = taking._consumer  # what was seen of it under load, once: no heartbeat, nothing assigned
    client._coordinator._disable_heartbeat()
    client._subscription.assign_from_subscribed([])
    worker.send(Instruction("c", "p", "u"))
    assert [delivery.instruction.id for delivery in take(worker, 1)] == ["c"]


class GivesNothing(RangePartitionAssignor):  # type: ignore[misc]
    """What a leader does that has not heard of the topic yet."""

    @classmethod
    def assign(cls, cluster: Any, members: Any) -> Any:
        for member in members:
            member.metadata.topics = []
        return super().assign(cluster, members)


def test_the_successor_of_a_worker_that_had_nothing_takes_calls(
    caches: Caches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ghcm.runtime.pubsub.kafka_group._SILENCE_SECONDS", 0.5)
    worker = caches.open(lease=300.0)
    worker.send(Instruction("c", "p", "u"))
    died = KafkaConsumer(
        **kafka().options(30.0), **worker._group("u")._options, partition_assignment_strategy=[GivesNothing]
    )
    died.subscribe([caches.topic])
    while died.group_metadata().generation_id < 1 or died._coordinator.state is not MemberState.STABLE:
        died.poll(100)
    died.close()
    assert [delivery.instruction.id for delivery in take(worker, 1)] == ["c"]


def test_nobody_is_given_nothing_before_the_topic_is_known(caches: Caches, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ghcm.pubsub")
    worker = caches.open()
    worker.send(Instruction("c", "p", "u"))
    take(worker, 1)
    assert f"{caches.topic}: this worker has 4 of its partitions" in caplog.text
    assert "has 0 of" not in caplog.text


def test_a_worker_without_partitions_waits_where_others_have_them(
    caches: Caches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ghcm.runtime.pubsub.kafka_group._SILENCE_SECONDS", 0.2)
    looked, is_spare = list[bool](), Group._is_spare

    def look(group: Group) -> bool:
        looked.append(is_spare(group))
        return looked[-1]

    monkeypatch.setattr(Group, "_is_spare", look)
    brokers().make(caches.topic, 1, 3600)
    first, spare = caches.open("engine-1"), caches.open("engine-2")
    first.send(Instruction("c1", "p", "u"))
    end(take(first, 1)[0])
    while looked.count(True) < 3:
        assert spare.receive("u", 0.1) is None
        assert first.receive("u", 0.1) is None
    assert all(looked[looked.index(True) :])  # before, it may not have come into the group yet
    first.close()
    first.send(Instruction("c2", "p", "u"))
    assert [delivery.instruction.id for delivery in take(spare, 1)] == ["c2"]


def test_who_closes_leaves_its_successor_in_the_group(caches: Caches) -> None:
    first, second = caches.open("engine", lease=300.0), caches.open("engine", lease=300.0)
    for worker, id in ((first, "c1"), (second, "c2")):
        worker.send(Instruction(id, "p", "u"))
        end(take(worker, 1)[0])
    first.close()
    with brokers().admin() as admin:
        group = f"{caches.topic}.p.u"
        (member,) = admin.describe_groups([group])[group]["members"]
    assert member["group_instance_id"] == "engine"


def test_what_a_closed_worker_held_goes_to_another_at_once(caches: Caches) -> None:
    first, second = caches.open("engine-1", lease=300.0), caches.open("engine-2", lease=300.0)
    sent = {f"c{number}" for number in range(10)}
    for id in sent:
        first.send(Instruction(id, "p", "u"))
    take(first, 10)
    first.close()
    assert {delivery.instruction.id for delivery in take(second, 10)} == sent
