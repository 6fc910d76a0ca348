"""Topics of a real Kafka as sinks: what readers of committed messages see, whatever is killed, and what is said where
nothing can be written.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import polars as pl
import psutil
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from kafka.partitioner.default import murmur2

from ghcm.errors import GhcmError
from ghcm.expr import Call, Get, Lambda, MakeStruct, Var
from ghcm.formats.messages import Message
from ghcm.lowering.types import LINE
from ghcm.runtime.data.columns import columns_of
from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.pubsub import services
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import Instruction, State
from ghcm.runtime.pubsub.kafka_connection import Brokers
from ghcm.runtime.pubsub.kafka_connection import Kafka as Settings
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.sinks.kafka_sink import TransactionalWriter
from ghcm.runtime.sinks.sink import open_writer, read
from ghcm.runtime.slot.engine import Engine
from ghcm.runtime.sources.kafka.source import KafkaSource
from ghcm.runtime.worker import may_pass
from ghcm.source import Origin
from ghcm.spg.connectors import Format, Kafka, Mode
from ghcm.spg.graph import Sink
from ghcm.types import Field, Float, Int, List, Nullable, String, Struct, Timestamp
from tests.conformance.live_runs import Compiled, checked
from tests.kafka_server import client, kafka, new_topic, quiet
from tests.redis_server import connected
from tests.system.kafka_runs import KafkaRun
from tests.system.running import clean_environment
from tests.system.test_kafka_cache import broker
from tests.unit.runtime.formats.decoding import drain_batches

pytestmark = pytest.mark.system
ROOT = Path(__file__).resolve().parents[2]
WORD = Struct((Field("word", String()), Field("n", Int())), "Word")
_R = Var("r", WORD)
HARD = Struct((Field("text", String()), Field("n", Int()), Field("x", Float()), Field("at", Timestamp())))
BY_WORD = Lambda((_R,), Get(_R, "word", String()))


def sink_of(topic: str, delivery: str = "exactly_once", key: Lambda | None = BY_WORD) -> Sink:
    return Sink("out", Kafka(topic, Format("json"), delivery=delivery), Mode.APPEND, key, WORD, Origin("test", 1, 1))


def writer_of(sink: Sink, base: Path, name: str = "job.u.out", settings: Settings | None = None) -> SinkWriter:
    connections = Connections(base, kafka=settings or kafka())
    return open_writer(sink, connections, writer=name, key=lambda row: row[0], staging=base)


def settle(topic: str, settings: Settings) -> None:
    """Return when no transaction is open: brokers mark messages as committed a moment after they have said so."""
    levels = ("read_uncommitted", "read_committed")
    whole, done = (Consumer(client(settings, group_id="test", isolation_level=each)) for each in levels)
    with closing(whole), closing(done):
        for number in whole.list_topics(topic, timeout=30).topics[topic].partitions:
            at = TopicPartition(topic, number)
            while whole.get_watermark_offsets(at, timeout=30) != done.get_watermark_offsets(at, timeout=30):
                pass


def seen(topic: str, settings: Settings | None = None, isolation: str = "read_committed") -> list[tuple[Any, Any]]:
    """Keys and values of all messages, as anyone sees them."""
    settle(topic, settings or kafka())
    options = {"group_id": "test", "isolation_level": isolation, "enable_partition_eof": True}
    consumer = Consumer(client(settings, enable_auto_commit=False, **options))
    count = len(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(count)])
    found: list[tuple[Any, Any]] = []
    while count:
        for message in consumer.consume(1000, 1.0):
            if (error := message.error()) is None:
                key, value = message.key(), message.value()
                found.append((None if key is None else key.decode(), json.loads(value or b"null")))
            else:
                assert error.code() == KafkaError._PARTITION_EOF
                count -= 1
    consumer.close()
    return found


# --- the writer ------------------------------------------------------------------------------------------------------


def test_rows_are_seen_with_the_commit_and_not_before(tmp_path: Path) -> None:
    topic = new_topic([])
    writer = writer_of(sink_of(topic), tmp_path)
    writer.write([("a", 1), ("ü", 2)])
    assert writer.pending == 2
    assert writer.prepare("v1") == 2
    assert seen(topic, isolation="read_uncommitted") == []
    assert writer.commit("v1").rows == 2
    assert seen(topic) == [("a", {"word": "a", "n": 1}), ("ü", {"word": "ü", "n": 2})]
    writer.write([("c", 3)])
    writer.close()  # was not prepared
    assert list((tmp_path / "topics").iterdir()) == []
    assert len(seen(topic)) == 2


def test_a_version_that_is_committed_again_is_not_sent_again(tmp_path: Path) -> None:
    topic = new_topic([])
    writer = writer_of(sink_of(topic), tmp_path)
    writer.write([("a", 1)])
    writer.prepare("v1")
    (staged,) = (tmp_path / "topics").iterdir()
    kept = staged.read_bytes()
    writer.commit("v1")
    writer.commit("v1")
    writer.close()
    staged.write_bytes(kept)  # it died before it removed the file
    again = writer_of(sink_of(topic), tmp_path)
    again.recover(["v1"])
    again.commit("v1")
    assert len(seen(topic)) == 1
    assert list(staged.parent.iterdir()) == []
    again.write([("b", 2)])
    again.prepare("v2")
    again.commit("v2")
    assert len(seen(topic)) == 2


def test_a_successor_commits_what_its_predecessor_has_prepared(tmp_path: Path) -> None:
    topic = new_topic([], [])
    first = writer_of(sink_of(topic), tmp_path)
    for version in ("v1", "v2", "v3"):
        first.write([(version, 1)])
        first.prepare(version)
    first.commit("v1")
    second = writer_of(sink_of(topic), tmp_path)
    second.recover(["v2"])
    assert second.commit("v2").rows == 1
    assert sorted(key for key, _ in seen(topic)) == ["v1", "v2"]
    assert list((tmp_path / "topics").iterdir()) == []
    with pytest.raises(GhcmError, match="another process writes"):  # which it was thought to be dead for
        first.write([("zombie", 1)])
        first.prepare("v4")
        first.commit("v4")
    second.close()


def test_who_has_lost_its_client_does_not_take_over_from_a_successor(tmp_path: Path) -> None:
    topic = new_topic([])
    first, second = writer_of(sink_of(topic), tmp_path), writer_of(sink_of(topic), tmp_path)
    for writer, version in ((first, "v1"), (second, "v2")):
        writer.recover([version])
        writer.write([(version, 1)])
        writer.prepare(version)
        writer.commit(version)
    first.write([("zombie", 1)])
    first.prepare("v3")
    cast("TransactionalWriter", first)._producer = None  # as after a failure
    with pytest.raises(GhcmError, match="another process writes") as told:
        first.commit("v3")
    assert not may_pass(told.value)
    assert sorted(key for key, _ in seen(topic)) == ["v1", "v2"]


def test_keys_of_messages(tmp_path: Path) -> None:
    n, word = Get(_R, "n", Int()), Get(_R, "word", String())
    both = MakeStruct((word, n), Struct((Field("_1", String()), Field("_2", Int()))))
    for key, function, text in (
        (Lambda((_R,), n), lambda row: row[1], "7"),
        (Lambda((_R,), both), lambda row: row, '["a",7]'),
        (Lambda((_R,), Call("upper", (word,), String())), lambda row: row[0].upper(), "A"),
        (None, None, None),
    ):
        topic = new_topic([])
        sink = sink_of(topic, key=key)
        writer = open_writer(sink, Connections(tmp_path, kafka=kafka()), writer="w", key=function, staging=tmp_path)
        writer.write([("a", 7)])
        writer.write(pl.DataFrame({"word": ["a"], "n": [7]}))
        writer.prepare(topic)
        writer.commit(topic)
        writer.close()
        assert seen(topic) == [(text, {"word": "a", "n": 7})] * 2


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_a_key_lies_where_other_clients_of_kafka_have_it(delivery: str, tmp_path: Path) -> None:
    topic = new_topic([], [], [], [], [])
    writer = writer_of(sink_of(topic, delivery), tmp_path)
    words = [f"word-{number}" for number in range(40)]
    writer.write([(word, 1) for word in words])
    writer.prepare("v1")
    writer.commit("v1")
    writer.close()
    settle(topic, kafka())
    reading = KafkaSource(Kafka(topic, Format("json"), ends=True), WORD, "p", kafka(), 30.0)
    batches, _ = drain_batches(reading)
    found = {str(row[0]): batch.partition for batch in batches for row in batch.rows()}
    assert found == {word: f"p:{topic}/{(murmur2(word.encode()) & 0x7FFFFFFF) % 5}" for word in words}


@pytest.mark.parametrize("format_", ["json", "csv", "text"])
def test_what_is_written_so_is_read_so(format_: str, tmp_path: Path) -> None:
    columns = Struct((Field("text", String()),)) if format_ == "text" else HARD
    texts = ["", "a", 'q"u', "c,s", "l\nf", "ü😀", " \t"]
    rows: list[Any] = [(text,) if format_ == "text" else (text or "-", n, n / 3, n) for n, text in enumerate(texts)]
    topic = new_topic([])
    sink = Sink("out", Kafka(topic, Format(format_)), Mode.APPEND, None, columns, Origin("test", 1, 1))
    writer = writer_of(sink, tmp_path)
    writer.write(rows)
    writer.write(columns_of(rows, [(field.name, field.type) for field in columns.fields]))
    writer.prepare("v1")
    writer.commit("v1")
    settle(topic, kafka())
    reading = KafkaSource(
        Kafka(topic, Format(format_), ends=True), LINE if format_ == "text" else columns, "p", kafka(), 30.0
    )
    batches, dead = drain_batches(reading)
    assert dead == []
    assert [row[: len(columns.fields)] for batch in batches for row in batch.rows()] == rows * 2


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    topic = new_topic([])
    writer = writer_of(sink_of(topic), tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(GhcmError, match="there is no room to write to"):
            for _ in range(1000):
                writer.write([("x" * 1000, 1)] * 10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list((tmp_path / "topics").iterdir()) == []
    writer.write([("room", 1)])
    assert writer.prepare("v1") == 1
    assert writer.commit("v1").rows == 1


def test_at_least_once_is_seen_before_the_commit(tmp_path: Path) -> None:
    topic = new_topic([], [])
    writer = writer_of(sink_of(topic, "at_least_once"), tmp_path)
    writer.write([(f"k{number}", number) for number in range(1000)])
    assert writer.prepare("v1") == 1000
    assert sorted(value["n"] for _, value in seen(topic)) == list(range(1000))
    writer.commit("v1")
    writer.close()


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    topic = new_topic([])
    writer = writer_of(sink_of(topic), tmp_path)
    writer.write([(random.Random(1).randbytes(1_000_000).hex(), 1)])
    writer.prepare("v1")
    with pytest.raises(GhcmError, match="takes no message as large"):
        writer.commit("v1")
    with pytest.raises(GhcmError, match="cannot be read"):
        list(read(sink_of(topic), Connections(tmp_path, kafka=kafka())))


# --- units -----------------------------------------------------------------------------------------------------------


def program(source: str, target: str, delivery: str = "exactly_once") -> str:
    return f"""program kafka
