"""A msg cache on Kafka: a topic of instructions for each cache, one of feedback for each address; what is no
instruction, or can be no call, comes into `<topic>.refused` with the reason.

Instructions lie in a few partitions, by the id of their call: one that is sent twice comes to the same worker. The
workers of a unit are a consumer group. Committed is what lies before the oldest instruction of a partition that has
not ended: calls end in any order, and what has not ended is delivered again after a death or a rebalance. A worker
keeps its name over restarts (as static member), so that its successor goes on at once; others take over after the
lease, and from one that has not asked for three. A topic of feedback has one partition, is read by position and without
a group, and keeps ten minutes: Supervisors that come, go and restart leave nothing behind.
"""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from kafka import KafkaConsumer
from kafka.structs import TopicPartition

from ghcm.errors import GhcmError
from ghcm.fence import Fence, hold
from ghcm.runtime.pubsub.cache import START, Delivery, MessageCache, Positioned
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, decode_feedback, encode
from ghcm.runtime.pubsub.kafka_connection import Brokers, topic_name
from ghcm.runtime.pubsub.kafka_group import INSTRUCTIONS, Group, Held

log = logging.getLogger("ghcm.pubsub")

T = TypeVar("T")

_FEEDBACK = (1, 600)

_SLICE_MS = 250
_CONNECT_SECONDS = 2.0


@dataclass(eq=False)
class KafkaCache:
    """The `MessageCache` at `topic`. `consumer` names this worker: the same after a restart, different from all that
    live beside it; one that is silent for a `lease` (seconds) loses its instructions. Ten seconds outlast the restart
    of a worker, whose successor then goes on at once, and what a busy machine or a pause of Kafka takes.
    """

    brokers: Brokers
    topic: str
    program: str
    consumer: str
    lease: float = 10.0
    fence: Fence | None = None
    _groups: dict[str, Group] = field(default_factory=dict[str, Group])
    _reader: Any = None
    _stands: tuple[str, str] | None = None  # the address and the position that the reader stands behind
    _reading: threading.Lock = field(default_factory=threading.Lock)
    _wakes: int = 0
    _closed: bool = False

    def send(self, instruction: Instruction) -> None:
        hold(self.fence)
        self.brokers.send(topic_name(self.topic), INSTRUCTIONS, encode(instruction), instruction.id)

    def receive(self, unit: str, timeout: float | None = None) -> Delivery | None:
        group = self._groups.get(unit) or self._groups.setdefault(unit, self._group(unit))

        def take(milliseconds: int) -> Held | None:
            held = None
            try:
                hold(self.fence)
                held = group.take(milliseconds)
                hold(self.fence)  # this process may have stood still in between, and others begin with the call
            except GhcmError:
                if held is not None:
                    group.give_back(held)
                group.close(leave=True)  # whoever has the program by now would wait for what is this worker's
                raise
            return held

        with group.turn:
            held = self._await(take, timeout)
        if held is None:
            return None

        def acknowledge(answer: Feedback) -> None:
            hold(self.fence)
            group.settle(held, partial(self._tell, held.instruction.reply, answer))

        def refuse(error: GhcmError) -> None:
            group.settle(held, partial(group.refuse, held.data, error))

        return Delivery(held.instruction, held.attempt, acknowledge, partial(group.give_back, held), refuse)

    def takes(self, unit: str) -> bool:
        return (group := self._groups.get(unit)) is not None and group.joined

    def send_feedback(self, address: str, feedback: Feedback) -> None:
        hold(self.fence)
        self.brokers.send(topic_name(address), _FEEDBACK, encode(feedback), feedback.id)

    def feedback(self, address: str, after: str = START, timeout: float | None = None) -> Sequence[Positioned]:
        with self._reading, self.brokers.told():
            if self._stands != (address, after):
                self._stand(TopicPartition(topic_name(address), 0), after)
            found = self._await(self._read, timeout) or []
            self._stands = address, found[-1].position if found else after
            return found

    def wake(self) -> None:
        self._wakes += 1

    def close(self) -> None:
        self._closed = True
        for group in list(self._groups.values()):
            with group.turn:
                group.close(leave=True)
        with self._reading:
            if self._reader is not None:
                self._reader.close(timeout_ms=1000)

    def _tell(self, address: str | None, answer: Feedback) -> None:
        if address is not None:
            self.brokers.leave(topic_name(address), _FEEDBACK, encode(answer), answer.id)

    def _group(self, unit: str) -> Group:
        options = {
            "group_id": topic_name(f"{self.topic}.{self.program}.{unit}"),
            "group_instance_id": topic_name(self.consumer),
            "session_timeout_ms": int(self.lease * 1000),
            "heartbeat_interval_ms": int(self.lease * 100),
            "max_poll_interval_ms": int(self.lease * 3000),
            "max_poll_records": 100,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
        }
        return Group(self.brokers, topic_name(self.topic), (self.program, unit), options)

    def _await(self, look: Callable[[int], T | None], timeout: float | None) -> T | None:
        """What `look` gives, asked again until it gives something, the time is over or somebody wakes us."""
        end, wakes = None if timeout is None else time.monotonic() + timeout, self._wakes
        while not self._closed and self._wakes == wakes:
            left = _SLICE_MS if end is None else min(_SLICE_MS, max(0, int((end - time.monotonic()) * 1000)))
            found = look(left)
            if found or left == 0:
                return found
        return None

    def _stand(self, partition: Any, after: str) -> None:
        """Behind that offset, or what was sent before that moment."""
        self.brokers.make(partition.topic, *_FEEDBACK, seconds=_CONNECT_SECONDS)
        if self._reader is None:
            more: Any = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
            self._reader = self.brokers.client(KafkaConsumer, _CONNECT_SECONDS, **more)
        self._reader.assign([partition])
        number, is_moment, _ = after.partition("-")
        if is_moment:
            found = self._reader.offsets_for_times({partition: int(number)}, timeout_ms=2000)[partition]
            number = found.offset if found else self._reader.end_offsets([partition], timeout_ms=2000)[partition]
        self._reader.seek(partition, int(number))

    def _read(self, milliseconds: int) -> list[Positioned]:
        """What comes next; a position is the offset behind it."""
        found: list[Positioned] = []
        for record in chain.from_iterable(self._reader.poll(timeout_ms=milliseconds).values()):
            try:
                found.append(Positioned(str(record.offset + 1), decode_feedback(record.value or b"")))
            except GhcmError as error:
                log.warning("%s: record %s is skipped: %s", record.topic, record.offset, error.message)
        return found


class AsyncKafkaCache:
    """An `AsyncMessageCache` over a cache of its own, in threads beside the event loop."""

    def __init__(self, cache: MessageCache) -> None:
        self._cache, self._closed = cache, False
        self._threads = ThreadPoolExecutor(4, "ghcm-kafka")

    async def send(self, instruction: Instruction) -> None:
        await self._run(partial(self._cache.send, instruction))

    async def feedback(self, address: str, after: str = START) -> AsyncIterator[Positioned]:
        while not self._closed:
            try:
                for item in await self._run(partial(self._cache.feedback, address, after)):
                    after = item.position
                    yield item
            except GhcmError as error:
                log.warning("feedback cannot be read just now: %s", error)
                await asyncio.sleep(1)

    async def close(self) -> None:
        self._closed = True
        await self._run(self._cache.close)
        self._threads.shutdown(wait=False)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)
