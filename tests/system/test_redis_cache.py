"""Msg caches on a real Redis: every instruction arrives, whoever dies, and nothing else is left behind."""

import asyncio
import json
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest
import redis

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.cache import Delivery
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import LIMIT, Feedback, Instruction, State, encode, new_id
from ghcm.runtime.pubsub.redis_cache import AsyncRedisCache, RedisCache
from ghcm.runtime.sinks.keyed import KeyedForm
from ghcm.runtime.sinks.redis_sink import RedisWriter
from ghcm.runtime.sinks.reply import load_reply, reply_text, store_reply
from ghcm.spg.connectors import Mode
from ghcm.types import Field, String, Struct
from tests.system.private_redis import PrivateRedis

pytestmark = pytest.mark.system


class Server(Protocol):
    url: str

    def connect(self) -> "redis.Redis": ...


class Caches:
    """Opens caches at one new place and closes them."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.place = f"cache-{uuid.uuid4().hex}"
        self.stack = ExitStack()

    def open(self, consumer: str = "engine", program: str = "p", lease: float = 10.0) -> RedisCache:
        cache = RedisCache(self.url, self.place, program, consumer, lease=lease)
        self.stack.callback(cache.close)
        return cache


@pytest.fixture
def caches(redis_server: Server) -> Iterator[Caches]:
    caches = Caches(redis_server.url)
    with caches.stack:
        yield caches


@pytest.fixture
def client(redis_server: Server) -> Iterator["redis.Redis"]:
    with redis_server.connect() as client:
        yield client


def instruction(id: str = "", unit: str = "u", program: str = "p") -> Instruction:
    return Instruction(id or new_id(), program, unit, {"depth": 3}, reply="here")


def done(delivery: Delivery) -> Feedback:
    return Feedback(delivery.instruction.id, State.DONE)


def test_an_instruction_is_received_once_and_leaves_nothing(caches: Caches, client: "redis.Redis") -> None:
    cache, sent = caches.open(), instruction()
    cache.send(sent)
    delivery = cache.receive("u", 30)
    assert delivery is not None
    assert (delivery.instruction, delivery.attempt) == (sent, 1)
    assert cache.receive("u", 0) is None
    delivery.acknowledge(done(delivery))
    assert client.xlen(caches.place) == 0
    assert client.xpending(caches.place, "p.u")["pending"] == 0


def test_instructions_come_in_the_order_they_were_sent(caches: Caches) -> None:
    cache = caches.open()
    sent = [instruction() for _ in range(20)]
    for one in sent:
        cache.send(one)
    received = [cache.receive("u", 30) for _ in sent]
    assert [delivery and delivery.instruction for delivery in received] == sent


def test_a_restarted_consumer_first_gets_what_it_left(caches: Caches) -> None:
    first, sent = caches.open("engine"), [instruction(), instruction()]
    first.send(sent[0])
    assert first.receive("u", 30) is not None
    second = caches.open("engine")  # the first was killed
    second.send(sent[1])
    deliveries = [second.receive("u", 30), second.receive("u", 30)]
    assert [(d.instruction, d.attempt) for d in deliveries if d] == [(sent[0], 2), (sent[1], 1)]
    assert second.receive("u", 0) is None


def test_a_slow_but_living_consumer_keeps_what_it_holds(caches: Caches) -> None:
    slow, other = caches.open("engine-1", lease=1.0), caches.open("engine-2", lease=1.0)
    slow.send(instruction())
    delivery = slow.receive("u", 30)
    assert delivery is not None
    assert other.receive("u", 2.0) is None  # two leases
    delivery.acknowledge(done(delivery))
    assert other.receive("u", 0.5) is None


def test_what_is_no_instruction_is_put_aside(caches: Caches, client: "redis.Redis") -> None:
    cache, sent = caches.open(), instruction()
    client.xadd(caches.place, {"e": b"junk"})
    client.xadd(caches.place, {"other": b"field"})
    cache.send(sent)
    delivery = cache.receive("u", 30)
    assert delivery is not None
    assert delivery.instruction == sent
    refused = client.xrange(f"{caches.place}:refused") or []
    assert [fields and fields[b"e"] for _, fields in refused] == [b"junk", b""]
    assert client.xlen(caches.place) == 1


def test_silent_addresses_go_away(caches: Caches, client: "redis.Redis") -> None:
    cache, address = caches.open(), f"fb-{caches.place}"
    cache.send_feedback(address, Feedback("c", State.DONE))
    assert 0 < client.ttl(address) <= 120


def test_feedback_that_nobody_asks_for_again_takes_no_memory(caches: Caches, client: "redis.Redis") -> None:
    cache, address = caches.open(), f"fb-{caches.place}"
    answer, before = encode(Feedback("c", State.DONE)), int((time.time() - 90) * 1000)
    with client.pipeline(transaction=False) as pipeline:
        for number in range(1000):
            pipeline.xadd(address, {"e": answer}, id=f"{before}-{number + 1}")
        pipeline.execute()
    cache.send_feedback(address, Feedback("d", State.DONE))
    assert client.xlen(address) <= 101, "whole nodes go, of a hundred entries each"
    assert [placed.feedback.id for placed in cache.feedback(address, after=f"{before}-1000")] == ["d"]


def test_instructions_on_the_wire_hold_no_data(redis_server: Server, tmp_path: Path) -> None:
    """A whole call, seen from the server: rows go into sinks and replies, envelopes name them."""
    columns = Struct((Field("word", String()),))
    connections = Connections(tmp_path, redis_server.url)
    place = f"wire-{uuid.uuid4().hex}"
    with redis_server.connect() as client, client.monitor() as monitor:
        writer = RedisWriter(
            connections, place, KeyedForm(columns, lambda row: row[0], String()), Mode.REPLACE, "w", None
        )
        writer.write([("DATA-IN-A-SINK",)])
        writer.prepare("v1")
        writer.commit("v1")
        cache = RedisCache(redis_server.url, f"{place}-calls", "p", "engine")
        cache.send(Instruction("c1", "p", "u", {"n": 1}, f"{place}-fb", versions={"words": "v1"}))
        delivery = cache.receive("u", 30)
        assert delivery is not None
        store_reply(connections, "c1", reply_text([("DATA-IN-A-REPLY",)], columns))
        delivery.acknowledge(Feedback("c1", State.DONE, rows=1))
        cache.close()
        connections.redis().echo("THE END")
        seen: list[str] = []
        for command in monitor.listen():
            seen.append(str(command["command"]))
            if "THE END" in seen[-1]:
                break
    envelopes = [command for command in seen if command.startswith("XADD") and place in command]
    assert len(envelopes) == 2
    assert not any("DATA" in command for command in envelopes)
    assert all(len(command) < LIMIT for command in envelopes)
    assert any(command.startswith("HSET") and "DATA-IN-A-SINK" in command for command in seen)
    assert load_reply(connections, "c1") == '[{"word":"DATA-IN-A-REPLY"}]'
    connections.close()


def test_an_instruction_over_the_limit_never_reaches_the_wire(caches: Caches, client: "redis.Redis") -> None:
    with pytest.raises(GhcmError, match="too large"):
        caches.open().send(Instruction("c1", "p", "u", {"text": "x" * LIMIT}))
    assert not client.exists(caches.place)


# --- the server dies -------------------------------------------------------------------------------------------------


def test_killing_the_server_while_sending_loses_nothing_acknowledged(tmp_path: Path) -> None:
    server = PrivateRedis(tmp_path / "redis")
    publisher = RedisCache(server.start(), "k", "p", "publisher")
    executor = RedisCache(server.url, "k", "p", "engine")
    total, acknowledged, received = 3000, [], set[str]()

    def publish() -> None:
        for number in range(total):
            publisher.send(Instruction(f"c{number}", "p", "u"))
            acknowledged.append(f"c{number}")

    def execute() -> None:
        while len(received) < total:
            delivery = executor.receive("u", 30)
            if delivery is None:
                return
            received.add(delivery.instruction.id)
            delivery.acknowledge(done(delivery))

    threads = [threading.Thread(target=publish), threading.Thread(target=execute)]
    for thread in threads:
        thread.start()
    kills = 0
    while any(thread.is_alive() for thread in threads):
        if len(acknowledged) < total and kills < 5 and len(acknowledged) >= kills * 500 + 200:
            server.kill()
            server.start()
            kills += 1
        threads[0].join(0.005)
        threads[1].join(0.005)
    assert kills == 5
    assert received == set(acknowledged) == {f"c{number}" for number in range(total)}
    with redis.Redis.from_url(server.url) as client:
        assert client.xlen("k") == 0
    publisher.close()
    executor.close()
    server.stop()


def test_waiting_callers_outlive_the_server(tmp_path: Path) -> None:
    server = PrivateRedis(tmp_path / "redis")
    server.start()

    async def follow() -> list[str]:
        cache = AsyncRedisCache(server.url, "k")
        sender = RedisCache(server.url, "k", "p", "engine")
        seen: list[str] = []

        async def read() -> None:
            async for item in cache.feedback("fb"):
                seen.append(item.feedback.id)
                if item.feedback.id == "last":
                    return

        reading = asyncio.create_task(read())
        for number in range(3):
            await asyncio.to_thread(sender.send_feedback, "fb", Feedback(f"before {number}", State.DONE))
            server.kill()
            server.start()
        await asyncio.to_thread(sender.send_feedback, "fb", Feedback("last", State.DONE))
        await asyncio.wait_for(reading, 20)
        await cache.close()
        sender.close()
        return seen

    assert asyncio.run(follow()) == ["before 0", "before 1", "before 2", "last"]
    server.stop()


def test_an_envelope_is_plain_json() -> None:
    assert json.loads(encode(instruction("c1")))["parameters"] == {"depth": 3}
