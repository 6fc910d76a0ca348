"""The source of the messages of a topic; each partition of the topic is one of the source.

A thread beside the loop fetches what has come, whatever that is, and decodes it by partition in whole blocks. Where to
go on stands in snapshots alone: the consumer group, which the client wants to have, commits nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from threading import Event
from time import monotonic
from typing import Any, TypeAlias, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from ghcm.errors import GhcmError
from ghcm.functions import Failure
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.chunks import Letters
from ghcm.runtime.formats.messages import Messages
from ghcm.runtime.pubsub.kafka_connection import Kafka as Settings
from ghcm.runtime.pubsub.kafka_data import UNKNOWN, client_options, explained, passes
from ghcm.runtime.sources.source import Mailbox
from ghcm.spg.connectors import Kafka
from ghcm.types import Struct

_log = logging.getLogger(__name__)

_Letter: TypeAlias = tuple[Failure, str, str]

_PREFETCHED = 3
_MOST = 10_000
"""Messages that are decoded at once."""
_WAIT_S, _ANSWER_S = 0.25, 5.0
_LOOK_S = 5.0
"""How often it is looked for partitions that are new."""
_MADE_S = 3.0
"""How long a topic that was made a moment ago may be unknown to the broker that is asked."""

_LOST = (KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION, KafkaError.OFFSET_OUT_OF_RANGE)


@dataclass(frozen=True, slots=True)
class _Found:
    """Partitions that are read from now on: from which offset, and where they end if they do."""

    offsets: Mapping[int, int]
    ends: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class _Read:
    """What came of a partition, and the offset behind it."""

    partition: int
    offset: int
    batch: Batch | None = None
    letters: tuple[_Letter, ...] = ()


class KafkaSource:
    """Records of a topic. The position: each partition with its next offset, and where it ends, if it does."""

    replayable = True
    due: float | None = None

    def __init__(self, connector: Kafka, schema: Struct, partition: str, settings: Settings, patience: float) -> None:
        self._schema = schema
        self._partition = partition
        self._offsets: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._open = frozenset({partition})  # until the brokers have said which there are
        self._closed = Event()
        self._mailbox = Mailbox[_Found | _Read](_PREFETCHED)
        messages = Messages(connector.format, schema)
        self._reading = _Reading(connector, messages, self._name, settings, patience, self._mailbox.put, self._closed)

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Begin as the connector says, or go on where the position says."""
        if isinstance(position, list):
            for partition, offset, end in cast("list[tuple[int, int, int | None]]", position):
                self._offsets[partition] = offset
                self._ends |= {} if end is None else {partition: end}
            self._open = self._names()
        if self._open:
            run = partial(self._reading.run, dict(self._offsets), dict(self._ends))
            self._mailbox.feed("ghcm-kafka", run, wake)

    def partitions(self) -> frozenset[str]:
        return self._open

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        while (thing := self._mailbox.take()) is not None:
            if isinstance(thing, _Found):
                self._offsets |= thing.offsets
                self._ends |= thing.ends
                self._open = self._names()
                # Where they begin belongs into the next snapshot, even if nothing ever comes.
                return Batch.from_rows(self._schema, (), partition=self._partition)
            for letter in thing.letters:
                letters(*letter)
            self._offsets[thing.partition] = thing.offset
            if thing.offset == self._ends.get(thing.partition):
                self._open = self._names()
            if thing.batch is not None:
                return thing.batch
        return None

    @property
    def ended(self) -> bool:
        return not self._open

    def position(self) -> object:
        return [[partition, offset, self._ends.get(partition)] for partition, offset in self._offsets.items()]

    def close(self) -> None:
        self._closed.set()
        self._mailbox.close()

    def _name(self, partition: int) -> str:
        return f"{self._partition}:{partition}"

    def _names(self) -> frozenset[str]:
        return frozenset(self._name(each) for each, offset in self._offsets.items() if offset != self._ends.get(each))


