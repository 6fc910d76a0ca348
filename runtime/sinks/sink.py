"""Sinks by their connectors: writers, rows, versions and views of whatever kind a sink is.

A new kind is a module of this room that is a `SinkBackend`, and a line of the registry here. Modules are loaded when a
program has such a sink: what they bring along is large.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import cast

from ghcm.errors import GhcmError
from ghcm.fence import hold
from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.at_once import AtOnceWriter, ShowingWriter
from ghcm.runtime.sinks.backend import KeyOf, Page, SinkBackend, SinkView, SinkWriter
from ghcm.runtime.sinks.fenced import fenced
from ghcm.spg.connectors import Files, Kafka, Parquet, Redis, unreadable
from ghcm.spg.graph import Sink

_BACKENDS: Mapping[str, str] = {
    "discard": "discard_sink",
    "files": "table_sink",
    "parquet": "table_sink",
    "redis": "redis_sink",
    "sql": "sql_sink",
}


def load(sinks: Iterable[Sink]) -> None:
    """Load what it takes to write to these, before anybody waits for it. What is missing is said by who opens one."""
    for sink in sinks:
        if is_kept(sink):
            _backend(sink, "written")
        if isinstance(sink.connector, Parquet):
            import_module("pyarrow.compute")
            import_module("pyarrow.parquet")
            from ghcm.tables.delta import deltalake

            with suppress(GhcmError):
                deltalake()


def is_kept(sink: Sink) -> bool:
    """Whether there is a backend for it, which knows its commits."""
    return sink.connector.word in _BACKENDS


def is_readable(sink: Sink) -> bool:
    """Whether its rows can be read back."""
    return is_kept(sink) and not unreadable(sink.connector)


def open_writer(
    sink: Sink,
    connections: Connections,
    *,
    writer: str,
    key: KeyOf | None = None,
    call: str | None = None,
    staging: Path | None = None,
) -> SinkWriter:
    """A writer for the sink. `writer` names who writes (job and task) and must be the same after a restart; `key` is
    needed on Redis; `call` is the id of the batch call whose rows these are, so that they can be read back by it;
    `staging` is a folder for what has to outlive the process until it is committed, which a topic needs. GhcmError if
    the sink cannot do its mode.
    """
    if isinstance(sink.connector, Kafka):
        from ghcm.runtime.sinks import kafka_sink  # its client is large, and few programs need it

        assert staging is not None, "whoever runs a unit has a state directory"
        return fenced(kafka_sink.open_writer(sink, connections, writer=writer, key=key, staging=staging), connections)
    hold(connections.fence)  # opening may make a table, or give it columns
    opened = _backend(sink, "written").open_writer(sink, connections, writer=writer, key=key, call=call)
    at_once = isinstance(sink.connector, Redis) and sink.connector.delivery == "at_least_once" and call is None
    passing = fenced(opened, connections)
    return AtOnceWriter(passing, cast("ShowingWriter", opened)) if at_once else passing


def read(sink: Sink, connections: Connections, *, version: str | None = None, call: str | None = None) -> Iterator[Row]:
    """The rows of the sink as of its latest complete version, or of the given one, or only those of a batch call.

    An empty or missing sink gives no rows; a version that is not there is a GhcmError.
    """
    return _backend(sink, "read").read(sink, connections, version=version, call=call)


def count(sink: Sink, connections: Connections, *, version: str | None = None) -> int:
    """How many rows the sink has as of its latest complete version, or of the given one."""
    return _backend(sink, "read").count(sink, connections, version=version)


def latest_version(sink: Sink, connections: Connections) -> str | None:
    """The version committed last, or None."""
    latest = view(sink, connections).latest()
    return None if latest is None else latest.version


def rows_of_call(
    sink: Sink, connections: Connections, *, call: str, version: str | None = None, limit: int, offset: int = 0
) -> Page:
    """Rows `offset` to `offset + limit` that the call wrote, as `version` (from its feedback; else the call's id)."""
    backend = _backend(sink, "read")
    return backend.page(sink, connections, call=call, version=version, limit=limit, offset=offset)


def pages_of_call(sink: Sink, connections: Connections, *, call: str, limit: int, offset: int) -> Iterator[Page]:
    """All rows that the call wrote from row `offset` on, so many at a time; one page at least."""
    if isinstance(sink.connector, Files | Parquet):
        from ghcm.runtime.sinks import table_sink

        yield from table_sink.pages(sink, connections, call=call, limit=limit, offset=offset)
        return
    while True:
        page = rows_of_call(sink, connections, call=call, version=call, limit=limit, offset=offset)
        yield page
        offset += len(page.rows)
        if not page.rows or offset >= page.total:
            return


def view(sink: Sink, connections: Connections) -> SinkView:
    """A view of the sink, to be asked again and again."""
    return _backend(sink, "read").view(sink, connections)


def _backend(sink: Sink, what: str) -> SinkBackend:
    word = sink.connector.word
    if word not in _BACKENDS:
        message = f'sink "{sink.name}" cannot be {what}: it is a place of {word}'
        raise GhcmError(message, code="GHCM-734", detail=unreadable(sink.connector))
    return cast("SinkBackend", import_module(f"ghcm.runtime.sinks.{_BACKENDS[word]}"))
