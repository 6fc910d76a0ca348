"""Where feedback comes to the Supervisor: read once from its address, and handed to whoever waits for a call."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from ghcm.runtime.pubsub.cache import START, AsyncMessageCache
from ghcm.runtime.pubsub.envelope import Feedback


class Inbox:
    """Feedback that comes to one address, handed to whoever waits for its call. Run `serve` as a task beside the
    callers.
    """

    def __init__(self, cache: AsyncMessageCache, address: str) -> None:
        self.address = address
        self._cache = cache
        self._followers: dict[str, list[asyncio.Queue[Feedback]]] = {}

    async def serve(self, after: str = START, cache: AsyncMessageCache | None = None) -> None:
        """Read what comes behind this position, until the cache (maybe another than the first) is closed."""
        async for item in (cache or self._cache).feedback(self.address, after):
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
