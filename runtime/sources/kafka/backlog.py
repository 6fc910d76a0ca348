"""What has been in topics for long, read by whole batches as the brokers keep them.

Kafka's own client makes an object of each message, which takes as long as its value takes to be decoded. Where much is
left to read, brokers are asked for batches, which a thread beside unpacks, cuts and decodes. Whatever is not plain
there ends it: a broker that refuses or is away, a topic that does not hold what comes next, a batch in another form.
The client goes on where it ended, and knows what to say and do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any

from ghcm.runtime.formats.in_order import InOrder
from ghcm.runtime.formats.messages import Block, Messages
from ghcm.runtime.pubsub.kafka_connection import Kafka as Settings
from ghcm.runtime.sources.kafka.cutting import Cutter, Records
from ghcm.runtime.sources.kafka.progress import Partition, Read
from ghcm.runtime.sources.kafka.record_batches import RecordBatch, Unread
from ghcm.spg.connectors import Kafka

if TYPE_CHECKING:
    from ghcm.runtime.sources.kafka.fetching import Fetched

_log = logging.getLogger(__name__)

_AT_ONCE = 32_768
"""Messages that are decoded at once, unless one batch has more."""


@dataclass(eq=False)
class Backlog:
    """Reads partitions of the topics of a connector. `name` is that of a partition in the engine; `make` gives what
    decodes messages, for one thread.
    """

    connector: Kafka
    make: Callable[[], Messages]
    name: Callable[[Partition], str]
    settings: Settings
    closed: Event
    _idle: list[tuple[Cutter, Messages]] = field(default_factory=list[tuple[Cutter, Messages]])

    @property
    def able(self) -> bool:
        """Whether it can give what the connector asks for: headers it cannot."""
        return all(word != "headers" for word, _ in self.connector.fields)

    def read(self, offsets: Mapping[Partition, int], ends: Mapping[Partition, int], seconds: float) -> Generator[Read]:
        """What comes next of each partition, in order, up to its end or near the newest message; for about so long, or
        until something is not plain.
        """
        try:
            with closing(self._results(offsets, ends, monotonic() + seconds)) as results:
                for read in results:
                    if read is None:  # what comes behind it may be of the same partition
                        return
                    yield read
        finally:
            self._idle.clear()

    def _results(
        self, offsets: Mapping[Partition, int], ends: Mapping[Partition, int], until: float
    ) -> Generator[Read | None]:
        """As `read`; None for batches that cannot be read."""
        from kafka.errors import KafkaError  # few sources are far behind, and it takes a while to be imported

        from ghcm.runtime.sources.kafka.fetching import Fetching

        ahead = InOrder[Read | None](threads=1)
        try:
            fetching = Fetching(self.settings, offsets, ends)
            with closing(fetching.fetched(lambda: not self.closed.is_set() and monotonic() < until)) as parts:
                for fetched in parts:
                    for work in self._works(fetched, ends.get(fetched.partition)):
                        yield from ahead.add(work)
        except (KafkaError, OSError, Unread) as error:
            _log.debug("Kafka's client goes on: %r", error)
        yield from ahead.rest()

    def _works(self, fetched: Fetched, end: int | None) -> Iterator[Callable[[], Read | None]]:
        """What is to be done with a part of a partition; the last one is the way to the offset behind it."""
        group, count = list[RecordBatch](), 0
        for batch in fetched.batches:
            if count and count + batch.count > _AT_ONCE:
                yield partial(self._decoded, fetched, group, group[-1].behind, end)
                group, count = [], 0
            group.append(batch)
            count += batch.count
        yield partial(self._decoded, fetched, group, fetched.behind, end)

    def _decoded(self, fetched: Fetched, batches: list[RecordBatch], behind: int, end: int | None) -> Read | None:
        """In the thread: the messages of these batches up to the end."""
        behind = behind if end is None else min(behind, end)
        if not batches:
            return Read(fetched.partition, behind)
        try:
            cutter, messages = self._idle.pop()
        except IndexError:
            cutter, messages = Cutter(times=any(word == "timestamp" for word, _ in self.connector.fields)), self.make()
        try:
            records = cutter.cut(batches).between(fetched.begin, end)
            if not len(records.offsets):
                return Read(fetched.partition, behind)
            return Read.of(fetched.partition, behind, messages, self._block(fetched.partition, records))
        except Unread as error:
            _log.debug("Kafka's client goes on: %s", error)
            return None
        finally:
            self._idle.append((cutter, messages))

    def _block(self, partition: Partition, records: Records) -> Block:
        topic, number = partition
        size, offsets = len(records.offsets), records.order()
        every: Mapping[str, Callable[[], Any]] = {
            "key": lambda: records.texts(records.keys),
            "timestamp": records.times.tolist,
            "origin": lambda: [topic] * size,
            "partition": lambda: [number] * size,
            "offset": lambda: offsets,
            "deleted": lambda: [value is None for value in values],
        }
        values = records.texts(records.values)
        parts = {word: every[word]() for word, _ in self.connector.fields}
        lines = records.lines() if self.connector.format.name in ("json", "csv") else None
        return Block(values, offsets, f"{topic}/{number}", self.name(partition), parts, lines)
