"""Msg caches, and what sinks hold, in the memory of this process, for unit tests and the embedded engine.

Envelopes are encoded as on the wire.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from ghcm.runtime.pubsub.cache import START, Delivery, MessageCache, Positioned
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, decode_feedback, decode_instruction, encode
from ghcm.runtime.pubsub.redis_connection import BLOCK_SECONDS

T = TypeVar("T")


@dataclass(slots=True)
class _Entry:
    data: bytes
    consumer: str | None = None
    attempts: int = 0


@dataclass(slots=True)
class ProcessMemory:
    """All that rests in this process: caches by topic, feedback by address. `tables` belongs to `memory_sink`,
    `replies` to `reply`.
    """

    entries: dict[str, list[_Entry]] = field(default_factory=dict[str, list[_Entry]])
    feedback: dict[str, list[bytes]] = field(default_factory=dict[str, list[bytes]])
    tables: dict[str, object] = field(default_factory=dict[str, object])
    replies: dict[str, tuple[float, str]] = field(default_factory=dict[str, tuple[float, str]])
    changed: threading.Condition = field(default_factory=threading.Condition)


class MemoryCache:
    """The `MessageCache` at `topic` of `memory`. Closing it, or opening another of the same consumer, gives back what
    it holds.
    """

    def __init__(self, memory: ProcessMemory, topic: str, program: str, consumer: str) -> None:
        self.topic = topic
        self._memory = memory
        self._program = program
        self._consumer = consumer
        self._wakes = 0
        self._closed = False
        self._give_back()

    def send(self, instruction: Instruction) -> None:
        entry = _Entry(encode(instruction))
        with self._memory.changed:
            self._memory.entries.setdefault(self.topic, []).append(entry)
            self._memory.changed.notify_all()

    def receive(self, unit: str, timeout: float | None = None) -> Delivery | None:
        return self._await(lambda: self._take(unit), timeout)

    def send_feedback(self, address: str, feedback: Feedback) -> None:
        data = encode(feedback)
        with self._memory.changed:
            self._memory.feedback.setdefault(address, []).append(data)
            self._memory.changed.notify_all()

    def feedback(self, address: str, after: str = START, timeout: float | None = None) -> Sequence[Positioned]:
        """As `MessageCache.feedback`."""

        def found() -> list[Positioned] | None:
            rest = self._memory.feedback.get(address, [])[int(after) :]
            return [Positioned(str(at), decode_feedback(data)) for at, data in enumerate(rest, int(after) + 1)] or None

        return self._await(found, timeout) or []

    def wake(self) -> None:
        with self._memory.changed:
            self._wakes += 1
            self._memory.changed.notify_all()

    def close(self) -> None:
        self._closed = True
        self._give_back()
        self.wake()

    def _await(self, look: Callable[[], T | None], timeout: float | None) -> T | None:
        end = None if timeout is None else time.monotonic() + timeout
        with self._memory.changed:
            wakes = self._wakes
            while not self._closed and wakes == self._wakes:
                found = look()
                if found is not None:
                    return found
                remaining = None if end is None else end - time.monotonic()
                if remaining is not None and remaining <= 0:
                    return None
                self._memory.changed.wait(remaining)
        return None

    def _take(self, unit: str) -> Delivery | None:
        entries = self._memory.entries.get(self.topic, [])
        held = {decode_instruction(entry.data).id for entry in entries if entry.consumer == self._consumer}
        for entry in entries:
            instruction = decode_instruction(entry.data)
            mine = (instruction.program, instruction.unit) == (self._program, unit)
            if mine and entry.consumer is None and instruction.id not in held:
                entry.consumer = self._consumer
                entry.attempts += 1
                drop = partial(self._drop, entry, instruction.reply)
                return Delivery(instruction, entry.attempts, drop, partial(self._release, entry))
        return None

    def _drop(self, entry: _Entry, reply: str | None, answer: Feedback) -> None:
        if reply is not None:
            self.send_feedback(reply, answer)
        with self._memory.changed:
            entries = self._memory.entries.get(self.topic, [])
            self._memory.entries[self.topic] = [other for other in entries if other is not entry]
            self._memory.changed.notify_all()

    def _release(self, entry: _Entry) -> None:
        with self._memory.changed:
            entry.consumer = None
            self._memory.changed.notify_all()

    def _give_back(self) -> None:
        for entry in list(self._memory.entries.get(self.topic, [])):
            if entry.consumer == self._consumer:
                self._release(entry)


class ThreadedCache:
    """An `AsyncMessageCache` on a blocking one; the threads are the loop's."""

    def __init__(self, cache: MessageCache) -> None:
        self._cache = cache
        self._closed = False

    async def send(self, instruction: Instruction) -> None:
        await asyncio.to_thread(self._cache.send, instruction)

    async def feedback(self, address: str, after: str = START) -> AsyncIterator[Positioned]:
        while not self._closed:
            for item in await asyncio.to_thread(self._cache.feedback, address, after, BLOCK_SECONDS):
                after = item.position
                yield item

    async def close(self) -> None:
        self._closed = True
        self._cache.close()
