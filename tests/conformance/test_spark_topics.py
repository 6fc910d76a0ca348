"""Topics on Spark: the records and dead letters of the native engine, of what is there when a job begins."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest
from confluent_kafka import Producer, TopicPartition
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
from pyspark.sql import SparkSession

from ghcm import driver as compiler
from ghcm.codegen.spark.library.job import Job, Refused, Step, refusal
from ghcm.codegen.spark.library.running import SETTINGS, refused
from ghcm.codegen.spark.library.servers.topic_sinks import write_kafka
from ghcm.codegen.spark.library.servers.topics import Topics, know_package, read_kafka
from ghcm.codegen.spark.library.types import INT, record
from ghcm.errors import GhcmError
from ghcm.formats.messages import Message
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.pubsub.cache import Delivery, MessageCache
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State
from ghcm.runtime.pubsub.kafka_connection import Brokers
from ghcm.runtime.pubsub.kafka_connection import Kafka as Settings
from ghcm.runtime.settings import load_settings
from ghcm.runtime.sources.kafka.source import KafkaSource
from ghcm.runtime.spark import programs as bundled
from ghcm.runtime.spark.execution import Execution, Services
from ghcm.runtime.spark.session import Session
from ghcm.source import Source as Text
from ghcm.spg import reference
from ghcm.spg.connectors import Connector, Format, Kafka, Memory
from ghcm.spg.graph import Program
from ghcm.spg.ops import Source
from ghcm.topics import unmatched
from ghcm.types import Field, Int, Struct
from ghcm.values import encode
from ghcm.verification.compare import differences
from tests.conformance.spark_runs import run_on_spark
from tests.conformance.spark_sinks import read_sink
from tests.conformance.text_programs import program_of
from tests.kafka_server import brokers, client, kafka, new_topic, send
from tests.system.kafka_runs import admin
from tests.system.test_kafka_cache import broker, certificate
from tests.unit.runtime.formats.decoding import drain

pytestmark = [pytest.mark.slow, pytest.mark.system]

ROW = Struct((Field("n", Int()),))
STEP = Step("rows", "p.istream:1:1", record(n=INT))


def reading(program: Program, connectors: Mapping[str, Connector]) -> Program:
    """The program whose sources of these ids read something else."""
    unit = program.unit("u")
    tasks = [replace(task, op=Source(connectors[task.id])) if task.id in connectors else task for task in unit.tasks]
    units = [replace(unit, tasks=tuple(tasks)) if each is unit else each for each in program.units]
    return replace(program, units=tuple(units))


def differ(spark: SparkSession, program: Program, expected: reference.Result, folder: Path) -> list[str]:
    """What Spark gives otherwise than expected."""
    found = run_on_spark(spark, program, "u", folder, kafka=kafka().said())
    got = {name: read_sink(folder, program.sink(name)) for name in expected.sinks}
    return differences(program, expected, sinks=got, dead=found.dead)


@pytest.mark.parametrize("name", ["intervals", "window_top"])
def test_programs_give_the_same_from_topics(name: str, spark: SparkSession, tmp_path: Path) -> None:
    program = program_of(name)
    topics: dict[str, Connector] = {}
    for task in program.unit("u").tasks:
        if isinstance(task.op, Source) and isinstance(task.op.connector, Memory):
            lines = [encode(row, task.schema).encode() for row in task.op.connector.rows]
            topics[task.id] = Kafka(new_topic(lines), Format("json"), ends=True)
    assert topics
    assert differ(spark, reading(program, topics), reference.run(program, "u"), tmp_path) == []


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Job:
    return Job(spark, "u", "p.py", {"kafka": kafka().said(), "patience": 3.0, "base": str(tmp_path)})


def numbers(job: Job, topic: str, **options: object) -> list[int]:
    return sorted(row["n"] for row in read_kafka(job, STEP, Topics(topic, **options)).collect())  # type: ignore[arg-type]


def test_what_comes_later_is_not_read(job: Job) -> None:
    topic = new_topic([b'{"n": 1}'], [], [b'{"n": 2}', b"junk"])
    rows = read_kafka(job, STEP, Topics(topic))
    send(topic, [b'{"n": 3}'], [b'{"n": 4}'])
    for _ in range(2):  # each is a job of Spark that plans anew
        assert sorted(row["n"] for row in rows.collect()) == [1, 2]
    with brokers().admin() as client:
        client.create_partitions({topic: 4})
    assert rows.count() == 2
    assert numbers(job, topic) == [1, 2, 3, 4]
    assert numbers(job, new_topic([], [])) == []


def test_reading_begins_at_a_time(job: Job) -> None:
    topic = new_topic([], [])
    producer = Producer(client(enable_idempotence=True))
    for number in range(4):
        producer.produce(topic, b'{"n": %d}' % number, partition=number % 2, timestamp=1_000_000 + number)
    assert producer.flush(30) == 0
    assert numbers(job, topic, start_us=1_000_002_000) == [2, 3]
    assert numbers(job, topic, start_us=1_000_003_000) == [3]
    assert numbers(job, topic, start_us=1_000_004_000) == []
    assert numbers(job, topic, start_us=-5_000) == [0, 1, 2, 3]


def test_topics_are_those_that_match_a_pattern(job: Job) -> None:
    name = new_topic([])
    for number, more in enumerate(("-a", "-ab")):
        new_topic([b'{"n": %d}' % number], [b'{"n": %d}' % (number + 10)], name=name + more)
    new_topic([b'{"n": 99}'], name=f"__{name}-a")
    assert numbers(job, f"{name}-ab?", pattern=True) == [0, 1, 10, 11]
    assert numbers(job, f"{name}-a", pattern=True) == [0, 10]
    assert numbers(job, name, pattern=True) == []
    with pytest.raises(Refused) as caught:
        read_kafka(job, STEP, Topics(f"__{name}-a", pattern=True))
    assert caught.value.parts == said(unmatched(f"__{name}-a", kafka().bootstrap))


@pytest.mark.parametrize("offsets", [{0: 3, 1: 0}, {0: 5, 1: 1}, {0: 1}, {0: 6}, {7: 0, 1: 1}], ids=str)
def test_reading_begins_at_offsets_as_on_the_native_engine(offsets: dict[int, int], job: Job) -> None:
    topic = new_topic([b'{"n": %d}' % number for number in range(5)], [b'{"n": 8}', b'{"n": 9}'])
    part = TopicPartition(topic, 0, 2)
    admin().delete_records([part])[part].result(30)
    for lost in ("fail", "earliest"):
        connector = Kafka(topic, Format("json"), ends=True, lost=lost, offsets=tuple(offsets.items()))
        source = KafkaSource(connector, ROW, "rows", kafka(), 30.0)
        try:
            expected: object = sorted(number for (number,) in drain(source)[0])  # type: ignore[type-var]
        except GhcmError as error:
            expected = said(error)
            assert error.code == "GHCM-742"
        try:
            found: object = numbers(job, topic, offsets=offsets, lost=lost)
        except Refused as error:
            found = said(error)
        assert found == expected


def said(error: GhcmError | Refused) -> dict[str, str]:
    """What users read of an error."""
    return refusal(error).parts if isinstance(error, GhcmError) else error.parts


def test_messages_of_transactions_count_once_they_are_committed(job: Job) -> None:
    topic = new_topic([b'{"n": 0}'])
    one, two = (Producer(client(transactional_id=topic + end)) for end in "ab")
    for producer in (one, two):
        producer.init_transactions(30)
    for number, end in ((1, one.commit_transaction), (2, one.abort_transaction), (3, one.commit_transaction)):
        one.begin_transaction()
        one.produce(topic, b'{"n": %d}' % number)
        one.flush(30)
        end(30)
    assert numbers(job, topic) == [0, 1, 3]
    two.begin_transaction()
    two.produce(topic, b'{"n": 4}')
    two.flush(30)
    send(topic, [b'{"n": 5}'])
    assert numbers(job, topic) == [0, 1, 3]
    two.commit_transaction(30)
    assert numbers(job, topic) == [0, 1, 3, 4, 5]


@pytest.mark.parametrize("lost", ["fail", "earliest"])
def test_messages_that_go_meanwhile_are_no_silence(lost: str, job: Job) -> None:
    topic = new_topic([b'{"n": %d}' % number for number in range(5)])
    rows = read_kafka(job, STEP, Topics(topic, lost=lost))
    part = TopicPartition(topic, 0, 3)
    admin().delete_records([part])[part].result(30)
    if lost == "earliest":
        assert sorted(row["n"] for row in rows.collect()) == [3, 4]
        return
    with pytest.raises(Exception, match="stage failure") as caught:
        rows.collect()
    error = refused(job, caught.value)
    assert isinstance(error, Refused)
    assert (error.parts["code"], error.parts["task"]) == ("GHCM-742", "rows")
    message = f'the messages of topic "{topic}", partition 0, from offset 0 on are gone'
    assert (error.parts["message"], error.parts["detail"]) == (message, "It holds offsets 3 to 5.")
    assert "lost = earliest" in error.parts["hint"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, 'there is no topic "nobody-made-it"'),
        ({"bootstrap": ""}, "there is no Kafka"),
        ({"bootstrap": "127.0.0.1:1"}, "Kafka at 127.0.0.1:1 cannot be reached"),
        ({"bootstrap": "nobody.invalid:1"}, "Kafka at nobody.invalid:1 cannot be reached"),
        ({"security_protocol": "SSL"}, "cannot be reached"),
        ({"security_protocol": "SSL", "ca_file": "no.pem"}, 'ca_file of [kafka], "no.pem", cannot be read'),
    ],
    ids=["topic", "none", "away", "name", "tls", "file"],
)
def test_what_cannot_be_reached_is_said(settings: Mapping[str, str], said: str, job: Job) -> None:
    job.context["kafka"] |= settings
    with pytest.raises(Refused) as caught:
        read_kafka(job, STEP, Topics("nobody-made-it"))
    assert caught.value.parts["code"] == "GHCM-739"
    assert said in caught.value.parts["message"]


def test_a_package_that_cannot_be_fetched_is_named(job: Job) -> None:
    with pytest.raises(Refused) as caught:
        know_package(job, "org.apache.spark:spark-sql-no-such-thing_2.13", "org.apache.spark.sql.none.Such")
    package = f"org.apache.spark:spark-sql-no-such-thing_2.13:{job.spark.version}"
    assert caught.value.parts["message"] == f"Spark cannot fetch its package {package}"
    assert "not found" in caught.value.parts["detail"]
    assert f"spark-submit --packages {package}" in caught.value.parts["hint"]


def test_the_driver_hands_its_kafka_to_jobs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, path = new_topic([b'{"n": 1}'], [b"junk"]), tmp_path / "p.istream"
    rows = f'kafka("{topic}", until = latest).as(Row).reply()'
    path.write_text(f"program p\n\nrecord Row {{ n: int }}\n\nresponsive batch u() {{\n  {rows}\n}}\n")
    bundle, store = Bundle.open(compiler.build(path)), open_store(tmp_path / "jobs.sqlite")
    session = Session(load_settings().spark, 1, tmp_path)
    monkeypatch.setattr(session, "_start", lambda: spark)
    answers: list[Feedback] = []
    for id, settings in (("c1", kafka()), ("c2", Settings())):
        connections = Connections(tmp_path, kafka=settings)
        services = Services(session, store.calls, connections, "test", tmp_path / "dead", Event())
        delivery = Delivery(Instruction(id, "p", "u"), 1, answers.append, lambda: None, lambda _: None)
        store.calls.accept(delivery.instruction)
        job = bundled.Job("p-1", bundle, tmp_path)
        Execution(services, job, bundle.plan.unit("u"), delivery, cast("MessageCache", None)).run(0)
    done, failed = answers
    assert (done.state, done.rows) == (State.DONE, 1)
    assert "1 record failed" in done.detail
    assert failed.state is State.FAILED
    assert failed.error is not None
    assert failed.error.code == "GHCM-739"
    assert failed.error.message == 'unit "u" has failed in "reply/kafka": there is no Kafka'


_GUARDED = """\
listeners=SASL_PLAINTEXT://127.0.0.1:{{port}},SASL_SSL://127.0.0.1:{port},CONTROLLER://127.0.0.1:{{controller}}
listener.security.protocol.map=SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:SASL_PLAINTEXT
ssl.keystore.type=PEM
ssl.keystore.location={broker}
ssl.truststore.type=PEM
ssl.truststore.location={client}
listener.name.sasl_ssl.ssl.client.auth=required
listener.name.sasl_ssl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_me="my-\\\\"secret\\\\"";
auto.create.topics.enable=false
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ghcm
allow.everyone.if.no.acl.found=true
"""


def test_passwords_and_certificates_are_taken_and_not_shown(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    key, ca = certificate(tmp_path, "broker")
    plain_key, own = certificate(tmp_path, "client")
    own_key = tmp_path / "own.key"
    encrypted = ["openssl", "pkcs8", "-topk8", "-v1", "PBE-SHA1-3DES", "-passout", "pass:key-secret"]
    subprocess.run([*encrypted, "-in", str(plain_key), "-out", str(own_key)], check=True, capture_output=True)
    both = tmp_path / "both.pem"
    both.write_text(key.read_text() + ca.read_text())
    given = {
        "bootstrap": f"127.0.0.1:{port}",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "username": "me",
        "password": 'my-"secret"',
        "ca_file": str(ca),
        "cert_file": str(own),
        "key_file": str(own_key),
        "key_password": "key-secret",
    }
    with broker(tmp_path / "s", monkeypatch, _GUARDED.format(port=port, broker=both, client=own)) as plain:
        with Brokers(plain, 30.0).admin() as operations:
            operations.create_topics(
                {"k": {"num_partitions": 1}, "read": {"num_partitions": 1}}, wait_for_metadata=True
            )
            of = ResourcePattern(ResourceType.TOPIC, "read")
            operations.create_acls([ACL("User:me", "*", ACLOperation.READ, ACLPermissionType.ALLOW, of)])
        send("k", [b'{"n": 1}'], settings=plain)
        job.context |= {"kafka": Settings.model_validate(given).said(), "patience": 30.0}
        rows = read_kafka(job, STEP, Topics("k"))
        assert [row["n"] for row in rows.collect()] == [1]
        shown: Any = rows
        plans = shown._jdf.queryExecution().toString()
        assert "KafkaRelation" in plans
        assert "secret" not in plans
        job.context["call"] = "c"
        for name, value in SETTINGS.items():
            job.spark.conf.set(name, value)
        write_kafka(job, rows, "out", "k", record(n=INT))
        job.later[0]()
        assert numbers(job, "k") == [1, 1]
        runs: Any = job.spark
        listed = runs._jsparkSession.sharedState().statusStore().executionsList()
        plans = "".join(listed.apply(each).physicalPlanDescription() for each in range(listed.size()))
        assert "SaveIntoDataSourceCommand" in plans
        assert "secret" not in plans
        assert "PRIVATE KEY" not in plans
        for topic, said in (("none", 'there is no topic "none"'), ("read", 'does not allow the use of "read"')):
            with pytest.raises(Refused) as caught:
                write_kafka(job, rows, "out", topic, record(n=INT))
            assert said in caught.value.parts["message"]
        for wrong, said in (
            ({"password": "bad-one"}, "ends the connection of this user"),
            ({"ca_file": str(own)}, "cannot be spoken to by TLS"),
            ({"key_password": "bad-one"}, "cannot be spoken to by TLS"),
        ):
            job.context["kafka"] = Settings.model_validate(given | wrong).said()
            with pytest.raises(Refused) as caught:
                read_kafka(job, STEP, Topics("k"))
            assert said in caught.value.parts["message"]
            assert "bad-one" not in str(caught.value)


ENVELOPES = """\
program rows

