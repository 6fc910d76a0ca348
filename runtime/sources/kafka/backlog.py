"""What has been in topics for long, read by whole batches as the brokers keep them.

Kafka's own client makes an object of each message, which takes as long as its value takes to be decoded. Where much is
left to read, brokers are asked for batches, which a thread beside unpacks, cuts and decodes. Where that would take
long, a process fetches and cuts what comes later, while what comes first is read here. Whatever is not plain there ends
it: a broker that refuses or is away, a topic that does not hold what comes next, a batch in another form. The client
goes on where it ended, and knows what to say and do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any

from ghcm.runtime.formats.in_order import InOrder
from ghcm.runtime.formats.messages import Block, Messages
from ghcm.runtime.pubsub.kafka_connection import Kafka as Settings
from ghcm.runtime.sources.kafka.beside import Beside, Order
from ghcm.runtime.sources.kafka.cutting import Cutter, Records
from ghcm.runtime.sources.kafka.handover import Over
from ghcm.runtime.sources.kafka.parts import Part, Uncut, divided
from ghcm.runtime.sources.kafka.progress import Partition, Read
from ghcm.runtime.sources.kafka.record_batches import Unread
from ghcm.runtime.sources.kafka.texts import Texts, lines_of
from ghcm.spg.connectors import Kafka

if TYPE_CHECKING:
    from ghcm.runtime.sources.kafka.fetching import Fetched, Fetching

_log = logging.getLogger(__name__)

_WORTH_S, _JUDGED_S = 3.0, 0.05
"""How long what is left would have to take here for a process to be started; and how long it is read here before it is
known how fast that is.
"""
_AHEAD_S = 0.25
"""How long it is read here while a process begins with what comes behind that."""


@dataclass(eq=False)
class _Here:
    """What this process fetches, and up to which offsets partitions have come."""

    fetching: Fetching
    reached: dict[Partition, int]
    _began: tuple[float, int] | None = None

    def came(self, fetched: Fetched) -> None:
        """This is what has come next of a partition."""
        self.reached[fetched.partition] = fetched.behind
        self._began = self._began or (monotonic(), sum(self.reached.values()))

    def left(self) -> dict[Partition, int]:
        """About how many messages are left of each partition that has some."""
        left = {each: behind - self.reached[each] for each, behind in self.fetching.targets().items()}
        return {each: count for each, count in left.items() if count > 0}

    def seconds(self) -> float | None:
        """How long these will take at the pace of what has come; None where that is not known yet."""
        began, before = self._began or (monotonic(), 0)
        took, count = monotonic() - began, sum(self.reached.values()) - before
        return sum(self.left().values()) * took / count if took > _JUDGED_S and count else None

    def behind(self, seconds: float) -> dict[Partition, int]:
        """Where partitions will be about so many seconds from now, without those that will have come to their ends."""
        share = seconds / (self.seconds() or inf)
        return {each: self.reached[each] + int(share * count) for each, count in self.left().items() if share < 1}


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

    def __post_init__(self) -> None:
        self._alone = False
        self._words = frozenset(word for word, _ in self.connector.fields)
        self._times = "timestamp" in self._words
        self._lines = self.connector.format.name == "json" and "key" not in self._words

    @property
    def able(self) -> bool:
        """Whether it can give what the connector asks for: headers it cannot."""
        return "headers" not in self._words

    def read(self, offsets: Mapping[Partition, int], ends: Mapping[Partition, int]) -> Generator[Read]:
        """What comes next of each partition, in order, up to its end or near the newest message, or until something is
        not plain.
        """
        try:
            with closing(self._results(offsets, ends)) as results:
                for read in results:
                    if read is None:  # what comes behind it may be of the same partition
                        return
                    yield read
        finally:
            self._idle.clear()

    def _results(self, offsets: Mapping[Partition, int], ends: Mapping[Partition, int]) -> Generator[Read | None]:
        """As `read`; None for batches that cannot be read."""
        from kafka.errors import KafkaError  # few sources are far behind, and it takes a while to be imported

        from ghcm.runtime.sources.kafka.fetching import Fetching, options_of

        ahead, options = InOrder[Read | None](threads=1), options_of(self.settings)
        here = _Here(Fetching(options, offsets, ends), dict(offsets))
        beside: Beside | None = None
        try:
            with closing(here.fetching.fetched(lambda: not self.closed.is_set())) as parts:
                for fetched in parts:
                    for uncut in divided(fetched, here.fetching.ends.get(fetched.partition)):
                        yield from ahead.add(partial(self._cut, uncut))
                    here.came(fetched)
                    beside = beside or self._beside(here)
                    if beside is not None and beside.is_ready():
                        begins = here.behind(_AHEAD_S)
                        here.fetching.end_at(begins)
                        beside.begin(Order(options, begins, ends, self._times, self._lines))
            if beside is not None and beside.at_work:
                for part, room in beside.parts(self.closed):
                    yield from ahead.add(partial(self._given, beside, part, room))
        except Over:
            _log.warning("the process that reads ahead has ended; topics are read without it")
            self._alone = True
        except (KafkaError, OSError, Unread) as error:
            _log.debug("Kafka's client goes on: %r", error)
        finally:
            if beside is not None:
                beside.close()
        yield from ahead.rest()

    def _beside(self, here: _Here) -> Beside | None:
        """A process that may help, if that is worth it."""
        return Beside.started() if not self._alone and (here.seconds() or 0) > _WORTH_S else None

    def _cut(self, uncut: Uncut) -> Read | None:
        """In the thread: what is read of a part that has to be cut."""
        with self._tools() as (cutter, messages):
            try:
                return self._decoded(uncut.cut(cutter), messages)
            except Unread as error:
                _log.debug("Kafka's client goes on: %s", error)
                return None

    def _given(self, beside: Beside, part: Part, room: int | None) -> Read:
        """In the thread: what is read of a part that lies in this room."""
        try:
            with self._tools() as (_, messages):
                return self._decoded(part, messages)
        finally:
            beside.free(room)

    @contextmanager
    def _tools(self) -> Generator[tuple[Cutter, Messages]]:
        """Those that nobody uses now."""
        try:
            tools = self._idle.pop()
        except IndexError:
            tools = Cutter(times=self._times, lines=self._lines), self.make()
        try:
            yield tools
        finally:
            self._idle.append(tools)

    def _decoded(self, part: Part, messages: Messages) -> Read:
        if part.records is None:
            return Read(part.partition, part.behind)
        return Read.of(part.partition, part.behind, messages, self._block(part.partition, part.records))

    def _block(self, partition: Partition, records: Records) -> Block:
        topic, number = partition
        size, offsets = len(records.offsets), records.order()
        every: Mapping[str, Callable[[], Any]] = {
            "key": lambda: Texts(records.data, records.keys),
            "timestamp": records.times.tolist,
            "origin": lambda: [topic] * size,
            "partition": lambda: [number] * size,
            "offset": lambda: offsets,
            "deleted": lambda: [value is None for value in values],
        }
        values = Texts(records.data, records.values)
        parts = {word: every[word]() for word, _ in self.connector.fields}
        lines = lines_of(records) if self.connector.format.name in ("json", "csv") else None
        return Block(values, offsets, f"{topic}/{number}", self.name(partition), parts, lines)
