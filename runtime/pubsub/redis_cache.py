"""A msg cache on Redis Streams: one stream per cache, one consumer group per unit.

An entry has one field `e`, the envelope. It leaves the stream when it is acknowledged, so streams do not grow and
nothing unacknowledged is ever trimmed; feedback streams keep ten minutes. A consumer keeps its name over restarts and
first takes what it had been given before; what a consumer holds that has not been heard of for a lease goes to another.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar, cast

import redis
from redis.client import Pipeline

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.cache import START, Delivery, Positioned
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, decode_feedback, encode
from ghcm.runtime.pubsub.redis_connection import (
    BLOCK_SECONDS,
    PATIENCE,
    commands,
    open_async_client,
    open_client,
    stubborn,
    stubborn_async,
)
from ghcm.runtime.pubsub.redis_consumer import Entry, Group, Waiters, ensure_group

log = logging.getLogger("ghcm.pubsub")

T = TypeVar("T")

LEASE_SECONDS = 10.0
"""How long a consumer may be silent before its instructions go to another; a living one is heard of three times as
often.
"""

FEEDBACK_COUNT = 512
"""How much feedback is read at once."""

FEEDBACK_SECONDS = 600
"""How long feedback stays at its address; the call store keeps the final one longer."""


class RedisCache:
    """The `MessageCache` at `topic`. `consumer` names this executor in its groups: the same after a restart, different
    from all that live beside it.
    """

    def __init__(
        self,
        url: str,
        topic: str,
        program: str,
        consumer: str,
        *,
        patience: float = PATIENCE,
        lease: float = LEASE_SECONDS,
    ) -> None:
        self.topic = topic
        self._url = url
        self._program = program
        self._consumer = consumer
        self._patience = patience
        self._lease = lease
        self._client = open_client(url)
        self._closed = threading.Event()
        self._waiters = Waiters(url, patience)
        self._groups: dict[str, Group] = {}
        self._known: set[str] = set()
        self._lock = threading.Lock()
        self._keeper: threading.Thread | None = None

    def send(self, instruction: Instruction) -> None:
        data = encode(instruction)
        group = f"{instruction.program}.{instruction.unit}"

        def attempt() -> None:
            # The group comes first, so that a look at the stream's groups shows every unit that entries wait for.
            if group not in self._known:
                ensure_group(self._client, self.topic, group)
                self._known.add(group)
            self._client.xadd(self.topic, {"e": data})

        self._stubborn(attempt)

    def receive(self, unit: str, timeout: float | None = None) -> Delivery | None:
        group = self._group(unit)
        end = None if timeout is None else time.monotonic() + timeout
        with group.turn, self._waiters.waiting() as waiter:
            while not waiter.woken.is_set():
                remaining = None if end is None else max(0.0, end - time.monotonic())
                entry = self._waiters.stubborn(waiter, partial(group.take, waiter, remaining))
                if entry is not None:
                    return self._delivery(group, entry)
                if end is not None and time.monotonic() >= end:
                    return None
        return None

    def send_feedback(self, address: str, feedback: Feedback) -> None:
        data = encode(feedback)
        self._stubborn(lambda: add_feedback(self._client, address, data))

    def feedback(self, address: str, after: str = START, timeout: float | None = None) -> Sequence[Positioned]:
        end = None if timeout is None else time.monotonic() + timeout
        with self._waiters.waiting() as waiter:
            while not waiter.woken.is_set():
                remaining = None if end is None else max(0.0, end - time.monotonic())

                def read(client: redis.Redis, block: int, after: str = after) -> object:
                    return client.xread({address: after}, count=FEEDBACK_COUNT, block=block)

                reply = self._waiters.stubborn(waiter, partial(waiter.read, read, remaining))
                found, after = positioned(reply, after)
                if found or (end is not None and time.monotonic() >= end):
                    return found
        return []

    def wake(self) -> None:
        self._waiters.wake()

    def close(self) -> None:
        self._closed.set()
        self._waiters.wake(close=True)
        if self._keeper is not None:
            self._keeper.join()
        self._client.close()

    def _stubborn(self, attempt: Callable[[], None]) -> None:
        stubborn(self._url, attempt, patience=self._patience, closed=self._closed)

    def _group(self, unit: str) -> Group:
        with self._lock:
            group = self._groups.get(unit)
            if group is None:
                group = self._groups[unit] = Group(self.topic, self._program, unit, self._consumer, self._lease)
            return group

    def _delivery(self, group: Group, entry: Entry) -> Delivery:
        with self._lock:
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name=f"keep {self.topic}", daemon=True)
                self._keeper.start()

        call, address = entry.instruction.id, entry.instruction.reply

        def acknowledge(answer: Feedback) -> None:
            def tell(pipeline: Pipeline) -> None:
                if address is not None:
                    _add_feedback(pipeline, address, encode(answer))

            try:
                self._stubborn(lambda: group.acknowledge(self._client, call, tell))
            except GhcmError:
                group.give_back(call)
                raise

        return Delivery(entry.instruction, entry.attempt, acknowledge, lambda: group.give_back(call))

    def _keep(self) -> None:
        """Renew the lease on what is worked on."""
        while not self._closed.wait(self._lease / 3):
            try:
                for group in list(self._groups.values()):
                    group.keep(self._client)
            except redis.RedisError as error:
                log.info("%s: the lease is not renewed: %s", self.topic, error)


class AsyncRedisCache:
    """An `AsyncMessageCache` on Redis. To be made and used in one event loop."""

    def __init__(self, url: str, topic: str, *, patience: float = PATIENCE) -> None:
        self.topic = topic
        self._url = url
        self._patience = patience
        self._client = open_async_client(url)
        self._groups: set[str] = set()
        self._closed = asyncio.Event()

    async def send(self, instruction: Instruction) -> None:
        data = encode(instruction)
        group = f"{instruction.program}.{instruction.unit}"

        async def attempt() -> None:
            if group not in self._groups:
                await self._make_group(group)
            await self._client.xadd(self.topic, {"e": data})

        await self._stubborn(attempt, self._patience)

    async def feedback(self, address: str, after: str = START) -> AsyncIterator[Positioned]:
        block = int(BLOCK_SECONDS * 1000)
        while not self._closed.is_set():

            async def read(after: str = after) -> object:
                return await self._client.xread({address: after}, count=FEEDBACK_COUNT, block=block)

            try:
                reply = await self._stubborn(read, None)
            except GhcmError:
                if self._closed.is_set():
                    return
                raise
            found, after = positioned(reply, after)
            for item in found:
                yield item

    async def close(self) -> None:
        self._closed.set()
        await self._client.aclose()  # which ends a read that blocks: it has lost its connection

    async def _make_group(self, group: str) -> None:
        try:
            await self._client.xgroup_create(self.topic, group, "0", mkstream=True)
        except redis.ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
        self._groups.add(group)

    async def _stubborn(self, attempt: Callable[[], Awaitable[T]], patience: float | None) -> T:
        return await stubborn_async(self._url, attempt, patience=patience, closed=self._closed)


def add_feedback(client: redis.Redis, address: str, data: bytes) -> None:
    """Append an encoded feedback, drop what is older than `FEEDBACK_SECONDS`, and let the whole address go when it is
    silent.
    """
    with commands(client).pipeline(transaction=True) as pipeline:
        _add_feedback(pipeline, address, data)
        pipeline.execute()


def _add_feedback(pipeline: Pipeline, address: str, data: bytes) -> None:
    pipeline.xadd(address, {"e": data}, minid=oldest_kept(), approximate=True)
    pipeline.expire(address, 2 * FEEDBACK_SECONDS)


def oldest_kept() -> str:
    """The id of the oldest feedback that is kept."""
    return f"{int((time.time() - FEEDBACK_SECONDS) * 1000)}-0"


def positioned(reply: object, after: str) -> tuple[list[Positioned], str]:
    """The feedback in the answer of XREAD and the position behind it; what cannot be read is reported and skipped."""
    found: list[Positioned] = []
    streams = cast("list[tuple[bytes, list[tuple[bytes, dict[bytes, bytes]]]]]", reply or [])
    for address, entries in streams:
        for id, fields in entries:
            after = id.decode()
            try:
                found.append(Positioned(after, decode_feedback(fields.get(b"e", b""))))
            except GhcmError as error:
                log.warning("%s: entry %s is skipped: %s", address.decode(errors="replace"), after, error.message)
    return found, after