record Row {{ id: int, name: string?, op: string from "__op", at: int from "__ts_ms" }}

sink changes = parquet("changes", mode = append)
sink people  = parquet("people", mode = replace)

batch u {{
  rows = {source}.as(Row)
  rows.to(changes)
  rows.latest(key = r => r.id, deleted = r => r.op == "d", order = r => r.at).map(p => p.value.name).to(people)
}}
"""
ROWS: list[bytes | None] = [
    b'{"op":"c","ts_ms":5,"before":null,"after":{"id":1,"name":"ann"}}',
    b'{"op":"u","ts_ms":9,"before":{"id":1,"name":"ann"},"after":{"id":1,"name":null}}',
    b'{"op":"c","ts_ms":6,"before":null,"after":{"id":2,"name":"bob"}}',
    b'{"op":"d","ts_ms":8,"before":{"id":2,"name":"bob"},"after":null}',
    b'{"op":"r","ts_ms":7,"after":{"id":3,"name":"cy"}}',
    b'{"op":"u","ts_ms":6,"before":{"id":3,"name":"c"},"after":{"id":3,"name":"late"}}',
    b'{"op":"t","ts_ms":9}',
    b'{"op":"d","ts_ms":9,"before":null}',
    b'{"op":"c","ts_ms":"soon","after":{"id":4,"name":"dan"}}',
    b'{"op":"c","ts_ms":4,"after":{"id":"4"}}',
    b"[]",
]


def envelopes(source: str) -> Program:
    """The program over that source."""
    return lower(parse(Text("rows.istream", ENVELOPES.format(source=source))))


def test_envelopes_of_debezium(spark: SparkSession, tmp_path: Path) -> None:
    """Of files and of a topic, of which messages without a value follow deletions."""
    (tmp_path / "rows.jsonl").write_bytes(b"\n".join(filter(None, ROWS)) + b"\n")
    of_files = envelopes('files("rows.jsonl", format = debezium)')
    expected = reference.run(of_files, "u", base=tmp_path)
    assert len(expected.dead) == 4 and sorted(map(repr, expected.sinks["people"])) == ["'cy'", "None"]
    assert differ(spark, of_files, expected, tmp_path) == []
    topic = new_topic([*ROWS, None])
    of_topic = envelopes(f'kafka("{topic}", format = debezium, until = latest)')
    messages = tuple(Message(value) for value in [*ROWS, None])
    again = reference.run(of_topic, "u", inputs={"rows/kafka": {f"{topic}/0": messages}})
    assert again.sinks == expected.sinks and len(again.dead) == 4
    assert differ(spark, of_topic, again, tmp_path / "topic") == []