record R {{ n: int }}
sink out = kafka("{target}", key = r => r.n, delivery = {delivery})
stream u {{
  kafka("{source}", until = latest).as(R).filter(r => r.n % 3 != 0).to(out)
}}
"""


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_from_topic_to_topic(delivery: str, tmp_path: Path) -> None:
    source, target = new_topic([b'{"n": %d}' % n for n in range(5000)], []), new_topic([], [])
    with KafkaRun(tmp_path, program(source, target, delivery), kafka()) as run:
        run.engine.wait()
        run.engine.check()
    assert sorted(seen(target)) == sorted((str(n), {"n": n}) for n in range(5000) if n % 3)


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
@pytest.mark.parametrize("tags", ["map<string, string?>", "list<Tag>?"])
def test_headers_go_from_topic_to_topic(delivery: str, tags: str, tmp_path: Path) -> None:
    headers: list[tuple[str, bytes | None]] = [("a", "ü".encode()), ("b", None), ("a", b"")][: 2 + tags.startswith("l")]
    sent = [Message(b'{"n": %d}' % n, headers=tuple(headers) if n % 3 else ()) for n in range(600)]
    source, target = new_topic(sent), new_topic([])
    text = f"""program copying
record Tag {{ name: string, text: string? }}
record R {{ n: int, tags: {tags} }}
sink out = kafka("{target}", key = r => r.n, headers = r => r.tags, delivery = {delivery})
stream u {{
  kafka("{source}", headers = tags, until = latest).as(R).to(out)
}}
"""
    with KafkaRun(tmp_path, text, kafka()) as run:
        run.engine.wait()
        run.engine.check()
    reading = Kafka(target, Format("json"), ends=True, fields=(("headers", "tags"),))
    tag = Struct((Field("name", String()), Field("text", Nullable(String()))))
    batches, dead = drain_batches(
        KafkaSource(reading, Struct((Field("n", Int()), Field("tags", List(tag)))), "p", kafka(), 30.0)
    )
    said = [(name, value if value is None else value.decode()) for name, value in headers]
    assert dead == []
    assert sorted(row for batch in batches for row in batch.rows()) == [(n, said if n % 3 else []) for n in range(600)]


def test_a_call_that_is_repeated_is_one_commit(tmp_path: Path) -> None:
    topic = new_topic([])
    text = f"""program kafka
