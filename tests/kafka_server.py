"""The real Kafka of the tests: development services in one folder for the whole session, shared by its workers."""

import os
import shutil
import tempfile
import uuid
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as Part
from kafka import KafkaConsumer, TopicPartition
from pydantic import SecretStr

from ghcm.formats.messages import Message
from ghcm.runtime.pubsub.kafka_connection import Brokers, Kafka
from ghcm.runtime.pubsub.kafka_data import client_options
from ghcm.runtime.pubsub.services import service_logins, start_services, stop_services

Sent = tuple[int | None, bytes | None, bytes | None, list[tuple[str, bytes | None]] | None]
"""Of a message the partition, where there is a key that says which; the key, the value and the headers."""
_FOLDER = "PYTEST_SERVICES"


def quiet(step: str) -> None:
    """Hears the steps of services that start."""


def name_folder() -> bool:
    """Choose the folder that workers of this session will find; whether this process is the one that has."""
    if _FOLDER in os.environ:
        return False
    os.environ[_FOLDER] = tempfile.mkdtemp(prefix="ghcm-services-")
    return True


def services_folder() -> Path:
    """The folder of the session's services, which run."""
    folder = Path(os.environ[_FOLDER])
    _start(folder)
    return folder


def kafka() -> Kafka:
    """The settings of the session's Kafka, which runs."""
    return service_logins(services_folder())[0]


def as_user(settings: Kafka, username: str, password: str) -> Kafka:
    """The same Kafka for someone else."""
    return settings.model_copy(update={"username": username, "password": SecretStr(password)})


def client(settings: Kafka | None = None, **more: Any) -> dict[str, Any]:
    """What a client of confluent-kafka is opened with, with more options; without settings, of the session's Kafka."""
    named = {name.replace("_", "."): value for name, value in more.items()}
    return {**client_options(settings or kafka(), lambda _: None), **named}


@cache
def brokers() -> Brokers:
    """A connection to it that the tests of a process share."""
    return Brokers(kafka(), 30.0)


def new_topic(*partitions: Sequence[Message | bytes | None], name: str = "") -> str:
    """A topic of these messages by partition."""
    topic = name or f"data-{uuid.uuid4().hex}"
    with brokers().admin() as admin:
        admin.create_topics({topic: {"num_partitions": len(partitions)}}, wait_for_metadata=True)
    send(topic, *partitions)
    return topic


def send(topic: str, *partitions: Sequence[Message | bytes | None], settings: Kafka | None = None) -> None:
    """Add messages, or values of some, to a topic by partition."""
    room = max(100_000, sum(map(len, partitions)))  # for all, however long the broker takes
    options = client(settings, linger_ms=5, enable_idempotence=True, queue_buffering_max_messages=room)
    producer = Producer(options)  # in order, whatever is sent again
    failed: list[str] = []

    def done(error: object, _: object) -> None:
        if error is not None:
            failed.append(str(error))

    for partition, messages in enumerate(partitions):
        for message in messages:
            given = message if isinstance(message, Message) else Message(message)
            more: dict[str, Any] = {"headers": list(given.headers)} if given.headers else {}
            more |= {"timestamp": given.time_ms} if given.time_ms >= 0 else {}
            producer.produce(topic, given.value, given.key, partition=partition, on_delivery=done, **more)
            producer.poll(0)
    assert producer.flush(60) == 0
    assert failed == []


def records(topic: str, settings: Kafka | None = None, patience: float = 30.0) -> list[Any]:
    """All records of a topic, those of transactions that came to nothing too."""
    consumer = KafkaConsumer(**(settings or kafka()).options(patience), enable_auto_commit=False)
    partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
    consumer.assign(partitions)
    consumer.seek_to_beginning()
    ends, found = consumer.end_offsets(partitions), list[Any]()
    while any(consumer.position(each) < ends[each] for each in partitions):
        found += [record for records in consumer.poll(timeout_ms=1000).values() for record in records]
    consumer.close()
    return found


def messages(*topics: str, settings: Kafka | None = None) -> list[list[Sent]]:
    """All messages of each topic that are committed, in no order, however they are compressed."""
    consumer: Any = Consumer(client(settings, group_id="test", enable_partition_eof=True))
    found: dict[str, list[Sent]] = {topic: [] for topic in topics}
    known = consumer.list_topics(timeout=30).topics
    parts = [Part(topic, each, OFFSET_BEGINNING) for topic in topics for each in known[topic].partitions]
    consumer.assign(parts)
    ended = 0
    while ended < len(parts):
        for message in consumer.consume(1000, 1.0):
            if message.error() is not None:
                assert message.error().code() == KafkaError._PARTITION_EOF
                ended += 1
                continue
            key = message.key()
            found[message.topic()].append(
                (None if key is None else message.partition(), key, message.value(), message.headers())
            )
    consumer.close()
    return [sorted(each, key=repr) for each in found.values()]


def end_services() -> None:
    """End the session's services, if a test asked for them; for who has named the folder."""
    folder = Path(os.environ.pop(_FOLDER))
    stop_services(folder, quiet)
    shutil.rmtree(folder, ignore_errors=True)


@cache
def _start(folder: Path) -> None:
    start_services(folder, quiet)
