"""A msg cache on Redis Streams: one stream per cache, one consumer group per unit.

An entry has one field `e`, the envelope. It leaves the stream when it is acknowledged, so streams do not grow and
nothing unacknowledged is ever trimmed; a feedback stream keeps a minute. A consumer keeps its name over restarts and
first takes what it had been given before; what a consumer holds that has not been heard of for a lease goes to another.
"""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, TypeVar, cast

import redis
from redis.client import Pipeline

from ghcm.errors import GhcmError
from ghcm.fence import Fence, hold, write_redis
from ghcm.runtime.pubsub.cache import FEEDBACK_SECONDS, PATIENCE, START, Delivery, Positioned
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, decode_feedback, encode
from ghcm.runtime.pubsub.redis_connection import (
    BLOCK_SECONDS,
    may_be_mended,
    open_async_client,
    open_client,
    stubborn,
    stubborn_async,
)
from ghcm.runtime.pubsub.redis_consumer import Entry, Group, Waiter, Waiters, ensure_group, unless_there

log = logging.getLogger("ghcm.pubsub")

T = TypeVar("T")

LEASE_SECONDS = 10.0
"""How long a consumer may be silent before its instructions go to another; a living one is heard of three times as
often.
"""

FEEDBACK_COUNT = 512
"""How much feedback is read at once."""


@dataclass(eq=False)
class RedisCache:
    """The `MessageCache` at `topic`. `consumer` names this executor in its groups: the same after a restart, different
    from all that live beside it.
    """

    url: str = field(repr=False)
    topic: str
    program: str
    consumer: str
    _: KW_ONLY
    patience: float = PATIENCE
    lease: float = LEASE_SECONDS
    fence: Fence | None = None
    _closed: threading.Event = field(default_factory=threading.Event)
    _groups: dict[str, Group] = field(default_factory=dict[str, Group])
    _known: set[str] = field(default_factory=set[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _keeper: threading.Thread | None = None

    def __post_init__(self) -> None:
        self._client = open_client(self.url)
        self._waiters = Waiters(self.url, self.patience)

    def send(self, instruction: Instruction) -> None:
        data = encode(instruction)
        group = f"{instruction.program}.{instruction.unit}"

        def attempt() -> None:
            # The group comes first, so that a look at the stream's groups shows every unit that entries wait for.
            if group not in self._known:
                ensure_group(self._client, self.topic, group)
                self._known.add(group)
            write_redis(self._client, self.fence, lambda pipe: pipe.xadd(self.topic, {"e": data}))

        self._stubborn(attempt)

    def receive(self, unit: str, timeout: float | None = None) -> Delivery | None:
        group = self._group(unit)

        def take(waiter: Waiter, seconds: float | None) -> Entry | None:
            hold(self.fence)
            entry = group.take(waiter, seconds)
            try:
                hold(self.fence)  # this process may have stood still in between, and others begin with the call
            except GhcmError:
                if entry is not None:
                    group.give_back(entry[0].id)
                raise
            return entry

        with group.turn:
            entry = self._await(take, timeout)
        return None if entry is None else self._delivery(group, entry)

    def takes(self, unit: str) -> bool:
        return True  # whoever reaches the server can

    def send_feedback(self, address: str, feedback: Feedback) -> None:
        data = encode(feedback)

        def attempt() -> None:
            write_redis(self._client, self.fence, lambda pipe: _add_feedback(pipe, address, data))

        self._stubborn(attempt)

    def feedback(self, address: str, after: str = START, timeout: float | None = None) -> Sequence[Positioned]:
        def read(client: redis.Redis, block: int) -> object:
            return client.xread({address: after}, count=FEEDBACK_COUNT, block=block)

        def look(waiter: Waiter, seconds: float | None) -> list[Positioned] | None:
            nonlocal after
            found, after = positioned(waiter.read(read, seconds), after)
            return found or None

        return self._await(look, timeout) or []

    def wake(self) -> None:
        self._waiters.wake()

    def close(self) -> None:
        self._closed.set()
        self._waiters.wake(close=True)
        if self._keeper is not None:
            self._keeper.join()
        self._client.close()

    def _await(self, look: Callable[[Waiter, float | None], T | None], timeout: float | None) -> T | None:
        """What `look` gives, asked again until it gives something, the time is over or somebody wakes us."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._waiters.waiting() as waiter:
            while not waiter.woken.is_set():
                remaining = None if end is None else max(0.0, end - time.monotonic())
                found = self._waiters.stubborn(waiter, partial(look, waiter, remaining))
                if found is not None or (end is not None and time.monotonic() >= end):
                    return found
        return None

    def _write(self, queue: Callable[[Any], object]) -> None:
        write_redis(self._client, self.fence, queue)

    def _stubborn(self, attempt: Callable[[], None]) -> None:
        stubborn(self.url, attempt, patience=self.patience, closed=self._closed)

    def _group(self, unit: str) -> Group:
        with self._lock:
            group = self._groups.get(unit)
            if group is None:
                group = self._groups[unit] = Group(self.topic, self.program, unit, self.consumer, self.lease)
            return group

    def _delivery(self, group: Group, entry: Entry) -> Delivery:
        with self._lock:
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name=f"keep {self.topic}", daemon=True)
                self._keeper.start()

        instruction, attempt = entry
        call, address = instruction.id, instruction.reply

        def acknowledge(answer: Feedback) -> None:
            def tell(pipeline: Pipeline) -> None:
                if address is not None:
                    _add_feedback(pipeline, address, encode(answer))

            try:
                self._stubborn(lambda: group.acknowledge(self._write, call, tell))
            except GhcmError:
                group.give_back(call)
                raise

        def refuse(error: GhcmError) -> None:
            self._stubborn(lambda: group.refuse(self._client, call, error))

        return Delivery(instruction, attempt, acknowledge, lambda: group.give_back(call), refuse)

    def _keep(self) -> None:
        """Renew the lease on what is worked on."""
        while not self._closed.wait(self.lease / 3):
            try:
                for group in list(self._groups.values()):
                    group.keep(self._write)
            except Exception as error:  # the next time, or others take what this one has
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
                with unless_there():
                    await self._client.xgroup_create(self.topic, group, "0", mkstream=True)
                self._groups.add(group)
            await self._client.xadd(self.topic, {"e": data})

        # The call is accepted, so it waits for a server that refuses as for one that is away.
        await self._stubborn(attempt, self._patience, may_be_mended)

    async def feedback(self, address: str, after: str = START) -> AsyncIterator[Positioned]:
        block = int(BLOCK_SECONDS * 1000)
        while not self._closed.is_set():

            async def read(after: str = after) -> object:
                return await self._client.xread({address: after}, count=FEEDBACK_COUNT, block=block)

            try:
                reply = await self._stubborn(read, None, may_be_mended)
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

    async def _stubborn(
        self, attempt: Callable[[], Awaitable[T]], patience: float | None, again: Callable[[BaseException], bool]
    ) -> T:
        return await stubborn_async(self._url, attempt, patience=patience, closed=self._closed, again=again)


def _add_feedback(pipeline: Pipeline, address: str, data: bytes) -> None:
    """Append an encoded feedback, drop what is too old, and let the whole address go when it is silent."""
    oldest = f"{int((time.time() - FEEDBACK_SECONDS) * 1000)}-0"
    pipeline.xadd(address, {"e": data}, minid=oldest, approximate=True)
    pipeline.expire(address, 2 * FEEDBACK_SECONDS)


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
