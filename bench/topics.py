"""Records per second from and to topics of a Kafka on this machine: decoded from JSON beside the same lines of a file,
undecoded, and written exactly once; beside Kafka's client in C, used by hand, and Spark's Structured Streaming.

Contestants take turns, each in a process of its own; those that read do so twice there, and the second time counts.
What they have read or written is counted. Seconds of the processor are those of the contestant and its children: the
broker works beside them on the same cores. The engine reads JSON for seconds, so that a rate is what is measured; how
long the first records take stands beside it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import polars as pl
import psutil

from bench.table import Row
from ghcm.runtime.pubsub.kafka_connection import Brokers, Kafka
from ghcm.runtime.pubsub.kafka_data import client_options
from ghcm.runtime.settings import load_settings

__all__ = ["measure"]

RECORDS, MANY, PARTITIONS, BYTES = 1_000_000, 10_000_000, 4, 226
"""`MANY` are those of JSON that the engine reads."""
_AT_ONCE, _LOOK_S = 1000, 0.002

SUBJECTS = {
    "file": ("a file of JSON", "file"),
    "topic": ("a topic of JSON", "file"),
    "spark reads": ("a topic of JSON, by Spark", "topic"),
    "raw": ("a topic, undecoded", "consumer"),
    "consumer": ("a topic, by a consumer by hand", "raw"),
    "sink": ("to a topic as JSON, exactly once", "producer"),
    "spark writes": ("to a topic as JSON, by Spark, at least once", "sink"),
    "producer": ("to a topic, lines made before, by a producer by hand, exactly once", "sink"),
}
"""What each is called, and beside which it stands."""

Figures: TypeAlias = dict[str, tuple[float, ...]]
"""Seconds, and seconds of the processor, of each subject that a process was asked for; of an engine that reads, also
the seconds until the first records have come.
"""

_RECORD = "record R { at: int, src: string, dst: string, bytes: int, note: string }\n"
_RAW = "record Raw { at: int, body: bytes }\n"
_LAST = '.filter(r => r.at == {}).to(out)\n}}\nsink out = files("out", mode = append)\n'
PROGRAMS = {
    "file": f'{_RECORD}stream u {{\n  files("many.jsonl", format = json).as(R){_LAST.format(MANY - 1)}',
    "topic": f'{_RECORD}stream u {{\n  kafka("many", until = latest).as(R){_LAST.format(MANY - 1)}',
    "raw": f'{_RAW}stream u {{\n  kafka("in", format = raw, offset = at, until = latest).as(Raw)'
    + _LAST.format(RECORDS // PARTITIONS - 1),
    "sink": f'{_RECORD}sink out = kafka("out", key = r => r.src)\n'
    'stream u {\n  files("in/*.parquet", format = parquet).as(R).to(out)\n}\n',
}
"""Of those that read, the last record of all, or of each partition, is written."""


def measure(runs: int) -> list[Row]:
    """The median of so many runs of each but Spark, which starts once and is warm."""
    from ghcm.runtime.pubsub.services import service_logins, start_services, stop_services

    found: dict[str, list[tuple[float, ...]]] = {subject: [] for subject in SUBJECTS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start_services(folder / "services", lambda _: None)
        try:
            brokers = service_logins(folder / "services")[0]
            _fill("in", RECORDS, folder, brokers)
            _fill("many", MANY, folder, brokers)
            for contestants in (*([OWN] * (runs - 1)), (*OWN, "spark")):
                for contestant in contestants:
                    for subject, figures in _turn(contestant, folder, brokers).items():
                        found[subject].append(figures)
        finally:
            stop_services(folder / "services", lambda _: None)
    return [_row(each, found) for each in SUBJECTS]


def _row(each: str, found: dict[str, list[tuple[float, ...]]]) -> Row:
    (subject, beside), count = SUBJECTS[each], _count(each)
    seconds, cpu, *first = map(median, zip(*found[each], strict=True))
    other = _count(beside) / median(figures[0] for figures in found[beside])
    start = "".join(f", the first after {after:.2f} s" for after in first)
    return Row(
        "topics",
        subject,
        f"{count / seconds:,.0f} records/s, {count / cpu:,.0f} per CPU second{start}",
        f"{count / seconds / other:.2f} x {SUBJECTS[beside][0]}",
        f"{count:,} records of {BYTES} bytes, median of {len(found[each])}",
    )


def _count(subject: str) -> int:
    return MANY if subject in ("file", "topic") else RECORDS


def _fill(name: str, count: int, folder: Path, brokers: Kafka) -> None:
    """So many records as lines, as a table, and as the messages of a topic."""
    from confluent_kafka import Producer

    at = pl.int_range(count).alias("at")
    src, dst = pl.format("10.0.{}.{}", at % 250, at % 199).alias("src"), pl.lit("192.168.1.7").alias("dst")
    frame = pl.select(at, src, dst, (at % 1500).alias("bytes"), pl.lit("").alias("note"))
    missing = BYTES - pl.struct(frame.columns).struct.json_encode().str.len_bytes()
    frame = frame.with_columns(pl.col("note").str.pad_end(missing, "x"))
    (folder / name).mkdir()
    frame.write_parquet(folder / name / "in.parquet")
    frame.write_ndjson(folder / f"{name}.jsonl")
    _make_topic(name, brokers)
    producer = Producer(_client(brokers, {"linger.ms": 20, "compression.type": "lz4"}))
    with (folder / f"{name}.jsonl").open("rb") as lines:
        for number, line in enumerate(lines):
            producer.produce(name, line[:-1], partition=number * PARTITIONS // count)
            if number % (50 * _AT_ONCE) == 0:
                producer.flush(60)
    if producer.flush(60):
        raise SystemExit("the topic could not be filled")


def _client(brokers: Kafka, options: dict[str, Any]) -> dict[str, Any]:
    return client_options(brokers, lambda _: None) | options


def _make_topic(topic: str, brokers: Kafka) -> None:
    with Brokers(brokers, 30.0).admin() as admin:
        if topic in admin.list_topics():
            admin.delete_topics([topic])
        while topic in admin.list_topics():
            time.sleep(0.1)  # the broker says when it begins to delete, not when it has
        admin.create_topics({topic: {"num_partitions": PARTITIONS}}, wait_for_metadata=True)


def _turn(contestant: str, folder: Path, brokers: Kafka) -> Figures:
    """The engine's libraries have the threads and the memory that they have in the daemon."""
    from ghcm.runtime.daemon.warm_standby import SLOT

    _make_topic("out", brokers)
    line = [sys.executable, "-m", "bench.topics", contestant, str(folder)]
    env = os.environ | brokers.variables() | (SLOT if contestant in PROGRAMS else {})
    done = subprocess.run(line, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{contestant}: {done.stderr[-3000:]}")
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    if figures.keys() & {"sink", "producer", "spark writes"}:
        _see_written(brokers)
    return figures


def _see_written(brokers: Kafka) -> None:
    """That the topic holds all records, and little besides, which are the marks of transactions."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(_client(brokers, {"group.id": "bench"}))
    ends = [consumer.get_watermark_offsets(TopicPartition("out", number))[1] for number in range(PARTITIONS)]
    consumer.close()
    if not RECORDS <= sum(ends) < RECORDS + 1000:
        raise SystemExit(f"the topic has {sum(ends):,} messages of {RECORDS:,} records")


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """The seconds that it takes, and those of the processor, by this process and its children."""

    def used() -> float:
        own = psutil.Process()
        times, ended = [each.cpu_times() for each in (own, *own.children(recursive=True))], own.cpu_times()
        return sum(each.user + each.system for each in times) + ended.children_user + ended.children_system

    cpu, start = used(), time.perf_counter()
    work()
    return time.perf_counter() - start, used() - cpu


def _ghcm(subject: str, folder: Path, brokers: Kafka) -> Figures:
    """What reads has run before: what is imported, and memory that is taken the first time, does not count."""
    from ghcm.driver import build
    from ghcm.runtime.bundle import Bundle
    from ghcm.runtime.pubsub.connections import Connections
    from ghcm.runtime.slot.engine import Engine

    (folder / "topics.istream").write_text(f"program topics\n{PROGRAMS[subject]}")
    bundle = Bundle.open(build(folder / "topics.istream", folder / "topics.ghcm"))

    def run() -> tuple[tuple[float, ...], dict[str, Any]]:
        shutil.rmtree(folder / "out", ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=folder) as state:
            connections = Connections(folder, kafka=brokers)
            engine = Engine(bundle, connections=connections, state=Path(state), job=Path(state).name)
            found, first, begin = list[dict[str, Any]](), list[float](), time.perf_counter()

            def work() -> None:
                engine.start()
                while subject != "sink" and not _read(engine.status()):
                    time.sleep(_LOOK_S)
                    engine.check()
                first.append(time.perf_counter() - begin)
                engine.wait()
                found.append(engine.status())
                engine.close()
                engine.check()

            seconds, cpu = timed(work)
            return (seconds, cpu) if subject == "sink" else (seconds, cpu, *first), found[0]

    if subject != "sink":  # which would write twice
        run()
    figures, found = run()
    if _read(found) != _count(subject):
        raise SystemExit(f"{subject}: {_read(found):,} records were read")
    rows = sum(path.read_bytes().count(b"\n") for path in (folder / "out").glob("part-*"))
    if rows != {"file": 1, "topic": 1, "raw": PARTITIONS, "sink": 0}[subject]:
        raise SystemExit(f"{subject}: {rows} records were last")
    return {subject: figures}


def _read(status: dict[str, Any]) -> int:
    """How many records the source of the program has given."""
    return max((task["out"] for task in status["units"]["u"]["tasks"].values()), default=0)


def _consumer(_: Path, brokers: Kafka) -> Figures:
    from confluent_kafka import Consumer, Message, TopicPartition

    options = _client(brokers, {"group.id": "bench", "enable.auto.commit": False})
    # The client pauses for a second where much waits for who takes it.
    options |= {"isolation.level": "read_committed", "fetch.queue.backoff.ms": 10}

    def read() -> None:
        consumer, found = Consumer(options), 0
        consumer.assign([TopicPartition("in", number, 0) for number in range(PARTITIONS)])
        while found < RECORDS:
            found += len(list(map(Message.value, consumer.consume(_AT_ONCE, 0.25))))
        consumer.close()

    return {"consumer": timed(read)}


def _producer(folder: Path, brokers: Kafka) -> Figures:
    from confluent_kafka import Producer

    lines = (folder / "in.jsonl").read_bytes().splitlines()
    keys = [line.split(b'"', 6)[5] for line in lines]
    options = _client(brokers, {"linger.ms": 20, "compression.type": "lz4"})
    room = {"queue.buffering.max.messages": 2 * RECORDS, "queue.buffering.max.kbytes": 1 << 20}

    def write() -> None:
        producer = Producer({**options, **room, "transactional.id": "bench", "partitioner": "murmur2_random"})
        producer.init_transactions()
        producer.begin_transaction()
        for line, key in zip(lines, keys, strict=True):
            producer.produce("out", line, key)
        producer.commit_transaction()

    return {"producer": timed(write)}


def _spark(folder: Path, brokers: Kafka) -> Figures:
    """A warm session: each query has run before."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    from ghcm.codegen.spark.library.job import Job
    from ghcm.codegen.spark.library.servers import topics
    from ghcm.runtime.settings import Settings
    from ghcm.runtime.spark.session import Session

    spark = Session(Settings().spark, 2, folder).get()
    job = Job(spark, "topics", __file__, {"kafka": brokers.said()})
    topics.know_package(
        job, "org.apache.spark:spark-sql-kafka-0-10_2.13", "org.apache.spark.sql.kafka010.KafkaSourceProvider"
    )
    schema = "at bigint, src string, dst string, bytes bigint, note string"
    kafka = {f"kafka.{name}": value for name, value in topics.client_options(job).items()}

    def run(records: DataFrame, format_: str, **options: str) -> None:
        with tempfile.TemporaryDirectory(dir=folder) as checkpoint:
            writing = records.writeStream.format(format_).options(checkpointLocation=checkpoint, **options)
            query = writing.trigger(availableNow=True).start()
            query.awaitTermination()
        if (rows := sum(each["numInputRows"] for each in query.recentProgress)) != RECORDS:
            raise SystemExit(f"Spark has read {rows:,} records")

    messages = spark.readStream.format("kafka").options(subscribe="in", startingOffsets="earliest", **kafka).load()
    decoded = messages.select(F.from_json(F.col("value").cast("string"), schema).alias("r")).select("r.*")
    texts = spark.readStream.schema(schema).parquet(str(folder / "in"))
    written = texts.select(F.col("src").alias("key"), F.to_json(F.struct("*")).alias("value"))
    read = partial(run, decoded.where(F.col("at") == RECORDS - 1), "noop")
    write = partial(run, written, "kafka", topic="out", **kafka)
    read()
    run(written, "noop")
    return {"spark reads": timed(read), "spark writes": timed(write)}


CONTESTANTS: dict[str, Callable[[Path, Kafka], Figures]] = {
    **{subject: partial(_ghcm, subject) for subject in PROGRAMS},
    "consumer": _consumer,
    "producer": _producer,
    "spark": _spark,
}

OWN = tuple(each for each in CONTESTANTS if each != "spark")


if __name__ == "__main__":
    print(json.dumps(CONTESTANTS[sys.argv[1]](Path(sys.argv[2]), load_settings().kafka)))
