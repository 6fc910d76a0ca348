"""What every msg cache promises, on a real Redis and on a real Kafka."""

import asyncio
import json
import threading
import time
import uuid
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import cast

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.calls.ordering import SerialQueue
from ghcm.runtime.calls.receiver import Receiver
from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.pubsub.cache import START, AsyncMessageCache, Delivery, MessageCache
from ghcm.runtime.pubsub.envelope import LIMIT, Feedback, Instruction, State, new_id
from ghcm.runtime.pubsub.kafka_cache import AsyncKafkaCache, KafkaCache
from ghcm.runtime.pubsub.kafka_connection import Brokers, Kafka, topic_name
from ghcm.runtime.pubsub.redis_cache import AsyncRedisCache, RedisCache
from ghcm.supervisor.inbox import Inbox
from tests.kafka_server import brokers, records
from tests.redis_server import shared_server
from tests.system.running import until

pytestmark = pytest.mark.system


class Caches:
    """Opens caches at one new place and closes them."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.place = f"cache:{uuid.uuid4().hex}"
        self.stack = ExitStack()

    def open(self, consumer: str = "engine", program: str = "p", lease: float = 10.0) -> MessageCache:
        cache: MessageCache
        if self.kind == "kafka":
            cache = KafkaCache(brokers(), self.place, program, consumer, lease=lease)
        else:
            cache = RedisCache(shared_server().url, self.place, program, consumer, lease=lease)
        self.stack.callback(cache.close)
        return cache

    def open_async(self) -> AsyncMessageCache:
        if self.kind == "kafka":
            return AsyncKafkaCache(self.open("caller"))
        return AsyncRedisCache(shared_server().url, self.place)

    def put(self, data: bytes) -> None:
        """Send what need not be an instruction."""
        if self.kind == "kafka":
            brokers().send(topic_name(self.place), (4, 3600), data)
        else:
            with shared_server().connect() as client:
                client.xadd(self.place, {"e": data})

    def refused(self) -> dict[bytes, str]:
        """What was put aside, with the reasons."""
        if self.kind == "kafka":
            found = records(f"{topic_name(self.place)}.refused")
            return {each.value: dict(each.headers)["why"].decode() for each in found}
        with shared_server().connect() as client:
            entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", client.xrange(f"{self.place}:refused"))
        return {fields[b"e"]: fields[b"why"].decode() for _, fields in entries}


@pytest.fixture(params=["redis", "kafka"])
def caches(request: pytest.FixtureRequest) -> Iterator[Caches]:
    caches = Caches(request.param)
    with caches.stack:
        yield caches


def instruction(id: str = "", unit: str = "u", program: str = "p") -> Instruction:
    return Instruction(id or new_id(), program, unit, {"depth": 3}, reply="here")


def done(delivery: Delivery) -> Feedback:
    return Feedback(delivery.instruction.id, State.DONE)


def take(cache: MessageCache, count: int, unit: str = "u") -> dict[str, Delivery]:
    """So many deliveries by their calls."""
    found = [cache.receive(unit, 30) for _ in range(count)]
    assert all(found)
    return {delivery.instruction.id: delivery for delivery in found if delivery is not None}


def test_an_instruction_is_received_once(caches: Caches) -> None:
    cache, sent = caches.open(), instruction()
    cache.send(sent)
    delivery = take(cache, 1)[sent.id]
    assert (delivery.instruction, delivery.attempt) == (sent, 1)
    assert cache.receive("u", 0) is None
    delivery.acknowledge(done(delivery))
    cache.close()
    assert caches.open().receive("u", 1) is None


def test_every_instruction_comes(caches: Caches) -> None:
    cache = caches.open()
    sent = [instruction() for _ in range(200)]
    for one in sent:
        cache.send(one)
    assert set(take(cache, 200)) == {one.id for one in sent}
    assert cache.receive("u", 0.5) is None


def test_what_was_sent_before_anyone_listened_is_received(caches: Caches) -> None:
    sent = instruction()
    caches.open("publisher").send(sent)
    assert take(caches.open("engine"), 1)[sent.id].instruction == sent


def test_a_restarted_consumer_gets_what_it_left(caches: Caches) -> None:
    first, sent = caches.open("engine"), [instruction(), instruction()]
    first.send(sent[0])
    take(first, 1)
    second = caches.open("engine")  # the first was killed
    second.send(sent[1])
    assert set(take(second, 2)) == {one.id for one in sent}
    assert second.receive("u", 0.3) is None


def test_what_a_silent_consumer_holds_goes_to_another(caches: Caches) -> None:
    dead, sent = caches.open("engine-1", lease=1.0), instruction()
    dead.send(sent)
    take(dead, 1)
    dead.close()
    assert take(caches.open("engine-2", lease=1.0), 1)[sent.id].instruction == sent


def test_the_same_id_again_is_held_back_while_it_is_worked_on(caches: Caches) -> None:
    cache, sent = caches.open(), instruction("call-1")
    cache.send(sent)
    delivery = take(cache, 1)["call-1"]
    cache.send(sent)
    assert cache.receive("u", 0.5) is None
    delivery.acknowledge(done(delivery))
    assert cache.receive("u", 0.2) is None


def test_what_is_given_back_is_delivered_again_and_blocks_no_other(caches: Caches) -> None:
    cache, sent = caches.open(), [instruction(), instruction()]
    for one in sent:
        cache.send(one)
    first = cache.receive("u", 30)
    assert first is not None
    first.give_back()
    deliveries = take(cache, 2)
    assert {id: delivery.attempt for id, delivery in deliveries.items()} == {
        one.id: 2 if one.id == first.instruction.id else 1 for one in sent
    }
    assert cache.receive("u", 0) is None


def test_what_is_given_back_twice_is_delivered_once(caches: Caches) -> None:
    cache, sent = caches.open(), instruction()
    cache.send(sent)
    first = take(cache, 1)[sent.id]
    first.give_back()
    first.give_back()
    again = take(cache, 1)[sent.id]
    assert cache.receive("u", 0.3) is None
    again.acknowledge(done(again))
    assert cache.receive("u", 0.3) is None


def poison(**fields: object) -> bytes:
    return json.dumps({"v": 1, "id": "c1", "program": "p", "unit": "u", **fields}).encode()


POISON = {
    b"junk": "no JSON",
    poison(unit=5): '"unit" is no str',
    poison(id="taken"): 'belongs to a call of "p.other"',
    poison(id="c\ud800"): "cannot be stored",
    poison(id="c2", parameters={"text": "\ud800"}): "cannot be stored",
    poison(id="c3", parameters={"x": float("nan")}): "cannot be written as JSON",
    poison(id="c4", deadline=10**30): "cannot be stored",
}


@contextmanager
def at_work(receiver: Receiver) -> Generator[None]:
    """It ends where the test fails, too: its thread would leave objects behind in tests that count them."""
    receiver.start()
    try:
        yield
    finally:
        receiver.stop()
        receiver.join(time.monotonic() + 30)


def test_what_can_never_be_a_call_is_put_aside_and_the_next_is_served(caches: Caches, tmp_path: Path) -> None:
    store = open_store(tmp_path / "calls.sqlite")
    store.calls.accept(Instruction("taken", "p", "other"))
    cache, begun = caches.open(), SimpleQueue[Delivery]()
    for data in POISON:
        caches.put(data)
    cache.send(instruction("good"))
    receiver = Receiver("u", cache, store.calls, "engine", SerialQueue(store.calls, "p", ()), begun.put)
    with at_work(receiver):
        served = begun.get(timeout=30)
        served.acknowledge(done(served))
        assert served.instruction.id == "good"
        until(lambda: len(caches.refused()) == len(POISON), "what is refused")
        assert {data: why for data, why in caches.refused().items() if POISON[data] not in why} == {}
    cache.close()
    assert begun.empty()
    assert caches.open().receive("u", 2.0) is None
    store.close()


def test_units_share_a_cache_and_get_their_own(caches: Caches) -> None:
    cache = caches.open()
    sent = [instruction(unit="a"), instruction(unit="b"), instruction(unit="a"), instruction(unit="a", program="q")]
    for one in sent:
        cache.send(one)
    for unit, wanted in (("b", [sent[1]]), ("a", [sent[0], sent[2]])):
        deliveries = take(cache, len(wanted), unit)
        assert set(deliveries) == {one.id for one in wanted}
        assert cache.receive(unit, 0) is None
        for delivery in deliveries.values():
            delivery.acknowledge(done(delivery))
    assert take(caches.open(program="q"), 1, "a")[sent[3].id].instruction == sent[3]


@pytest.mark.parametrize("how", ["wake", "close"])
def test_a_waiting_receiver_is_woken(caches: Caches, how: str) -> None:
    cache = caches.open()
    got: list[object] = []
    threads = [threading.Thread(target=lambda unit=unit: got.append(cache.receive(unit))) for unit in ("u", "v")]
    threads.append(threading.Thread(target=lambda: got.append(cache.feedback(f"none-{caches.place}"))))
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):  # one that had not begun to wait is not woken
        getattr(cache, how)()
        threads[0].join(0.02)
    assert sorted(map(str, got)) == ["None", "None", "[]"]
    if how == "wake":
        cache.send(instruction())
        assert cache.receive("u", 30) is not None
    else:
        assert cache.receive("u") is None


def test_feedback_is_read_on_from_a_position(caches: Caches) -> None:
    cache, address = caches.open(), f"fb-{caches.place}"
    feedbacks = [Feedback(f"c{n}", State.PROGRESS, n / 10) for n in range(5)]
    assert list(cache.feedback(address, START, 0)) == []
    for feedback in feedbacks:
        cache.send_feedback(address, feedback)
    first = list(cache.feedback(address, START, 5))
    while len(first) < 5:
        first += cache.feedback(address, first[-1].position, 5)
    assert [item.feedback for item in first] == feedbacks
    rest = list(cache.feedback(address, first[2].position, 5))
    while len(rest) < 2:
        rest += cache.feedback(address, rest[-1].position, 5)
    assert [item.feedback for item in rest] == feedbacks[3:]
    assert list(cache.feedback(address, first[4].position, 0.1)) == []


def test_feedback_is_read_from_a_moment_on(caches: Caches) -> None:
    cache, address = caches.open(), f"fb-{caches.place}"
    cache.send_feedback(address, Feedback("before", State.DONE))
    moment = int(time.time() * 1000) + 1
    while time.time() * 1000 <= moment:
        pass
    assert list(cache.feedback(address, f"{moment}-0", 0.3)) == []
    cache.send_feedback(address, Feedback("behind", State.DONE))
    for position in (f"{moment}-0", f"{moment - 60_000}-0"):
        found = [item.feedback.id for item in cache.feedback(address, position, 10)]
        assert found[-1] == "behind"
        assert len(found) == (1 if position.startswith(str(moment)) else 2)


def test_a_hundred_callers_wait_at_one_address(caches: Caches) -> None:
    address = f"fb-{caches.place}"
    executor, over = caches.open("engine"), threading.Event()

    def execute() -> None:
        while not over.is_set():
            if (delivery := executor.receive("u", 0.1)) is not None:
                for state in (State.ACCEPTED, State.PROGRESS):
                    executor.send_feedback(address, Feedback(delivery.instruction.id, state))
                delivery.acknowledge(done(delivery))

    async def call(inbox: Inbox, cache: AsyncMessageCache) -> list[State]:
        sent = Instruction(new_id(), "p", "u", reply=address)
        with inbox.follow(sent.id) as feedbacks:
            await cache.send(sent)
            return [(await asyncio.wait_for(feedbacks.get(), 60)).state for _ in range(3)]

    async def callers() -> list[list[State]]:
        cache = caches.open_async()
        inbox = Inbox(cache, address)
        serving = asyncio.create_task(inbox.serve())
        answers = await asyncio.gather(*(call(inbox, cache) for _ in range(100)))
        await cache.close()
        await serving
        return answers

    thread = threading.Thread(target=execute)
    thread.start()
    try:
        assert asyncio.run(callers()) == [[State.ACCEPTED, State.PROGRESS, State.DONE]] * 100
    finally:
        over.set()
        thread.join()  # callers have their answers before it hears that these are stored


def test_an_instruction_over_the_limit_is_refused(caches: Caches) -> None:
    with pytest.raises(GhcmError, match="too large"):
        caches.open().send(Instruction("c1", "p", "u", {"text": "x" * LIMIT}))


def test_a_server_that_is_away_is_reported_without_its_password() -> None:
    settings = Kafka.model_validate({"bootstrap": "127.0.0.1:1", "username": "me", "password": "secret"})
    for cache in (
        RedisCache("redis://me:secret@127.0.0.1:1/0", "k", "p", "c", patience=0.2),
        KafkaCache(Brokers(settings, 0.5), "k", "p", "c"),
    ):
        with pytest.raises(GhcmError) as refused:
            cache.send(instruction())
        assert "cannot be reached" in refused.value.message
        assert "secret" not in f"{refused.value} {settings!r}"
        cache.close()