@dataclass(eq=False)
class _Reading:
    """The thread's part: a client, and how far each partition was read. `name` is that of a partition in the engine;
    `put` waits for room.
    """

    connector: Kafka
    messages: Messages
    name: Callable[[int], str]
    settings: Settings
    patience: float
    put: Callable[[_Found | _Read], bool]
    closed: Event
    _next: dict[int, int] = field(default_factory=dict[int, int])
    _ends: dict[int, int] = field(default_factory=dict[int, int])
    _refusal: KafkaError | None = None
    _heard: KafkaError | None = None
    _away: bool = False
    _gone: float | None = None

    def run(self, offsets: dict[int, int], ends: dict[int, int]) -> None:
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
            raise explained(self.settings, _error(exception), self.connector.topic) from exception

    def _read(self) -> None:
        self._begin()
        looked = monotonic()
        while not self.closed.is_set() and any(map(self._goes_on, self._next)):
            self._take()
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
                unknown = error.code() in UNKNOWN
                if not passes(error) or monotonic() - began > (_MADE_S if unknown else self.patience):
                    why = error if unknown else self._heard or error
                    raise explained(self.settings, why, self.connector.topic) from exception
            self._consumer.poll(0)  # so that it tells what is wrong
            self._check()
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

    def _partitions(self) -> list[int]:
        """Those that the topic has now. KafkaException where nobody tells."""
        topic = self._consumer.list_topics(self.connector.topic, timeout=_ANSWER_S).topics[self.connector.topic]
        if topic.error is not None:
            raise KafkaException(topic.error)
        self._works()
        return sorted(topic.partitions)

    def _add(self, partitions: list[int], *, first: bool) -> bool:
        """Read those too that are new, if there are any. Those that are there the `first` time begin as the connector
        says, others at their beginning: what they hold came later.
        """
        connector, new = self.connector, [each for each in partitions if each not in self._next]
        since, offsets, ends = dict[int, int](), dict[int, int](), dict[int, int]()
        if first and connector.start_us is not None:
            asked = [self._at(each, connector.start_us // 1000) for each in new]
            found = self._consumer.offsets_for_times(asked, timeout=_ANSWER_S)
            since = {each.partition: each.offset for each in found if each.offset >= 0}
        for each in new:
            low, high = self._watermarks(each)
            later = first and (connector.start_us is not None or connector.start == "latest")
            offsets[each] = since.get(each, high) if later else low
            if connector.ends:
                ends[each] = max(high, offsets[each])
        self._next |= offsets
        self._ends |= ends
        return bool(new) and self.put(_Found(offsets, ends))

    def _watermarks(self, partition: int) -> tuple[int, int]:
        """The offset of the oldest message, and the one behind the newest."""
        return self._consumer.get_watermark_offsets(self._at(partition), timeout=_ANSWER_S)

    def _assign(self) -> None:
        self._consumer.assign([self._at(each, offset) for each, offset in self._next.items() if self._goes_on(each)])

    def _at(self, partition: int, offset: int = 0) -> TopicPartition:
        return TopicPartition(self.connector.topic, partition, offset)

    def _goes_on(self, partition: int) -> bool:
        return self._next[partition] != self._ends.get(partition)

    # --- messages ----------------------------------------------------------------------------------------------------

    def _take(self) -> None:
        """Hand on what has come; if nothing has, wait a little."""
        first = self._consumer.poll(_WAIT_S)
        self._check()
        if first is None:
            return
        messages, told = [first, *self._consumer.consume(_MOST, 0)], list[Message]()
        if any(map(Message.error, messages)):
            told = [each for each in messages if each.error() is not None]
            messages = [each for each in messages if each.error() is None]
        parts: dict[int, list[Message]] = {}
        for partition, run in groupby(messages, Message.partition):
            parts.setdefault(cast("int", partition), []).extend(run)
        for partition, part in parts.items():
            self._works()
            if self._goes_on(partition):
                self._give(partition, part)
        for message in told:
            self._told(cast("int", message.partition()), cast("int", message.offset()), message.error())

    def _give(self, partition: int, part: list[Message]) -> None:
        offsets = cast("list[int]", list(map(Message.offset, part)))
        values = list(map(Message.value, part))
        behind, end = offsets[-1] + 1, self._ends.get(partition)
        if end is not None and behind > end:
            behind, left = end, sum(offset < end for offset in offsets)
            offsets, values = offsets[:left], values[:left]
        failed: list[_Letter] = []

        def note(reason: Failure, detail: str, text: str) -> None:
            failed.append((reason, detail, text))

        batch = self.messages.decode(values, offsets, f"{self.connector.topic}/{partition}", self.name(partition), note)
        self._reached(partition, behind, batch, tuple(failed))

    def _reached(
        self, partition: int, offset: int, batch: Batch | None = None, letters: tuple[_Letter, ...] = ()
    ) -> None:
        self._next[partition] = offset
        self.put(_Read(partition, offset, batch, letters))
        if not self._goes_on(partition):
            self._consumer.pause([self._at(partition)])

    def _told(self, partition: int, offset: int, error: KafkaError | None) -> None:
        """The client says this of a partition in place of a message."""
        if error is None or not self._goes_on(partition):
            return
        if error.code() == KafkaError._PARTITION_EOF:  # what is left before the end are marks of transactions
            if offset >= self._ends.get(partition, offset + 1):
                self._reached(partition, self._ends[partition])
        elif error.code() in _LOST:
            self._lost(partition)
        elif not passes(error):
            raise KafkaException(error)

    def _lost(self, partition: int) -> None:
        """The topic does not hold what comes next of a partition."""
        at = self._next[partition]
        try:
            low, high = self._watermarks(partition)
        except KafkaException:
            self._assign()  # it is told again
            return
        why = "They were older than the topic keeps them." if at < low else "It was cut, or deleted and made anew."
        message = f'the messages of topic "{self.connector.topic}", partition {partition}, from offset {at} on are gone'
        self._accept_loss(message, f"It holds offsets {low} to {high}. {why}")
        if partition in self._ends:
            self._end(partition, max(low, min(high, self._ends[partition])))
        self._reached(partition, low)
        self._assign()

    def _without(self, partitions: set[int]) -> None:
        """The topic has these no more."""
        message = f'topic "{self.connector.topic}" no longer has partitions {", ".join(map(str, sorted(partitions)))}'
        self._accept_loss(message, "It was deleted and made anew.")
        for partition in partitions:
            self._end(partition, self._next[partition])

    def _end(self, partition: int, offset: int) -> None:
        self._ends[partition] = offset
        self.put(_Found({}, {partition: offset}))

    def _accept_loss(self, message: str, detail: str) -> None:
        if self.connector.lost == "fail":
            hint = "lost = earliest goes on with the oldest messages that are there."
            raise GhcmError(message, code="GHCM-742", detail=detail, hint=hint)
        _log.warning("%s: reading goes on with the oldest that are there. %s", message, detail)

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
