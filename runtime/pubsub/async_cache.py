"""The caller's side of a msg cache in an event loop: sending instructions, following feedback.

`Inbox` is what a server with many waiting callers uses: one reader of one address for all of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import redis

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.cache import START, AsyncMessageCache, MessageCache, Placed
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, encode
from ghcm.runtime.pubsub.redis_cache import FEEDBACK_COUNT, placed
from ghcm.runtime.pubsub.redis_connection import BLOCK_SECONDS, LOST, PATIENCE, failed, open_async_client

if TYPE_CHECKING:
    from collections.abc import Generator


T = TypeVar("T")

_PAUSES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds before the first, second, ... repeated attempt; the last one holds for all further ones."""


class AsyncRedisCache:
    """An `AsyncMessageCache` on Redis. To be made and used in one event loop."""

    def __init__(self, url: str, place: str, *, patience: float = PATIENCE) -> None:
        self.place = place
        self._url = url
        self._patience = patience
        self._client = open_async_client(url)
        self._groups: set[str] = set()
        self._closed = asyncio.Event()

    async def send(self, instruction: Instruction) -> None:
        """As `AsyncMessageCache.send`."""
        data = encode(instruction)
        group = f"{instruction.program}.{instruction.unit}"

        async def attempt() -> None:
            if group not in self._groups:
                await self._make_group(group)
            await self._client.xadd(self.place, {"e": data})

        await self._stubborn(attempt, self._patience)

    async def feedback(self, address: str, after: str = START) -> AsyncIterator[Placed]:
        """As `AsyncMessageCache.feedback`."""
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
            found, after = placed(reply, after)
            for item in found:
                yield item

    async def close(self) -> None:
        """As `AsyncMessageCache.close`."""
        self._closed.set()
        await self._client.aclose()  # which ends a read that blocks: it has lost its connection

    async def _make_group(self, group: str) -> None:
        try:
            await self._client.xgroup_create(self.place, group, "0", mkstream=True)
        except redis.ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
        self._groups.add(group)

    async def _stubborn(self, attempt: Callable[[], Awaitable[T]], patience: float | None) -> T:
        """What `attempt` gives, repeated while the server is away; for ever where `patience` is None."""
        end = None if patience is None else time.monotonic() + patience
        tries = 0
        while True:
            try:
                return await attempt()
            except LOST as error:
                if self._closed.is_set() or (end is not None and time.monotonic() >= end):
                    raise failed(self._url, error) from error
            except redis.RedisError as error:
                raise failed(self._url, error) from error
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), _PAUSES[min(tries, len(_PAUSES) - 1)])
            tries += 1


class ThreadedCache:
    """An `AsyncMessageCache` on a blocking one; the threads are the loop's."""

    def __init__(self, cache: MessageCache) -> None:
        self._cache = cache
        self._closed = False

    async def send(self, instruction: Instruction) -> None:
        """As `AsyncMessageCache.send`."""
        await asyncio.to_thread(self._cache.send, instruction)

    async def feedback(self, address: str, after: str = START) -> AsyncIterator[Placed]:
        """As `AsyncMessageCache.feedback`."""
        while not self._closed:
            for item in await asyncio.to_thread(self._cache.feedback, address, after, BLOCK_SECONDS):
                after = item.position
                yield item

    async def close(self) -> None:
        """As `AsyncMessageCache.close`."""
        self._closed = True
        self._cache.close()


class Inbox:
    """Feedback that comes to one address, handed to whoever waits for its call. Run `serve` as a task beside the
    callers.
    """

    def __init__(self, cache: AsyncMessageCache, address: str) -> None:
        self.address = address
        self._cache = cache
        self._followers: dict[str, list[asyncio.Queue[Feedback]]] = {}

    async def serve(self, after: str = START) -> None:
        """Read what comes behind this position, until the cache is closed."""
        async for item in self._cache.feedback(self.address, after):
            for queue in self._followers.get(item.feedback.id, ()):
                queue.put_nowait(item.feedback)

    @contextmanager
    def follow(self, id: str) -> Generator[asyncio.Queue[Feedback]]:
        """The feedback of this call from now on. Follow first, then look into the call store, so that nothing is
        missed.
        """
        queue: asyncio.Queue[Feedback] = asyncio.Queue()
        self._followers.setdefault(id, []).append(queue)
        try:
            yield queue
        finally:
            followers = self._followers[id]
            followers.remove(queue)
            if not followers:
                del self._followers[id]
