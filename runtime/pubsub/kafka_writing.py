"""Clients that write to a topic of Kafka: opened, handed messages, and asked what became of them.

What is written when, and in which transaction, is the matter of `ghcm.runtime.sinks.kafka_sink`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeAlias, cast

import polars as pl
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from ghcm.runtime.pubsub.kafka_connection import Kafka as Settings
from ghcm.runtime.pubsub.kafka_data import UNKNOWN, client_options, explained, heals, passes, says_why

Headers: TypeAlias = list[tuple[str, bytes | None]]
"""Those of a message, in order."""

ANSWER_S = 15.0
"""How long an answer is waited for, or the next message to arrive, before another attempt."""
_AT_ONCE = 2048
_WAITING, _OF_A_MESSAGE = 64 << 20, 100
"""How many messages a client is handed at once, and how many bytes wait there, with what each takes besides."""
_MADE_S = 3.0
"""How long a topic that was made a moment ago may be unknown to the broker that is asked."""


@dataclass(eq=False)
class TopicWriting:
    """What writes to a topic, one client after the other, and what the brokers have said."""

    settings: Settings
    name: str
    patience: float
    _begun: float = field(default_factory=time.monotonic)
    _known: bool = False
    _waiting: int = 0
    _heard: KafkaError | None = None
    _refused: KafkaError | None = None

    def producer(self, more: dict[str, Any]) -> Producer:
        """A producer for the topic. GhcmError where there is none; brokers may make one when asked."""
        self._heard = self._refused = None
        self._waiting = 0
        given = {
            "queue.buffering.max.messages": 10_000_000,
            "queue.buffering.max.kbytes": 2_147_483_647,
            "message.max.bytes": 1_000_000_000,  # how large a message may be is for the brokers to say
            "partitioner": "murmur2_random",  # a key lies where Kafka's own clients have it
            "compression.type": "lz4",
            "linger.ms": 20,
            "delivery.report.only.error": True,
            "on_delivery": self._refuse,
        }
        producer, began = Producer(client_options(self.settings, self._hear) | given | more), time.monotonic()
        while (error := self._look(producer)) is not None:
            unknown, waited = error.code() in UNKNOWN, time.monotonic() - began
            if not passes(error) or (unknown and waited > _MADE_S):
                raise explained(self.settings, error, self.name)
            if waited > min(ANSWER_S, self.patience):
                raise KafkaException(error)
            time.sleep(0.1)
        self._known, self._heard = True, None
        return producer

    def lost(self, producer: Producer) -> bool:
        """Whether the client has lost a connection. It connects again, but may then wait for ever in a transaction."""
        producer.poll(0)
        return self._heard is not None

    def send(self, producer: Producer, keys: pl.Series, values: pl.Series, headers: Sequence[Headers] = ()) -> None:
        """Hand messages to the client: a loop of C, which now and then lets other threads run. It returns when there is
        room for more.
        """
        given = values.to_list(), keys.to_list()
        sending: Iterator[None] = map(partial(producer.produce, self.name), *given)
        if headers:

            def produce(value: str, key: str | None, more: Headers) -> None:
                producer.produce(self.name, value, key, headers=[*more])

            sending = map(produce, *given, headers)
            self._waiting += sum(len(name) + len(value or b"") for more in headers for name, value in more)
        for _ in range(0, len(values), _AT_ONCE):
            deque(islice(sending, _AT_ONCE), 0)
            producer.poll(0)
        self._waiting += cast("int", values.str.len_bytes().sum()) + _OF_A_MESSAGE * len(values)
        if self._waiting > _WAITING:
            self.flush(producer)

    def flush(self, producer: Producer) -> None:
        """Wait until all that the client was handed has arrived. KafkaException where one was refused, or none arrives
        for a while.
        """
        left, since, self._waiting = len(producer), time.monotonic(), 0
        while now := producer.flush(0.5):
            if self._refused is not None:
                break
            if now < left:
                left, since = now, time.monotonic()
            elif time.monotonic() - since > ANSWER_S:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        if self._refused is not None:
            raise KafkaException(self._refused)

    @contextmanager
    def told(self) -> Generator[None]:
        """GhcmError for what Kafka says within. What may pass is caused by a ConnectionError, so that it is tried
        again, but for brokers that have not answered once for as long as patience lasts.
        """
        try:
            yield
        except (KafkaException, SystemError) as raised:
            # Where a client fails for good it calls back all the same; Python complains of that, with why as the cause.
            exception = raised if isinstance(raised, KafkaException) else raised.__cause__
            if not isinstance(exception, KafkaException):
                raise
            error = cast("KafkaError", exception.args[0])
            for other in (self._heard, self._refused):  # which say more than what they have led to
                error = other if other is not None and not passes(other) else error
            waits = self._known or time.monotonic() - self._begun < self.patience
            why = ConnectionError(error.str()) if heals(error) and waits else exception
            raise explained(self.settings, error, self.name) from why

    def _look(self, producer: Producer) -> KafkaError | None:
        """Why the topic is not found."""
        try:
            error = producer.list_topics(self.name, timeout=1.0).topics[self.name].error
        except KafkaException as exception:
            error = exception.args[0]
        producer.poll(0)  # so that it tells what is wrong
        return self._heard if error is not None and self._heard is not None else error

    def _hear(self, error: KafkaError) -> None:
        if self._heard is None or error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._heard = error

    def _refuse(self, error: KafkaError | None, _: Message) -> None:
        if error is not None and says_why(error):
            self._refused = self._refused or error


def answered(ask: Callable[[], None]) -> None:
    """Ask a client for what it answers in time, as a rule: one that has lost a connection may wait for ever, and is
    left to that.
    """
    answers = SimpleQueue[BaseException | None]()

    def run() -> None:
        try:
            ask()
            answers.put(None)
        except BaseException as error:
            answers.put(error)

    Thread(target=run, name="ghcm-kafka-commit", daemon=True).start()
    try:
        error = answers.get(timeout=2 * ANSWER_S)
    except Empty:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from None
    if error is not None:
        raise error