cache calls = redis("calls")
sink out = kafka("{topic}")
responsive stream tell(n: int) on calls {{ generate(rows = 3).map(g => {{ n: g.number + n }}).to(out) }}
"""
    for attempt in range(2):  # it dies before the answer is noted, and another has the same call
        connections = replace(connected(tmp_path), kafka=kafka())
        with closing(open_store(tmp_path / f"{attempt}.sqlite")) as store:
            given = {"connections": connections, "state": tmp_path / "state", "serve": True, "calls": store.calls}
            with Engine(Compiled(checked(text)), **given) as engine:  # type: ignore[arg-type]
                cache = connections.cache("calls", "kafka", "test")
                cache.send(Instruction("once", "kafka", "tell", {"n": 7}, reply=f"reply-{attempt}"))
                (answer,) = cache.feedback(f"reply-{attempt}", timeout=30)
                engine.check()
        assert answer.feedback.state is State.DONE, answer
        assert answer.feedback.sinks["out"].rows == 3
        assert [value["n"] for _, value in seen(topic)] == [7, 8, 9]


def test_kill_9_at_any_moment_sends_each_row_once(tmp_path: Path) -> None:
    numbers = range(30_000)
    source, target = new_topic(*([b'{"n": %d}' % n for n in numbers[at::2]] for at in range(2))), new_topic([], [])
    written = tmp_path / "p.istream"
    written.write_text(program(source, target))
    line = [sys.executable, "-m", "tests.system.kafka_runs", str(tmp_path), str(written)]
    env = clean_environment(**kafka().variables())
    for moment in ("prepared", "sent", "committed", ""):
        done = subprocess.run([*line, moment], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == (-signal.SIGKILL if moment else 0), done.stderr
    assert Counter(value["n"] for _, value in seen(target)) == Counter(n for n in numbers if n % 3)


def test_a_broker_that_dies_loses_and_doubles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "s"
    with broker(folder, monkeypatch, "auto.create.topics.enable=false\n") as settings:
        text = 'sink out = kafka("out")\nstream u {\n  SOURCE.to(out)\n}\n'
        text = f"program kafka\n{text}".replace("SOURCE", "generate(rows = 1500, rate = 500).map(g => { n: g.number })")
        with KafkaRun(tmp_path / "a", text, settings) as run, pytest.raises(GhcmError, match='no topic "out"'):
            run.engine.wait()
            run.engine.check()
        with Brokers(settings, 30.0).admin() as admin:
            admin.create_topics({"out": {"num_partitions": 2}}, wait_for_metadata=True)
        with KafkaRun(tmp_path, text, settings) as run:
            run.until(lambda: run.engine.commits > 0)
            process = psutil.Process(services.services(folder)[0]["pid"])
            process.kill()
            process.wait()
            services.start_services(folder, quiet)
            run.engine.wait()
            run.engine.check()
        assert Counter(value["n"] for _, value in seen("out", settings)) == Counter(range(1500))
