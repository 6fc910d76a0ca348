"""Topics of a real Kafka that are far behind are read by whole batches, to the same end as message by message."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Generator, Mapping
from functools import partial
from pathlib import Path
from select import select
from signal import SIGSTOP
from threading import Event
from typing import Any, cast

import pytest
from confluent_kafka import Producer, TopicPartition

from ghcm.formats.messages import Message
from ghcm.lowering.types import LINE
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.messages import Messages
from ghcm.runtime.pubsub.kafka_connection import Kafka as Settings
from ghcm.runtime.sources.kafka import backlog, fetching, reading
from ghcm.runtime.sources.kafka.backlog import Backlog
from ghcm.runtime.sources.kafka.beside import Beside, alone
from ghcm.runtime.sources.kafka.parts import Part
from ghcm.runtime.sources.kafka.progress import Partition, Read
from ghcm.runtime.sources.kafka.source import KafkaSource
from ghcm.spg.connectors import Format, Kafka
from ghcm.types import Bytes, Field, Int, Nullable, Struct, Timestamp
from tests.kafka_server import client, kafka, new_topic, send
from tests.system.kafka_runs import KafkaRun, admin
from tests.system.test_kafka_source import JSON, ROW, lines, program
from tests.unit.runtime.formats.decoding import drain_batches

pytestmark = pytest.mark.system


class Watched(Backlog):
    """Counts what it has read."""

    read_by_batches = 0

    def read(self, offsets: Mapping[Partition, int], ends: Mapping[Partition, int]) -> Generator[Read]:
        for read in super().read(offsets, ends):
            Watched.read_by_batches += 0 if read.batch is None else len(read.batch) + len(read.letters)
            yield read


@pytest.fixture
def behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is left to be read is much."""
    monkeypatch.setattr(reading, "_MOST", 1)
    monkeypatch.setattr(reading, "_FAR", 0)
    monkeypatch.setattr(reading, "Backlog", Watched)
    monkeypatch.setattr(Watched, "read_by_batches", 0)


@pytest.fixture
def beside(behind: None, monkeypatch: pytest.MonkeyPatch) -> list[Beside]:
    """A process is worth it as soon as something has come, and waited for; those that were started."""
    monkeypatch.setattr(fetching, "_FIRST_OF_ONE", 4_000)
    for name, value in {"_WORTH_S": 0.0, "_JUDGED_S": 0.0, "_AHEAD_S": 1e-9}.items():
        monkeypatch.setattr(backlog, name, value)
    begun: list[Beside] = []

    def cores(_: int) -> set[int]:
        return {0, 1}

    def awaited(one: Beside) -> bool:
        return is_ready(one, 60.0)

    def started() -> Beside | None:
        found = start()
        begun.extend(() if found is None else (found,))
        return found

    start, is_ready = Beside.started, Beside.is_ready
    monkeypatch.setattr(os, "sched_getaffinity", cores)
    monkeypatch.setattr(Beside, "started", started)
    monkeypatch.setattr(Beside, "is_ready", awaited)
    return begun


def some_messages(chance: random.Random, count: int) -> list[Message]:
    junk = [b"junk", b"", b"\xff", b'{"n": 1}\n{"n": 2}', None]
    values = [b'{"n": %d}' % number if chance.random() < 0.99 else chance.choice(junk) for number in range(count)]
    keys, headers = [None, b"", b"a key"], [(), (("h", b"v"),)]
    return [Message(value, chance.choice(keys), 5 * at, chance.choice(headers)) for at, value in enumerate(values)]


def fill(topic: str, messages: list[list[Message]], codec: str) -> None:
    """With transactions of which some are aborted, several batches each."""
    options = client(transactional_id=uuid.uuid4().hex, compression_type=codec, batch_num_messages=700)
    producer = Producer(options)
    producer.init_transactions(30)
    for start in range(0, max(map(len, messages)), 1000):
        producer.begin_transaction()
        for partition, each in enumerate(messages):
            for sent in each[start : start + 1000]:
                more: dict[str, Any] = {
                    "partition": partition,
                    "headers": list(sent.headers),
                    "timestamp": sent.time_ms,
                }
                producer.produce(topic, sent.value, sent.key, **more)
                producer.poll(0)
        assert producer.flush(30) == 0  # so that there is something to abort
        producer.abort_transaction(30) if start % 3000 == 1000 else producer.commit_transaction(30)


def drained(source: KafkaSource, position: object) -> Any:
    """The rows of each partition, the dead letters, and the position behind them."""
    batches, dead = drain_batches(source, position)
    rows: dict[str, list[Row]] = {}
    for batch in batches:
        rows.setdefault(batch.partition, []).extend(batch.rows())
    return rows, sorted(dead), sorted(cast("list[Any]", source.position()))


