"""Sinks: where data rests. Writers commit versions; readers see whole versions only.

The formats are fixed (see `table_directory` and `redis_sink`), so that generated Spark code can write and read the same
places. Rows are canonical (see `ghcm.types`): tuples in the order of the columns of the sink's element; a scalar
element has the one column `value`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.keyed_form import KeyedForm
from ghcm.runtime.sinks.memory_sink import MemoryWriter, latest_memory_version, read_memory
from ghcm.runtime.sinks.redis_sink import RedisWriter, latest_redis_version, read_redis, redis_page
from ghcm.runtime.sinks.sink_writer import KeyOf, Page, Row, SinkWriter
from ghcm.runtime.sinks.table_sink import TableWriter, latest_table_version, read_table, read_table_version
from ghcm.spg.graph import Sink
from ghcm.spg.ops import Files, Generate, Kafka, Memory, Parquet, Redis, Socket
from ghcm.types import Field, Struct


def columns_of(sink: Sink) -> Struct:
    """The columns of a sink's rows."""
    element = sink.element
    return element if isinstance(element, Struct) else Struct((Field("value", element),))


def open_writer(
    sink: Sink, connections: Connections, *, writer: str, key: KeyOf | None = None, call: str | None = None
) -> SinkWriter:
    """A writer for the sink. `writer` names who writes (job and task) and must be the same after a restart; `key` is
    needed on Redis; `call` is the id of the batch call whose rows these are, so that they can be read back by it.
    GhcmError if the sink cannot do its mode.
    """
    columns = columns_of(sink)
    match sink.connector:
        case Files(path=path) | Parquet(path=path):
            return TableWriter(connections.path(path), sink.connector, columns, sink.mode, writer)
        case Redis(place=place):
            if key is None or sink.key is None:
                raise GhcmError(
                    f'sink "{sink.name}" has no key',
                    code="GHCM-734",
                    hint="a Redis sink needs key = ..., one field each",
                )
            form = KeyedForm(columns, key, sink.key.body.type)
            if connections.url is None:
                return MemoryWriter(connections.memory, place, form, sink.mode, writer, call)
            return RedisWriter(connections, place, form, sink.mode, writer, call)
        case Kafka() | Socket() | Memory() | Generate():
            raise _unwritable(sink)


def read(sink: Sink, connections: Connections, *, version: str | None = None, call: str | None = None) -> Iterator[Row]:
    """The rows of the sink as of its latest complete version, or of the given one, or only those of a batch call.

    An empty or missing place gives no rows; a version that is not there is a GhcmError.
    """
    columns = columns_of(sink)
    match sink.connector:
        case Files(path=path) | Parquet(path=path):
            if call is not None:
                return iter(
                    read_table_version(connections.path(path), sink.connector, columns, call, sys.maxsize, 0).rows
                )
            return read_table(connections.path(path), sink.connector, columns, version)
        case Redis(place=place):
            if connections.url is None:
                return read_memory(connections.memory, place, columns, sink.mode, version, call)
            return read_redis(connections, place, columns, sink.mode, version, call)
        case Kafka() | Socket() | Memory() | Generate():
            raise _unreadable(sink)


def latest_version(sink: Sink, connections: Connections) -> str | None:
    """The version committed last, or None."""
    match sink.connector:
        case Files(path=path) | Parquet(path=path):
            return latest_table_version(connections.path(path))
        case Redis(place=place):
            if connections.url is None:
                return latest_memory_version(connections.memory, place)
            return latest_redis_version(connections, place, sink.mode)
        case Kafka() | Socket() | Memory() | Generate():
            raise _unreadable(sink)


def rows_of_call(
    sink: Sink, connections: Connections, *, call: str, version: str | None = None, limit: int, offset: int = 0
) -> Page:
    """Rows `offset` to `offset + limit` that the call wrote, as `version` (from its feedback; else the call's id)."""
    columns = columns_of(sink)
    match sink.connector:
        case Files(path=path) | Parquet(path=path):
            place = connections.path(path)
            return read_table_version(place, sink.connector, columns, version or call, limit, offset)
        case Redis(place=place):
            if connections.url is None:
                rows = list(read_memory(connections.memory, place, columns, sink.mode, version or call, call))
                return Page(rows[offset : offset + limit], len(rows))
            return redis_page(connections, place, columns, sink.mode, version or call, call, limit, offset)
        case Kafka() | Socket() | Memory() | Generate():
            raise _unreadable(sink)


def _unwritable(sink: Sink) -> GhcmError:
    kind = type(sink.connector).__name__.lower()
    hint = "use redis, parquet or files"
    return GhcmError(f'sink "{sink.name}" cannot be written: {kind} is no sink yet', code="GHCM-734", hint=hint)


def _unreadable(sink: Sink) -> GhcmError:
    kind = type(sink.connector).__name__.lower()
    hint = "use redis, parquet or files"
    return GhcmError(f'sink "{sink.name}" cannot be read: {kind} is no sink yet', code="GHCM-734", hint=hint)
