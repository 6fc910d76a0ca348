"""Record batches from the brokers that lead partitions, several partitions in each answer, by kafka-python.

A broker is asked for what comes next before what it has sent is handed on, so that it works meanwhile; and a thread
takes what it sends, while those that decode have what came before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from kafka import errors
from kafka.net.compat import KafkaNetClient
from kafka.net.transport import KafkaTCPTransport
from kafka.protocol.consumer import FetchRequest
from kafka.structs import TopicPartition

from ghcm.runtime.sources.kafka.record_batches import RecordBatch, batches_of, committed
from ghcm.runtime.sources.source import Mailbox

if TYPE_CHECKING:
    from ghcm.runtime.pubsub.kafka_connection import Kafka as Settings
    from ghcm.runtime.sources.kafka.progress import Partition

_NEAR = 10_000
"""Messages in front of the newest one where the reading of a topic that does not end ends here."""
_ANSWER, _LARGEST = 16 << 20, 128 << 20
"""Bytes that a broker sends at once, and those that are taken: it sends a whole batch however large that is."""
_FIRST_OF_ONE, _GROWS = 256 << 10, 8
"""Bytes of one partition that it sends first: few, so that messages soon come. Then they are twice as many each time,
up to so many times the first.
"""
_AHEAD = 4
"""Parts of partitions that are fetched before they are asked for."""
_TAKEN = 256 << 10
"""Bytes that are taken of a connection at once."""
_PATIENCE_S, _WAIT_MS = 10.0, 100
_COMMITTED = 1

_Client: TypeAlias = Any
_Asked: TypeAlias = "tuple[Any, dict[Partition, int]]"
"""What the answer comes by, and the offsets of the partitions that were asked for."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came of a partition from an offset on: its batches with messages, and the offset behind them and all else
    that came.
    """

    partition: Partition
    begin: int
    behind: int
    batches: Sequence[RecordBatch]


class _End:
    """Nothing more comes."""


def options_of(settings: Settings) -> dict[str, Any]:
    """What a client is opened with. GhcmError where a file is missing."""
    return settings.options(_PATIENCE_S)


class Fetching:
    """Fetches what comes next of partitions that begin at `offsets`, up to their `ends`, or near the newest message of
    those that have none, by a client with these `options`. Raises KafkaError of kafka-python where brokers are away,
    refuse or move.
    """

    def __init__(
        self, options: Mapping[str, Any], offsets: Mapping[Partition, int], ends: Mapping[Partition, int]
    ) -> None:
        self._options = options
        self.ends = ends
        self._next = dict(offsets)
        self._newest: dict[Partition, int] = {}
        self._most = _FIRST_OF_ONE

    def end_at(self, ends: Mapping[Partition, int]) -> None:
        """Let these partitions end there."""
        self.ends = {**self.ends, **ends}

    def targets(self) -> dict[Partition, int]:
        """Up to where partitions are read, as far as that is known."""
        known = {each: newest - _NEAR for each, newest in list(self._newest.items())} | {**self.ends}
        return {each: known[each] for each in self._next if each in known}

    def fetched(self, goes_on: Callable[[], bool]) -> Generator[Fetched]:
        """What comes, of each partition in order, until that is all or nobody wants more; some of it ahead."""
        mailbox, came, left = Mailbox[Fetched | _End](_AHEAD), Event(), Event()

        def read() -> None:
            with closing(self._come(lambda: goes_on() and not left.is_set())) as parts:
                if all(map(mailbox.put, parts)):
                    mailbox.put(_End())

        thread = mailbox.feed("ghcm-kafka-fetch", read, came.set)
        try:
            while came.wait():
                came.clear()
                while (part := mailbox.take()) is not None:
                    if isinstance(part, _End):
                        return
                    yield part
        finally:
            left.set()
            mailbox.close()
            thread.join()

    def _come(self, goes_on: Callable[[], bool]) -> Generator[Fetched]:
        more = {"receive_message_max_bytes": _LARGEST, "request_timeout_ms": int(_PATIENCE_S * 1000)}
        with closing(cast("Any", KafkaNetClient)(**self._options, **more)) as client:
            asked: dict[int, _Asked] = {}
            for node, partitions in self._leaders(client).items():
                asked[node] = self._ask(client, node, partitions)
            while asked and goes_on():
                client.poll(timeout_ms=_WAIT_MS, future=next(iter(asked.values()))[0])
                for node in [node for node, (future, _) in asked.items() if future.is_done]:
                    future, begins = asked.pop(node)
                    if future.failed():
                        raise future.exception
                    found, left = self._understood(future.value, begins)
                    if left:
                        asked[node] = self._ask(client, node, left)
                        client.poll(timeout_ms=0)
                    yield from found

    def _leaders(self, client: _Client) -> dict[int, list[Partition]]:
        """The partitions that each broker leads."""
        client.cluster.config |= {"allow_auto_create_topics": False, "retry_backoff_ms": 1}  # between two answers, too
        client.get_broker_version(timeout_ms=int(_PATIENCE_S * 1000))
        known = client.cluster.set_topics({topic for topic, _ in self._next})
        client.poll(timeout_ms=int(_PATIENCE_S * 1000), future=known)
        leaders: dict[int, list[Partition]] = {}
        for partition in self._next:
            node = client.cluster.leader_for_partition(TopicPartition(*partition))
            if node is not None and node >= 0:
                leaders.setdefault(node, []).append(partition)
        for node in leaders:
            client.await_ready(node, timeout_ms=int(_PATIENCE_S * 1000))
            _take_much(client, node)
        return leaders

    def _ask(self, client: _Client, node: int, partitions: Collection[Partition]) -> _Asked:
        request: Any = FetchRequest
        topic, part = request.FetchTopic, request.FetchTopic.FetchPartition
        topics: dict[str, list[Any]] = {}
        for name, number in partitions:
            where = {"partition": number, "fetch_offset": self._next[name, number]}
            free = {"current_leader_epoch": -1, "last_fetched_epoch": -1, "log_start_offset": -1}
            topics.setdefault(name, []).append(part(**where, **free, partition_max_bytes=self._most))
        self._most = min(2 * self._most, _GROWS * _FIRST_OF_ONE)
        asked = request(
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=_ANSWER,
            isolation_level=_COMMITTED,
            session_id=0,
            session_epoch=-1,
            topics=[topic(topic=name, partitions=parts) for name, parts in topics.items()],
            forgotten_topics_data=[],
            rack_id="",
            min_version=4,
            max_version=12,
        )
        return client.send(node, asked), {each: self._next[each] for each in partitions}

    def _understood(self, answer: Any, begins: Mapping[Partition, int]) -> tuple[list[Fetched], list[Partition]]:
        """What came, and the partitions of which more is wanted; those of which nothing came stand in front, for a
        broker that has sent enough of the others sends nothing of them.
        """
        found: list[Fetched] = []
        left: list[Partition] = []
        for topic in answer.responses:
            for part in topic.partitions:
                partition = topic.topic, part.partition_index
                if part.error_code:
                    raise cast("Any", errors).for_code(part.error_code)(f"{partition}")
                each = _fetched(partition, begins[partition], part)
                self._next[partition] = each.behind
                if each.behind > each.begin:
                    found.append(each)
                self._newest[partition], end = part.high_watermark, self.ends.get(partition)
                if each.behind + _NEAR < part.high_watermark if end is None else each.behind < end:
                    left.append(partition)
        came = {each.partition for each in found}
        return found, sorted(left, key=came.__contains__) if found else []


def _take_much(client: _Client, node: int) -> None:
    """Have the connection take at once what has come, where it is a plain one: kafka-python takes 4 KB at a time, and
    each time has to wait for the interpreter, which others use.
    """
    connections = getattr(getattr(client, "_manager", None), "_conns", {})
    transport: Any = getattr(connections.get(node), "transport", None)
    if cast("Any", type)(transport) is not KafkaTCPTransport:
        return
    socket, lost = transport._sock, cast("Any", errors).KafkaConnectionError

    def taken() -> tuple[bytes, Exception | None]:
        try:
            data = socket.recv(_TAKEN)
        except (BlockingIOError, InterruptedError):
            return b"", None
        except OSError as error:
            return b"", lost(error)
        return data, None if data else lost("socket disconnected")

    transport._sock_recv = taken


def _fetched(partition: Partition, begin: int, part: Any) -> Fetched:
    every = list(batches_of(memoryview(part.records or b"")))
    aborted = [(each.producer_id, each.first_offset) for each in part.aborted_transactions or ()]
    behind = max([begin, *(batch.behind for batch in every[-1:])])
    return Fetched(partition, begin, behind, list(committed(every, aborted)))
