"""Topics as sinks: a message for each row; a key is the text that it is, else JSON; a column may give the headers.

Exactly once: the messages of a version rest in a file beside the snapshots, since no client can go on with a
transaction that another has begun. A commit sends them in one transaction of Kafka, with the name of the version as the
note of an offset of a consumer group that this writer alone has. Whatever fails in between, the next attempt begins
with a new client: that ends what was left open, and sees by the note what was committed last, so that nothing is sent
twice. Brokers drop a note when nothing was committed for a week (`offsets.retention.minutes`); it is needed only after
a crash between a commit and the removal of its file.

At least once: messages are sent when rows come, and a version is prepared when they have arrived. What came behind the
last snapshot is sent again after a crash.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, cast

import polars as pl
import pyarrow as pa
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from ghcm.durable import sync
from ghcm.fence import Fence, hold
from ghcm.formats.messages import value_of
from ghcm.runtime.data.columns import rows_of
from ghcm.runtime.formats.lines import Encode, Rows, cells, encoder, framed, json_texts
from ghcm.runtime.formats.message_parts import header_writer
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.runtime.pubsub.kafka_data import another_writes, client_options, passes
from ghcm.runtime.pubsub.kafka_writing import ANSWER_S, Headers, TopicWriting, answered
from ghcm.runtime.sinks.backend import Commit, KeyOf, SinkWriter
from ghcm.spg.connectors import Kafka
from ghcm.spg.graph import Sink
from ghcm.tables.versions import explained as explained_file
from ghcm.tables.versions import safe_name
from ghcm.types import Struct
from ghcm.values import cell_writer, key_writer

_STAGED: Any = pa.schema([("key", pa.large_string()), ("value", pa.large_string())])
_HEADERS: Any = pa.map_(pa.string(), pa.binary())
_TRANSACTION_S = 600
"""A transaction that takes longer is ended by the brokers."""
_FORGOTTEN_S = 24 * 3600

_Texts: TypeAlias = Callable[[Rows], tuple[pl.Series, pl.Series]]
"""Keys and values of the messages of rows, as texts."""
_Encode: TypeAlias = Callable[[Rows], tuple[pl.Series, pl.Series, list[Headers]]]
"""The same, and the headers, if any message may have some."""


def _encode(sink: Sink, key: KeyOf | None) -> _Encode:
    topic = cast("Kafka", sink.connector)
    if not topic.fields:
        texts = _texts(sink, key, encoder(topic.format, sink.columns))
        return lambda rows: (*texts(rows), [])
    [(_, name)] = topic.fields
    column, rest = sink.columns.field_of(name), value_of(topic.fields, sink.columns)
    write, headers = encoder(topic.format, rest), header_writer(column.type)

    def without(rows: Rows) -> pl.Series:
        if isinstance(rows, pl.DataFrame):
            return write(rows.drop(name))
        at = sink.columns.index(name)
        return write([(*row[:at], *row[at + 1 :]) for row in rows])

    texts = _texts(sink, key, without)

    def encode(rows: Rows) -> tuple[pl.Series, pl.Series, list[Headers]]:
        each = rows_of(rows.select(name), [(name, column.type)]) if isinstance(rows, pl.DataFrame) else rows
        at = 0 if isinstance(rows, pl.DataFrame) else sink.columns.index(name)
        return (*texts(rows), [headers(row[at]) for row in each])

    return encode


def _texts(sink: Sink, key: KeyOf | None, values: Encode) -> _Texts:
    if sink.key is None or key is None:
        return lambda rows: (pl.repeat(None, len(rows), dtype=pl.String, eager=True), values(rows))
    type_, names = sink.key.body.type, sink.key_columns
    write = key_writer(type_) if isinstance(type_, Struct) else cell_writer(type_)
    schema = [(field.name, field.type) for field in sink.columns.fields]

    def keys(rows: Rows) -> pl.Series:
        if not isinstance(rows, pl.DataFrame) or not names:
            each = rows_of(rows, schema) if isinstance(rows, pl.DataFrame) else rows
            return pl.Series([write(key(row)) for row in each], dtype=pl.String)
        if not isinstance(type_, Struct):
            return cells(rows[names[0]], type_)
        parts = [json_texts(rows[name], field.type) for name, field in zip(names, type_.fields, strict=True)]
        joined = pl.concat_str(*map(pl.lit, parts), separator=",")
        return pl.select(pl.format("[{}]", joined)).to_series()

    def encode(rows: Rows) -> tuple[pl.Series, pl.Series]:
        given = framed(rows, sink.columns) if names else rows
        return keys(given), values(given)

    return encode


class TransactionalWriter:
    """The `SinkWriter` of a topic exactly once. `folder` is where messages wait for their commit, with those of others.

    ::

        <hash of the writer>.<version>      prepared
        <hash of the writer>.open-<id>      is being written
    """

    def __init__(self, topic: TopicWriting, encode: _Encode, writer: str, folder: Path) -> None:
        self._topic = topic
        self._encode = encode
        self._name = f"ghcm.{writer}"
        self._folder = folder
        self._own = hashlib.md5(writer.encode(), usedforsecurity=False).hexdigest()
        self._open = folder / f"{self._own}.open-{uuid.uuid4().hex}"
        self._file: Any = None
        self._rows = 0
        self._prepared: str | None = None
        self._producer: Producer | None = None
        self._group: Any = None
        self._last: str | None = None
        with explained_file(folder, "write to"):
            folder.mkdir(parents=True, exist_ok=True)

    def write(self, rows: Rows) -> None:
        with self._writing():
            arrow: Any = pa
            keys, values, headers = self._encode(rows)
            columns: list[Any] = [texts.to_arrow(compat_level=pl.CompatLevel.oldest()) for texts in (keys, values)]
            schema = _STAGED
            if headers:
                columns.append(arrow.array(headers, _HEADERS))
                schema = schema.append(arrow.field("headers", _HEADERS))
            if self._file is None:
                self._file = arrow.ipc.new_stream(str(self._open), schema)
            self._file.write_batch(arrow.record_batch(columns, schema=schema))
        self._rows += len(rows)

    def remove(self, rows: Rows) -> None:
        """As `SinkWriter.remove`, which a topic is never asked for: it only grows."""
        raise AssertionError(f"{len(rows)} rows are taken out of a topic")

    @property
    def pending(self) -> int:
        return self._rows

    def prepare(self, version: str) -> int:
        with self._writing():
            file, self._file = self._file, None
            if file is not None:
                file.close()
                sync(self._open)
                self._open.rename(self._staged(version))
                sync(self._folder)
                self._prepared = version
        rows, self._rows = self._rows, 0
        return rows

    def commit(self, version: str) -> Commit:
        """As `SinkWriter.commit`; a version of which nothing is staged has no rows, or was committed long ago."""
        staged, rows = self._staged(version), 0
        with explained_file(self._folder, "commit to"), self._topic.told():
            producer = self._connected(version)
            self._producer = None  # where this fails, the next attempt finds out with a new one how far this came
            if self._last != version and staged.exists():
                producer.begin_transaction()
                rows = self._send(producer, staged)
                note = TopicPartition(self._topic.name, 0, 0, metadata=version)
                answered(lambda: producer.send_offsets_to_transaction([note], self._group, ANSWER_S))
                answered(lambda: producer.commit_transaction(ANSWER_S))
                self._last = version
            elif self._last != version == self._prepared:
                raise another_writes(self._topic.name)  # it has removed what this one had prepared
            staged.unlink(missing_ok=True)
            self._producer = producer
        return Commit(version, rows, now_us())

    def abort(self, version: str) -> None:
        with explained_file(self._folder, "clean up"):
            self._staged(version).unlink(missing_ok=True)

    def recover(self, keep: Collection[str] = ()) -> None:
        """As `SinkWriter.recover`; and whoever had this name writes no more."""
        with explained_file(self._folder, "clean up"), self._topic.told():
            self._connected()
            kept = {self._open, *map(self._staged, keep)}
            forgotten = time.time() - _FORGOTTEN_S
            for path in self._folder.iterdir():
                with suppress(FileNotFoundError):  # others clean up, too
                    mine = path.name.startswith(f"{self._own}.") and path not in kept
                    if mine or (".open-" in path.name and path.stat().st_mtime < forgotten):
                        path.unlink()

    def close(self) -> None:
        with explained_file(self._folder, "clean up"):
            self._drop()
        self._producer = None

    def _staged(self, version: str) -> Path:
        return self._folder / f"{self._own}.{safe_name(version)}"

    def _connected(self, version: str | None = None) -> Producer:
        """The client, or a new one, which has ended what any other of this name had begun and knows what was committed
        last. GhcmError where that was none of this process, which then commits the `version`.
        """
        if self._producer is not None and not self._topic.lost(self._producer):
            return self._producer
        options = {"transactional.id": self._name, "transaction.timeout.ms": _TRANSACTION_S * 1000}
        producer = self._topic.producer(options)
        if self._last is not None:
            self._noted(self._last, version)  # before it ends what a successor may have begun
        producer.init_transactions(ANSWER_S)
        self._last = self._noted(self._last, version)
        self._producer = producer
        return producer

    def _noted(self, last: str | None, version: str | None) -> str:
        """The version that was committed last, empty where none is known. GhcmError where it is neither of these."""
        options = {"group.id": self._name, "enable.auto.commit": False, "isolation.level": "read_committed"}
        consumer = Consumer(client_options(self._topic.settings, lambda _: None) | options)
        end = time.monotonic() + ANSWER_S
        try:
            while True:
                try:
                    [noted] = consumer.committed([TopicPartition(self._topic.name, 0)], timeout=ANSWER_S)
                    if last is not None and noted.metadata not in (None, "", last, version):
                        raise another_writes(self._topic.name)
                    self._group = consumer.consumer_group_metadata()
                    return noted.metadata or ""
                except KafkaException as exception:
                    # Until a broker that has begun knows its groups it says that it is not their coordinator.
                    if not passes(exception.args[0]) or time.monotonic() > end:
                        raise
                time.sleep(0.1)
        finally:
            consumer.close()

    def _send(self, producer: Producer, staged: Path) -> int:
        rows = 0
        frames: Any = pl
        with pa.memory_map(str(staged)) as file, pa.ipc.open_stream(file) as opened:
            batches: Any = opened
            for batch in batches:
                keys, values, *headers = batch.columns
                given = headers[0].to_pylist() if headers else ()
                self._topic.send(producer, frames.from_arrow(keys), frames.from_arrow(values), given)
                rows += batch.num_rows
        self._topic.flush(producer)
        return rows

    def _drop(self) -> None:
        """Give up what is not prepared."""
        file, self._file, self._rows = self._file, None, 0
        try:
            if file is not None:
                file.close()
        finally:
            self._open.unlink(missing_ok=True)

    @contextmanager
    def _writing(self) -> Generator[None]:
        """After a failure nothing of the version is left, so that the disk has its room back."""
        try:
            with explained_file(self._folder, "write to"):
                yield
        except Exception:
            with suppress(OSError):
                self._drop()
            raise


class PlainWriter:
    """The `SinkWriter` of a topic at least once. All see what it writes, so it asks the `fence` each time."""

    def __init__(self, topic: TopicWriting, encode: _Encode, fence: Fence | None) -> None:
        self._topic = topic
        self._encode = encode
        self._fence = fence
        self._rows = 0
        self._producer: Producer | None = None

    def write(self, rows: Rows) -> None:
        hold(self._fence)
        with self._topic.told():
            self._topic.send(self._connected(), *self._encode(rows))
        self._rows += len(rows)

    def remove(self, rows: Rows) -> None:
        """As `SinkWriter.remove`, which a topic is never asked for: it only grows."""
        raise AssertionError(f"{len(rows)} rows are taken out of a topic")

    @property
    def pending(self) -> int:
        return self._rows

    def prepare(self, version: str) -> int:
        with self._topic.told():
            self._topic.flush(self._connected())
        rows, self._rows = self._rows, 0
        return rows

    def commit(self, version: str) -> Commit:
        return Commit(version, 0, now_us())

    def abort(self, version: str) -> None:
        """Nothing to do: what was sent is seen."""

    def recover(self, keep: Collection[str] = ()) -> None:
        """Nothing rests here; but whether there is such a topic is said at once."""
        with self._topic.told():
            self._connected()

    def close(self) -> None:
        if self._producer is not None:
            self._producer.purge()

    def _connected(self) -> Producer:
        if self._producer is None:
            self._producer = self._topic.producer({"enable.idempotence": True, "message.timeout.ms": 0})
        return self._producer


def open_writer(sink: Sink, connections: Connections, *, writer: str, key: KeyOf | None, staging: Path) -> SinkWriter:
    """A writer of the topic; messages that wait for their commit are kept in a folder in `staging`."""
    assert isinstance(sink.connector, Kafka), "the registry leads here for these alone"
    topic, encode = TopicWriting(connections.kafka, sink.connector.topic, connections.patience), _encode(sink, key)
    if sink.connector.delivery == "at_least_once":
        return PlainWriter(topic, encode, connections.fence)
    return TransactionalWriter(topic, encode, writer, staging / "topics")
