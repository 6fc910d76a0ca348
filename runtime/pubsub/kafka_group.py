"""What a worker takes from a topic of instructions for one unit, as member of the unit's consumer group.

Takes, commits and puts aside; what instructions and answers are to callers is the business of `kafka_cache`.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

from kafka import ConsumerRebalanceListener, KafkaConsumer, admin
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaError,
    RebalanceInProgressError,
    UnknownMemberIdError,
    UnknownTopicOrPartitionError,
)
from kafka.structs import OffsetAndMetadata, TopicPartition

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.envelope import Instruction, decode_instruction
from ghcm.runtime.pubsub.kafka_connection import Brokers, may_pass

log = logging.getLogger("ghcm.pubsub")

_KEPT_SECONDS = 20 * 3600
"""Older instructions count for nothing: their calls may be answered and forgotten, and those of open ones are sent
again by who looks after them. Less than the call store remembers answers.
"""

INSTRUCTIONS = (4, _KEPT_SECONDS)
"""Partitions of a topic, and how many seconds it keeps what it holds; offsets of a group are kept for longer."""
_REFUSED = (1, 30 * 24 * 3600)

_CONNECT_SECONDS = 2.0
_COMMIT_SECONDS = 0.2
_SILENCE_SECONDS = 5.0


class _Assignor(RangePartitionAssignor):  # type: ignore[misc]
    """The client's own, but that it waits until the partitions are known. That one gives nothing to anybody where it
    has not heard of the topic yet, and makes up for it when it has. Who takes the place of a worker that died in
    between is given what that one had, nothing, for ever.
    """

    @classmethod
    def assign(cls, cluster: Any, group_subscriptions: Any) -> Any:
        """As the client says."""
        topics = {topic for member in group_subscriptions for topic in member.metadata.topics}
        if not all(cluster.partitions_for_topic(topic) for topic in topics):
            raise UnknownTopicOrPartitionError  # it is asked again in a moment
        own = cast("Any", super())
        return own.assign(cluster, group_subscriptions)


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
        self.joined = False
        """Whether it has its part of the topic, none where others have all."""
        self._waiting = deque[str]()
        self._held: dict[str, Held] = {}
        self._open: dict[Any, set[int]] = {}  # partition -> offsets of what has not ended
        self._next: dict[Any, int] = {}  # partition -> the offset behind what was taken since it is ours
        self._committed: dict[Any, int] = {}
        self._commit_at, self._asked, self._heard = 0.0, time.monotonic(), time.monotonic()

    def take(self, milliseconds: int) -> Held | None:
        """The next call that nobody works on; None if none comes in time."""
        try:
            with self._brokers.told(self._topic):
                if not self._waiting:
                    self._poll(milliseconds)
        except Exception as error:
            lost = self._consumer is not None
            self.close()  # what was polled and not accepted comes again
            if time.monotonic() - self._heard > self._brokers.patience or not may_pass(error):
                self._heard = time.monotonic()
                raise
            if lost:
                log.warning("%s: %s; trying again", self._topic, error)
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
        self._brokers.leave(f"{self._topic}.refused", _REFUSED, data, why=str(error))

    def close(self, *, leave: bool = False) -> None:
        """Leave what has not ended to the next consumer; with `leave` to others at once."""
        consumer, self._consumer, self.joined = self._consumer, None, False
        if consumer is not None:
            name, id = self._options["group_instance_id"], consumer.group_metadata().member_id
            with suppress(KafkaError):
                self._committed.clear()
                consumer.commit(self._ended(consumer), timeout_ms=1000)
            with suppress(KafkaError):
                consumer.close(timeout_ms=1000)
            if leave and id:  # which a static member does not do by itself; by its id, or its successor would go
                member = cast("Any", admin).MemberToRemove(member_id=id, group_instance_id=name)
                with suppress(GhcmError), self._brokers.admin(_CONNECT_SECONDS) as manager:
                    manager.remove_group_members(self._options["group_id"], [member])

    def on_partitions_revoked(self, revoked: object) -> None:
        """As Kafka says: what comes then may lie behind what others have committed."""
        self.joined = False
        with self._lock:
            self._next.clear()

    def on_partitions_assigned(self, assigned: Any) -> None:
        """As Kafka says."""
        self.joined = True
        log.info("%s: this worker has %s of its partitions", self._topic, len(assigned))

    def _poll(self, milliseconds: int) -> None:
        if self._consumer is None:
            self._brokers.make(self._topic, *INSTRUCTIONS, seconds=_CONNECT_SECONDS)
            more = self._options | {"partition_assignment_strategy": [_Assignor]}
            self._consumer = self._brokers.client(KafkaConsumer, _CONNECT_SECONDS, **more)
            self._consumer.subscribe([self._topic], listener=self)
            self._asked = time.monotonic()
        if time.monotonic() > self._commit_at and (ended := self._ended(self._consumer)):
            self._commit_at = time.monotonic() + _COMMIT_SECONDS
            self._consumer.commit_async(ended)  # one that fails is made up for by the next
        found: dict[Any, list[Any]] = self._consumer.poll(timeout_ms=milliseconds)
        if not found and time.monotonic() > self._asked + _SILENCE_SECONDS:  # nothing to take, or nobody there
            self._consumer.end_offsets([TopicPartition(self._topic, 0)], timeout_ms=1000)
            self._asked = self._heard = time.monotonic()
            if not self._belongs(self._consumer):
                log.warning("%s: the group has lost this worker, which joins it again", self._topic)
                self.close(leave=True)
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
        if not ours:
            return self._is_spare()
        with self._lock:
            held = {each: min(self._open.get(each, ()), default=behind) for each, behind in self._next.items()}
        offsets = {each: held.get(each, consumer.position(each, timeout_ms=1000)) for each in ours}
        known = {each: OffsetAndMetadata(at, "", -1) for each, at in offsets.items() if at is not None}
        try:
            with suppress(RebalanceInProgressError):  # of which only members are told
                consumer.commit(known, timeout_ms=1000)  # as it is: who is no member may commit nothing
        except (CommitFailedError, FencedInstanceIdError, IllegalGenerationError, UnknownMemberIdError):
            return False
        return True

    def _is_spare(self) -> bool:
        """Whether a worker without partitions has none to take: others have them all, or they are being divided."""
        group = self._options["group_id"]
        with self._brokers.admin(_CONNECT_SECONDS) as manager:
            told = manager.describe_groups([group])[group]
            known = manager.describe_topics([self._topic])[0]["partitions"]
        if told["group_state"] in ("PreparingRebalance", "CompletingRebalance"):
            return True  # which Kafka ends itself
        others = [each for each in told["members"] if each["group_instance_id"] != self._options["group_instance_id"]]
        given = [part for each in others for part in each["member_assignment"]["assigned_partitions"]]
        return sum(len(each["partitions"]) for each in given) == len(known)

    def _ended(self, consumer: Any) -> dict[Any, Any]:
        """What to commit: offsets before which everything has ended, where they have changed."""
        assigned = consumer.assignment()
        with self._lock:
            ours = [(each, behind) for each, behind in self._next.items() if each in assigned]
            upto = {each: min(self._open.get(each, ()), default=behind) for each, behind in ours}
        changed = {each: offset for each, offset in upto.items() if self._committed.get(each) != offset}
        self._committed |= changed
        return {each: OffsetAndMetadata(offset, "", -1) for each, offset in changed.items()}
