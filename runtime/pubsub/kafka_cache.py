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
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, TypeVar, cast

from kafka import ConsumerRebalanceListener, KafkaConsumer, admin
from kafka.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaError,
    UnknownMemberIdError,
)
from kafka.structs import OffsetAndMetadata, TopicPartition

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.cache import START, Delivery, MessageCache, Positioned
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, decode_feedback, decode_instruction, encode
from ghcm.runtime.pubsub.kafka_connection import Brokers, opened, topic_name

log = logging.getLogger("ghcm.pubsub")

T = TypeVar("T")

_KEPT_SECONDS = 20 * 3600
"""Older instructions count for nothing: their calls may be answered and forgotten, and those of open ones are sent
again by who looks after them. Less than the call store remembers answers.
"""

_INSTRUCTIONS = (4, _KEPT_SECONDS)
"""Partitions of a topic, and how many seconds it keeps what it holds; offsets of a group are kept for longer."""
_FEEDBACK = (1, 600)
_REFUSED = (1, 30 * 24 * 3600)

_SLICE_MS = 250
_CONNECT_SECONDS = 2.0
_COMMIT_SECONDS = 0.2
_SILENCE_SECONDS, _IDLE_SECONDS = 5.0, 30.0


@dataclass(slots=True)
class Held:
    """A call whose instruction has come: as it came, and the places (partition, offset) of all that ask for it."""

    instruction: Instruction
    data: bytes
    places: list[tuple[Any, int]]
    attempt: int = 1
    out: bool = False
    """Whether somebody works on it."""


