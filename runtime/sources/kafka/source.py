"""The source of the messages of topics; each partition of a topic is one of the source.

Where to go on stands in snapshots alone: the consumer group, which the client wants to have, commits nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Event
from typing import cast

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.chunks import Letters
from ghcm.runtime.formats.messages import Messages
from ghcm.runtime.pubsub.kafka_connection import Kafka as Settings
from ghcm.runtime.sources.kafka.progress import Found, Partition, Read
from ghcm.runtime.sources.kafka.reading import Reading
from ghcm.runtime.sources.source import Mailbox
from ghcm.spg.connectors import Kafka
from ghcm.types import Struct

_PREFETCHED = 3


class KafkaSource:
    """Records of topics. The position: each partition as topic and number, its next offset, and where it ends, if it
    does.
    """

    replayable = True
    due: float | None = None

    def __init__(self, connector: Kafka, schema: Struct, partition: str, settings: Settings, patience: float) -> None:
        self._schema = schema
        self._partition = partition
        self._offsets: dict[Partition, int] = {}
        self._ends: dict[Partition, int] = {}
        self._open = frozenset({partition})  # until the brokers have said which there are
        self._closed = Event()
        self._mailbox = Mailbox[Found | Read](_PREFETCHED)
        make = partial(Messages, connector, schema)
        self._reading = Reading(connector, make, self._name, settings, patience, self._mailbox.put, self._closed)

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Begin as the connector says, or go on where the position says."""
        if isinstance(position, list):
            for topic, number, offset, end in cast("list[tuple[str, int, int, int | None]]", position):
                self._offsets[topic, number] = offset
                self._ends |= {} if end is None else {(topic, number): end}
            self._open = self._names()
        if self._open:
            run = partial(self._reading.run, dict(self._offsets), dict(self._ends))
            self._mailbox.feed("ghcm-kafka", run, wake)

    def partitions(self) -> frozenset[str]:
        return self._open

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        while (thing := self._mailbox.take()) is not None:
            if isinstance(thing, Found):
                for each in thing.gone:
                    del self._offsets[each]
                    self._ends.pop(each, None)
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
        return [[*partition, offset, self._ends.get(partition)] for partition, offset in self._offsets.items()]

    def close(self) -> None:
        self._closed.set()
        self._mailbox.close()

    def _name(self, partition: Partition) -> str:
        topic, number = partition
        return f"{self._partition}:{topic}/{number}"

    def _names(self) -> frozenset[str]:
        return frozenset(self._name(each) for each, offset in self._offsets.items() if offset != self._ends.get(each))