PARTS = Struct((*ROW.fields, Field("key", Nullable(Bytes())), Field("time", Timestamp()), Field("at", Int())))
WITH_PARTS = (("key", "key"), ("timestamp", "time"), ("offset", "at"))
RAW_ROW = Struct((Field("body", Nullable(Bytes())), Field("at", Int()), Field("of", Int())))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.usefixtures("behind")
def test_what_is_far_behind_is_read_as_what_is_near(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rows, dead letters and position, without what was aborted, from the beginning and from between."""
    topic, chance = new_topic([], [], []), random.Random(codec)
    fill(topic, [some_messages(chance, 7000), some_messages(chance, 2000), []], codec)
    cases: list[tuple[Struct, Kafka]] = [(ROW, Kafka(topic, JSON, ends=True))]
    if codec == "lz4":
        cases.append((PARTS, Kafka(topic, JSON, ends=True, fields=WITH_PARTS)))
        cases.append((RAW_ROW, Kafka(topic, Format("raw"), ends=True, fields=(("offset", "at"), ("partition", "of")))))
        cases.append((LINE, Kafka(topic, Format("text"), ends=True)))
    for schema, connector in cases:
        for position in (None, [[topic, 0, 2500, 6000], [topic, 1, 3, 900], [topic, 2, 0, 0]]):
            found: list[Any] = []
            for far in (0, 10**9):
                monkeypatch.setattr(reading, "_FAR", far)
                Watched.read_by_batches = 0
                found.append(drained(KafkaSource(connector, schema, "p", kafka(), 30.0), position))
                assert (Watched.read_by_batches > 1000) == (far == 0)
            assert found[0] == found[1]
            assert sum(map(len, found[0][0].values())) > 2000


def test_a_process_beside_changes_nothing_even_if_it_is_killed(
    beside: list[Beside], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, chance = new_topic([], []), random.Random(7)
    fill(topic, [some_messages(chance, 7000), some_messages(chance, 4000)], "lz4")
    connector = Kafka(topic, JSON, ends=True, fields=WITH_PARTS)

    def read() -> Any:
        source = KafkaSource(connector, PARTS, "p", kafka(), 30.0)
        found = drained(source, [[topic, 0, 3, 6900], [topic, 1, 0, 4000]])
        with alone:  # the process has been closed
            return found

    came, parts, kills = list[Part](), Beside.parts, False

    def watched(one: Beside, closed: Event) -> Generator[tuple[Part, int | None]]:
        if kills:
            one.process.kill()
        for part in parts(one, closed):
            came.append(part[0])
            yield part

    monkeypatch.setattr(Beside, "parts", watched)
    with monkeypatch.context() as patched:
        patched.setattr(reading, "_FAR", 10**9)
        expected = read()
    assert not beside
    assert read() == expected
    assert len(beside) == 1
    assert {each.partition[1] for each in came} == {0, 1}
    kills = True
    assert read() == expected
    assert len(beside) == 2


BEGIN = """
import sys
from ghcm.runtime.pubsub.kafka_connection import Kafka
from ghcm.runtime.sources.kafka.beside import Beside, Order
from ghcm.runtime.sources.kafka.fetching import options_of

beside = Beside.started()
beside.begin(Order(options_of(Kafka(bootstrap=sys.argv[1])), {("t", 0): 0}, {}, times=False, lines=True))
print(beside.process.pid, flush=True)
sys.stdin.read()
"""


def test_a_process_beside_ends_with_who_started_it_whatever_it_does() -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker:
        broker.settimeout(60)
        line = [sys.executable, "-c", BEGIN, f"127.0.0.1:{broker.getsockname()[1]}"]
        with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            with broker.accept()[0]:  # it is at work
                os.kill(pid, SIGSTOP)  # and cannot end by itself
                ended = os.pidfd_open(pid)
                parent.kill()
                assert select([ended], [], [], 60)[0]
                os.close(ended)


@pytest.mark.usefixtures("behind")
def test_reading_by_batches_ends_where_a_broker_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = new_topic(lines(*range(20)), lines(*range(20, 40)))
    admin().delete_records([TopicPartition(topic, 0, 5)])[TopicPartition(topic, 0)].result(30)
    connector = Kafka(topic, JSON, ends=True)
    watched = Watched(connector, partial(Messages, connector, ROW), str, kafka(), Event())
    ends = {(topic, 0): 20, (topic, 1): 20}
    assert list(watched.read({(topic, 0): 3, (topic, 1): 0}, ends)) == []
    found = list(watched.read({(topic, 0): 5, (topic, 1): 19}, ends))
    assert sorted((each.partition[1], each.offset) for each in found) == [(0, 20), (1, 20)]
    assert Watched.read_by_batches == 16
    monkeypatch.setattr(fetching, "_PATIENCE_S", 0.2)
    nobody = Watched(connector, watched.make, str, Settings(bootstrap="127.0.0.1:1"), Event())
    assert list(nobody.read({(topic, 0): 5}, ends)) == []


@pytest.mark.usefixtures("behind")
def test_a_stream_that_was_far_behind_goes_on(tmp_path: Path) -> None:
    topic = new_topic(lines(*range(12_000)), lines(*range(12_000, 24_000)))
    with KafkaRun(tmp_path, program(topic, ", start = earliest"), kafka()) as run:
        run.until(lambda: len(run.rows("out")) == 24_000)
        send(topic, lines(24_000), lines(24_001))
        run.until(lambda: len(run.rows("out")) == 24_002)
        assert Counter(n for (n,) in run.rows("out")) == Counter(range(24_002))
    assert Watched.read_by_batches > 0