class Group(ConsumerRebalanceListener):  # type: ignore[misc]
    """What a worker takes for the unit of that program; `turn` is the lock of who takes."""

    def __init__(self, brokers: Brokers, topic: str, unit: tuple[str, str], options: dict[str, Any]) -> None:
        self.turn, self._lock = threading.Lock(), threading.Lock()
        self._brokers, self._topic, self._unit, self._options = brokers, topic, unit, options
        self._consumer: Any = None
        self._waiting = deque[str]()
        self._held: dict[str, Held] = {}
        self._open: dict[Any, set[int]] = {}  # partition -> offsets of what has not ended
        self._next: dict[Any, int] = {}  # partition -> the offset behind what was taken since it is ours
        self._committed: dict[Any, int] = {}
        self._commit_at, self._joined, self._asked, self._heard = 0.0, 0.0, time.monotonic(), time.monotonic()

    def take(self, milliseconds: int) -> Held | None:
        """The next call that nobody works on; None if none comes in time."""
        try:
            with self._brokers.told(self._topic):
                if not self._waiting:
                    self._poll(milliseconds)
        except Exception as error:
            self.close()  # what was polled and not accepted comes again
            if time.monotonic() - self._heard > self._brokers.patience or not _may_pass(error):
                self._heard = time.monotonic()
                raise
        with self._lock:
            while self._waiting:
                held = self._held.get(self._waiting.popleft())
                if held is not None:  # else it was answered after it was given back
                    held.out = True
                    return held
        return None

    def settle(self, held: Held, tell: Callable[[], None]) -> None:
        """End a call once that is told."""
        try:
            tell()
        except GhcmError:
            self.give_back(held)
            raise
        with self._lock:
            self._held.pop(held.instruction.id, None)
            for partition, offset in held.places:
                self._open[partition].discard(offset)

    def give_back(self, held: Held) -> None:
        """It comes again, behind what waits: nothing waits for what fails each time."""
        with self._lock:
            if held.out:
                held.out, held.attempt = False, held.attempt + 1
                self._waiting.append(held.instruction.id)

    def refuse(self, data: bytes, error: GhcmError) -> None:
        """Put aside what can be no call."""
        log.warning("%s: an instruction is refused: %s", self._topic, error)
        _leave(self._brokers, f"{self._topic}.refused", _REFUSED, data, why=str(error))

    def close(self, *, leave: bool = False) -> None:
        """Leave what has not ended to the next consumer; with `leave` to others at once."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            with suppress(KafkaError):
                self._committed.clear()
                consumer.commit(self._ended(consumer), timeout_ms=1000)
            with suppress(KafkaError):
                consumer.close(timeout_ms=1000)
            if leave:  # which a static member does not do by itself
                member = cast("Any", admin).MemberToRemove(group_instance_id=self._options["group_instance_id"])
                with suppress(GhcmError), self._brokers.admin(_CONNECT_SECONDS) as manager:
                    manager.remove_group_members(self._options["group_id"], [member])

    def on_partitions_revoked(self, revoked: object) -> None:
        """As Kafka says: what comes then may lie behind what others have committed."""
        with self._lock:
            self._next.clear()

    def on_partitions_assigned(self, assigned: object) -> None:
        """As Kafka says."""

    def _poll(self, milliseconds: int) -> None:
        if self._consumer is None:
            self._brokers.make(self._topic, *_INSTRUCTIONS, seconds=_CONNECT_SECONDS)
            self._consumer = opened(KafkaConsumer, self._brokers.settings.options(_CONNECT_SECONDS) | self._options)
            self._consumer.subscribe([self._topic], listener=self)
            self._joined = time.monotonic()
        if time.monotonic() > self._commit_at and (ended := self._ended(self._consumer)):
            self._commit_at = time.monotonic() + _COMMIT_SECONDS
            self._consumer.commit_async(ended)  # one that fails is made up for by the next
        found: dict[Any, list[Any]] = self._consumer.poll(timeout_ms=milliseconds)
        if not found and time.monotonic() > self._asked + _SILENCE_SECONDS:  # nothing to take, or nobody there
            self._consumer.end_offsets([TopicPartition(self._topic, 0)], timeout_ms=1000)
            self._asked = self._heard = time.monotonic()
            if not self._belongs(self._consumer):
                log.warning("%s: the group has lost this worker, which joins it again", self._topic)
                self.close()
                return
        for record in sorted(chain.from_iterable(found.values()), key=lambda each: each.timestamp):
            self._accept(record, TopicPartition(record.topic, record.partition))
            self._heard = time.monotonic()

    def _accept(self, record: Any, partition: Any) -> None:
        """Have a call wait, unless it is held already, for another unit, too old, or none."""
        data = record.value or b""
        try:
            instruction = decode_instruction(data)
        except GhcmError as error:
            self.refuse(data, error)
        else:
            with self._lock:
                opened = self._open.setdefault(partition, set())
                ours = (instruction.program, instruction.unit) == self._unit and record.offset not in opened
                if ours and record.timestamp > (time.time() - _KEPT_SECONDS) * 1000:
                    opened.add(record.offset)
                    held = self._held.setdefault(instruction.id, Held(instruction, data, []))
                    held.places.append((partition, record.offset))
                    if len(held.places) == 1:
                        self._waiting.append(instruction.id)
        self._next[partition] = record.offset + 1

    def _belongs(self, consumer: Any) -> bool:
        """Whether the group counts this member, as far as one can tell. The client does not tell: it happens that it
        joins and then sends no heartbeat, and hears nothing when it is removed for that.
        """
        ours = consumer.assignment()
        if not ours:  # it is one of too many, it waits for others, or it has missed what is its own
            return time.monotonic() < self._joined + _IDLE_SECONDS
        with self._lock:
            held = {each: min(self._open.get(each, ()), default=behind) for each, behind in self._next.items()}
        offsets = {each: held.get(each, consumer.position(each, timeout_ms=1000)) for each in ours}
        known = {each: OffsetAndMetadata(at, "", -1) for each, at in offsets.items() if at is not None}
        try:
            consumer.commit(known, timeout_ms=1000)  # as it is: who is no member may commit nothing
        except (CommitFailedError, FencedInstanceIdError, IllegalGenerationError, UnknownMemberIdError):
            return False
        return True

    def _ended(self, consumer: Any) -> dict[Any, Any]:
        """What to commit: offsets before which everything has ended, where they have changed."""
        assigned = consumer.assignment()
        with self._lock:
            ours = [(each, behind) for each, behind in self._next.items() if each in assigned]
            upto = {each: min(self._open.get(each, ()), default=behind) for each, behind in ours}
        changed = {each: offset for each, offset in upto.items() if self._committed.get(each) != offset}
        self._committed |= changed
        return {each: OffsetAndMetadata(offset, "", -1) for each, offset in changed.items()}


@dataclass(eq=False)
class KafkaCache:
    """The `MessageCache` at `topic`. `consumer` names this worker: the same after a restart, different from all that
    live beside it; one that is silent for a `lease` (seconds) loses its instructions.
    """

    brokers: Brokers
    topic: str
    program: str
    consumer: str
    lease: float = 10.0
    _groups: dict[str, Group] = field(default_factory=dict[str, Group])
    _reader: Any = None
    _stands: tuple[str, str] | None = None  # the address and the position that the reader stands behind
    _reading: threading.Lock = field(default_factory=threading.Lock)
    _wakes: int = 0
    _closed: bool = False

    def send(self, instruction: Instruction) -> None:
        self.brokers.send(topic_name(self.topic), _INSTRUCTIONS, encode(instruction), instruction.id)

    def receive(self, unit: str, timeout: float | None = None) -> Delivery | None:
        group = self._groups.get(unit) or self._groups.setdefault(unit, self._group(unit))
        with group.turn:
            held = self._await(group.take, timeout)
        if held is None:
            return None

        def acknowledge(answer: Feedback) -> None:
            group.settle(held, partial(self._tell, held.instruction.reply, answer))

        def refuse(error: GhcmError) -> None:
            group.settle(held, partial(group.refuse, held.data, error))

        return Delivery(held.instruction, held.attempt, acknowledge, partial(group.give_back, held), refuse)

    def send_feedback(self, address: str, feedback: Feedback) -> None:
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
            _leave(self.brokers, topic_name(address), _FEEDBACK, encode(answer), answer.id)

    def _group(self, unit: str) -> Group:
        options = {
            "group_id": topic_name(f"ghcm.{self.program}.{unit}"),
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
            options = self.brokers.settings.options(_CONNECT_SECONDS)
            more = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
            self._reader = opened(KafkaConsumer, options | more)
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


def _leave(brokers: Brokers, topic: str, *record: Any, **more: Any) -> None:
    """As `Brokers.send`; what Kafka will never take is in the log alone, for nothing may wait for that."""
    try:
        brokers.send(topic, *record, **more)
    except GhcmError as error:
        if _may_pass(error):
            raise
        log.error('"%s" gets nothing: %s', topic, error)


def _may_pass(error: Exception) -> bool:
    """Whether Kafka may take later what it has not taken now."""
    return isinstance(error, GhcmError) and getattr(error.__cause__, "retriable", False)
