"""The thread beside the loop that fetches what has come of topics, and decodes it by partition in whole blocks."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from threading import Event
from time import monotonic
from typing import Any, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from ghcm.errors import GhcmError
from ghcm.runtime.formats.messages import Block, Messages
from ghcm.runtime.pubsub.kafka_connection import Kafka as Settings
from ghcm.runtime.pubsub.kafka_data import UNKNOWN, client_options, explained, passes
from ghcm.runtime.sources.kafka.backlog import Backlog
from ghcm.runtime.sources.kafka.progress import Found, Partition, Read
from ghcm.spg.connectors import Kafka
from ghcm.topics import OLD, PASSED_OVER, gone, gone_from, matched, started, unmatched

_log = logging.getLogger(__name__)

_MOST, _AT_ONCE = 4_000, 1000
"""Messages that are decoded at once, and that the client is asked for at once: so few are still in the caches of the
processor when they are taken apart. 10,000 of 226 bytes of JSON take a fifth longer each.
"""
_FAR = 100_000
"""Messages in front of the newest ones from which on it is faster not to go by this client."""
_AGAIN_S = 60.0
"""How long it is not tried to go by batches again where that has brought nothing."""
_WAIT_S, _ANSWER_S = 0.25, 5.0
_LOOK_S = 5.0
"""How often it is looked for partitions that are new."""
_MADE_S = 3.0
"""How long a topic that was made a moment ago may be unknown to the broker that is asked."""

_PARTS: Mapping[str, Callable[[list[Message]], Iterable[object]]] = {
    "key": partial(map, Message.key),
    "timestamp": lambda messages: map(itemgetter(1), map(Message.timestamp, messages)),
    "headers": partial(map, Message.headers),
    "origin": partial(map, Message.topic),
    "partition": partial(map, Message.partition),
    "offset": partial(map, Message.offset),
    "deleted": lambda messages: [message.value() is None for message in messages],
}
"""What the client says of the parts of messages that fields may hold."""

_LOST = (KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION, KafkaError.OFFSET_OUT_OF_RANGE)


@dataclass(frozen=True, slots=True)
class _Taken:
    """What the client has given of a partition, in order: values, offsets, and other parts by their words."""

    parts: Mapping[str, list[Any]]
    values: list[bytes | None] = field(default_factory=list[bytes | None])
    offsets: list[int] = field(default_factory=list[int])

    def add(self, messages: list[Message]) -> None:
        """And these messages."""
        self.values.extend(map(Message.value, messages))
        self.offsets.extend(cast("Iterable[int]", map(Message.offset, messages)))
        for word, column in self.parts.items():
            column.extend(_PARTS[word](messages))

    def block(self, place: str, partition: str, end: int | None) -> Block:
        """Those in front of the offset of the end, if there is one."""
        size = len(self.offsets) if end is None else bisect_left(self.offsets, end)
        parts = {word: column[:size] for word, column in self.parts.items()}
        return Block(self.values[:size], self.offsets[:size], place, partition, parts)


@dataclass(eq=False)
class Reading:
    """The thread's part: a client, and how far each partition was read. `make` gives what decodes messages, for one
    thread; `name` is that of a partition in the engine; `put` waits for room.
    """

    connector: Kafka
    make: Callable[[], Messages]
    name: Callable[[Partition], str]
    settings: Settings
    patience: float
    put: Callable[[Found | Read], bool]
    closed: Event
    _next: dict[Partition, int] = field(default_factory=dict[Partition, int])
    _ends: dict[Partition, int] = field(default_factory=dict[Partition, int])
    _newest: dict[Partition, int] = field(default_factory=dict[Partition, int])
    _refusal: KafkaError | None = None
    _heard: KafkaError | None = None
    _away: bool = False
    _gone: float | None = None
    _tried: float | None = None

    def __post_init__(self) -> None:
        self._messages = self.make()
        self._backlog = Backlog(self.connector, self.make, self.name, self.settings, self.closed)

    def run(self, offsets: dict[Partition, int], ends: dict[Partition, int]) -> None:
        """Read on behind these offsets until everything has ended or the source is closed. GhcmError where that cannot
        be.
        """
        self._next, self._ends = offsets, ends
        options: dict[str, Any] = {
            "group.id": "ghcm.sources",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "enable.partition.eof": self.connector.ends,
            "queued.max.messages.kbytes": 32 * 1024,
            "fetch.queue.backoff.ms": 10,
        }
        try:
            self._consumer = Consumer(client_options(self.settings, self._hear) | options)
            try:
                self._read()
            finally:
                self._consumer.close()
        except KafkaException as exception:
            raise self._explained(_error(exception)) from exception

    def _read(self) -> None:
        self._begin()
        if self._is_far():
            self._catch_up()
        looked = monotonic()
        while not self.closed.is_set() and any(map(self._goes_on, self._next)):
            if self._take() >= _MOST and self._is_far():
                self._catch_up()
            if not self.connector.ends and monotonic() - looked > _LOOK_S:
                self._look()
                looked = monotonic()

    # --- partitions and offsets --------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Find the partitions, as soon as there is a broker to tell."""
        began, known = monotonic(), bool(self._next)
        while not self.closed.is_set():
            try:
                partitions = self._partitions()
                if missing := self._next.keys() - partitions:
                    self._without(missing)
                if not (known and self.connector.ends):
                    self._add(partitions, first=not known)
                self._assign()
                return
            except KafkaException as exception:
                error = _error(exception)
                self._consumer.poll(0)  # so that it tells what is wrong
                self._check()
                unknown = error.code() in UNKNOWN
                if not passes(error) or monotonic() - began > (_MADE_S if unknown else self.patience):
                    why = error if unknown else self._heard or error
                    raise self._explained(why) from exception
            self.closed.wait(0.1)

    def _look(self) -> None:
        """Whether there are more partitions. Those that are gone may be so for the moment of a restart."""
        try:
            partitions = self._partitions()
            if self._add(partitions, first=False):
                self._assign()
            missing = self._next.keys() - partitions
        except KafkaException as exception:
            if not passes(_error(exception)) or (_error(exception).code() in UNKNOWN and self._gone_long()):
                raise
            return  # the client goes on by itself
        if not missing:
            self._gone = None
        elif self._gone_long():
            self._without(missing)

    def _gone_long(self) -> bool:
        self._gone = self._gone or monotonic()
        return monotonic() - self._gone > self.patience

    def _partitions(self) -> list[Partition]:
        """Those that there are now. KafkaException where nobody tells, or there is no such topic."""
        pattern = self.connector.pattern
        known = self._consumer.list_topics(self.connector.topic or None, timeout=min(_ANSWER_S, self.patience)).topics
        topics = [known[each] for each in (matched(pattern, known) if pattern else known)]
        for topic in topics:
            if topic.error is not None:
                raise KafkaException(topic.error)
        if not topics:
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_TOPIC))
        self._works()
        return sorted((topic.topic, number) for topic in topics for number in topic.partitions)

    def _add(self, partitions: list[Partition], *, first: bool) -> bool:
        """Read those too that are new, if there are any. Those that are there the `first` time begin as the connector
        says, others at their beginning: what they hold came later.
        """
        new = [each for each in partitions if each not in self._next]
        limits = {each: self._watermarks(each) for each in new}
        offsets = {each: low for each, (low, _) in limits.items()} | (self._started(limits) if first else {})
        ends = {each: max(high, offsets[each]) for each, (_, high) in limits.items()} if self.connector.ends else {}
        self._newest |= {each: high for each, (_, high) in limits.items()}
        self._next |= offsets
        self._ends |= ends
        return bool(new) and self.put(Found(offsets, ends))

    def _started(self, limits: Mapping[Partition, tuple[int, int]]) -> dict[Partition, int]:
        """Where the connector says that partitions begin which hold messages within these limits; the others begin with
        their oldest.
        """
        connector = self.connector
        newest = {each: high for each, (_, high) in limits.items()}
        if connector.start_us is not None:
            asked = [self._at(each, connector.start_us // 1000) for each in limits]
            found = self._consumer.offsets_for_times(asked, timeout=_ANSWER_S)
            return newest | {(each.topic, each.partition): each.offset for each in found if each.offset >= 0}
        if connector.start == "latest":
            return newest
        topic, numbers = connector.topic, {number: each for (_, number), each in limits.items()}
        offsets, errors = started(topic, dict(connector.offsets), numbers)
        for error in errors:
            self._accept_loss(error)
        return {(topic, number): offset for number, offset in offsets.items()}

    def _watermarks(self, partition: Partition) -> tuple[int, int]:
        """The offset of the oldest message, and the one behind the newest."""
        return self._consumer.get_watermark_offsets(self._at(partition), timeout=_ANSWER_S)

    def _assign(self) -> None:
        self._consumer.assign([self._at(each, offset) for each, offset in self._next.items() if self._goes_on(each)])

    @staticmethod
    def _at(partition: Partition, offset: int = 0) -> TopicPartition:
        return TopicPartition(*partition, offset)

    def _goes_on(self, partition: Partition) -> bool:
        return self._next[partition] != self._ends.get(partition)

    # --- messages ----------------------------------------------------------------------------------------------------

    def _is_far(self) -> bool:
        """Whether much is left to be read, as brokers said when partitions were found or with the last messages."""
        if not self._backlog.able or (self._tried is not None and monotonic() - self._tried < _AGAIN_S):
            return False
        open_ = filter(self._goes_on, self._next)
        told = {each: self._consumer.get_watermark_offsets(self._at(each), cached=True)[1] for each in open_}
        newest = {each: max(high, self._newest.get(each, 0)) for each, high in told.items()}
        ends = {each: min(high, self._ends.get(each, high)) for each, high in newest.items()}
        return sum(max(0, end - self._next[each]) for each, end in ends.items()) > _FAR

    def _catch_up(self) -> None:
        """Read what has been there for long without the client, which then goes on behind it."""
        self._consumer.unassign()
        offsets = {each: offset for each, offset in self._next.items() if self._goes_on(each)}
        self._tried = looked = monotonic()
        with closing(self._backlog.read(offsets, self._ends)) as found:
            for read in found:
                self._tried = None
                self._next[read.partition] = read.offset
                if not self.put(read):
                    return
                if not self.connector.ends and monotonic() - looked > _LOOK_S:
                    looked = monotonic()
                    if self._are_others():
                        break
        self._assign()

    def _are_others(self) -> bool:
        """Whether there are other partitions than those that are read, as far as somebody tells."""
        try:
            return self._partitions() != sorted(self._next)
        except KafkaException:
            return True

    def _take(self) -> int:
        """Hand on what has come, and say how much; if nothing has, wait a little."""
        first = self._consumer.poll(_WAIT_S)
        self._check()
        if first is None:
            return 0
        taken, told, count = dict[Partition, _Taken](), list[Message](), 0
        for messages in self._come(first):
            count += len(messages)
            if any(map(Message.error, messages)):
                told += [each for each in messages if each.error() is not None]
            good = [each for each in messages if each.error() is None] if told else messages
            for number, run in groupby(good, Message.partition):
                for topic, part in groupby(run, Message.topic):
                    partition = cast("Partition", (topic, number))
                    if partition not in taken:
                        taken[partition] = _Taken({word: [] for word, _ in self.connector.fields})
                    taken[partition].add(list(part))
        for partition, found in taken.items():
            self._works()
            if self._goes_on(partition):
                self._give(partition, found)
        for message in told:
            place = cast("Partition", (message.topic(), message.partition()))
            self._told(place, cast("int", message.offset()), message.error())
        return count

    def _come(self, first: Message) -> Iterator[list[Message]]:
        """What has come, some at a time."""
        messages, count = [first], 0
        while messages:
            yield messages
            count += len(messages)
            messages = self._consumer.consume(_AT_ONCE, 0) if count < _MOST else []

    def _give(self, partition: Partition, taken: _Taken) -> None:
        behind, end = taken.offsets[-1] + 1, self._ends.get(partition)
        topic, number = partition
        block = taken.block(f"{topic}/{number}", self.name(partition), end)
        self._reached(Read.of(partition, behind if end is None else min(behind, end), self._messages, block))

    def _reached(self, read: Read) -> None:
        self._next[read.partition] = read.offset
        self.put(read)
        if not self._goes_on(read.partition):
            self._consumer.pause([self._at(read.partition)])

    def _told(self, partition: Partition, offset: int, error: KafkaError | None) -> None:
        """The client says this of a partition in place of a message."""
        if error is None or partition not in self._next or not self._goes_on(partition):
            return
        if error.code() == KafkaError._PARTITION_EOF:  # what is left before the end are marks of transactions
            if offset >= self._ends.get(partition, offset + 1):
                self._reached(Read(partition, self._ends[partition]))
        elif error.code() in _LOST:
            self._lost(partition)
        elif not passes(error):
            raise KafkaException(error)

    def _lost(self, partition: Partition) -> None:
        """The topic does not hold what comes next of a partition."""
        at = self._next[partition]
        try:
            low, high = self._watermarks(partition)
        except KafkaException:
            self._assign()  # it is told again
            return
        why = OLD if at < low else "It was cut, or deleted and made anew."
        self._accept_loss(gone_from(*partition, at, f"It holds offsets {low} to {high}. {why}"))
        if partition in self._ends:
            self._ends[partition] = max(low, min(high, self._ends[partition]))
            self.put(Found({}, {partition: self._ends[partition]}))
        self._reached(Read(partition, low))
        self._assign()

    def _without(self, partitions: set[Partition]) -> None:
        """These are no longer there; should they come again, they are new."""
        for topic, lost in groupby(sorted(partitions), itemgetter(0)):
            numbers = ", ".join(str(number) for _, number in lost)
            message = f'topic "{topic}" no longer has partitions {numbers}'
            self._accept_loss(gone(message, "It was deleted or made anew."))
        for partition in partitions:
            del self._next[partition]
            self._ends.pop(partition, None)
            self._newest.pop(partition, None)
        self.put(Found({}, {}, frozenset(partitions)))

    def _accept_loss(self, error: GhcmError) -> None:
        if self.connector.lost == "fail":
            raise error
        _log.warning(PASSED_OVER, error.message, error.detail)

    def _explained(self, error: KafkaError) -> GhcmError:
        if not self.connector.pattern or error.code() not in UNKNOWN:
            return explained(self.settings, error, self.connector.topic or self.connector.pattern)
        return unmatched(self.connector.pattern, self.settings.bootstrap)

    # --- connections -------------------------------------------------------------------------------------------------

    def _hear(self, error: KafkaError) -> None:
        if not passes(error):
            self._refusal = error
        elif error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._heard = error
        elif not self._away:
            self._away = True
            _log.warning("Kafka at %s is away; trying again", self.settings.bootstrap)

    def _works(self) -> None:
        if self._away:
            self._away = False
            _log.info("Kafka at %s works again", self.settings.bootstrap)

    def _check(self) -> None:
        if self._refusal is not None:
            raise KafkaException(self._refusal)


def _error(exception: KafkaException) -> KafkaError:
    return cast("KafkaError", exception.args[0])
