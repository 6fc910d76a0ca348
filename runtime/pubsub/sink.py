"""Sinks: where data rests. Writers commit versions; readers see whole versions only.

The formats are fixed (see `table_directory` and `redis_sink`), so that generated Spark code can write and read the same
places. Rows are canonical (see `ghcm.types`): tuples in the order of the columns of the sink's element; a scalar
element has the one column `value`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import polars as pl

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.connections import Connections
from ghcm.spg.graph import Sink
from ghcm.types import Field, Struct

__all__ = [
    "Commit",
    "KeyOf",
    "Page",
    "Row",
    "SinkWriter",
    "columns_of",
    "latest_version",
    "open_writer",
    "read",
    "rows_of_call",
]

Row: TypeAlias = tuple[object, ...]
KeyOf: TypeAlias = Callable[[Row], object]
"""The canonical key of a row; its type is that of the body of the sink's key."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A version of a sink that readers see: how many rows it added, and when (microseconds since 1970 UTC)."""

    version: str
    rows: int
    time: int


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the rows of a call, and how many it has in all."""

    rows: Sequence[Row]
    total: int


class SinkWriter(Protocol):
    """Writes one sink, from one thread. Two phases, so that a snapshot can stand between them.

    Nothing is visible before `commit`. `prepare` and `commit` may be repeated, and `commit` and `abort` of a prepared
    version may be called on a new writer after the old one has died. Versions are unique per sink for ever: made from
    job and snapshot, or the call's id.
    """

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """Take rows into the version that is being written. Memory is bounded: rows are spilled to staging. GhcmError
        when there is no room.
        """
        ...

    @property
    def pending(self) -> int:
        """Rows written since the last `prepare`."""
        ...

    def prepare(self, version: str) -> int:
        """Make the rows written so far durable as this version, still invisible; the number of rows."""
        ...

    def commit(self, version: str) -> Commit:
        """Make a prepared version visible as a whole. A version that is committed already is left as it is."""
        ...

    def abort(self, version: str) -> None:
        """Drop a prepared version that was not committed; nothing happens if there is none."""
        ...

    def recover(self, keep: Collection[str] = ()) -> None:
        """Drop what dead writers of this name have left in staging, but for the versions that are going to be
        committed.
        """
        ...

    def close(self) -> None:
        """Drop rows that are not prepared and give back files and connections."""
        ...


def columns_of(sink: Sink) -> Struct:
    """The columns of a sink's rows."""
    element = sink.element
    return element if isinstance(element, Struct) else Struct((Field("value", element),))


def open_writer(
    sink: Sink, connections: Connections, *, writer: str, key: KeyOf | None = None, call: str | None = None
) -> SinkWriter:
    """A writer for the sink. `writer` names who writes (job and task) and must be the same after a restart; `key` is
    needed by upsert and replace on Redis; `call` is the id of the batch call whose rows these are, so that they can be
    read back by it. GhcmError if the sink cannot do its mode.
    """
    raise GhcmError(f'sink "{sink.name}" cannot be written', code="GHCM-730")


def read(sink: Sink, connections: Connections, *, version: str | None = None, call: str | None = None) -> Iterator[Row]:
    """The rows of the sink as of its latest complete version, or of the given one, or only those of a batch call.

    An empty or missing place gives no rows; a version that is not there is a GhcmError.
    """
    raise GhcmError(f'sink "{sink.name}" cannot be read', code="GHCM-730")


def latest_version(sink: Sink, connections: Connections) -> str | None:
    """The version committed last, or None."""
    raise GhcmError(f'sink "{sink.name}" cannot be read', code="GHCM-730")


def rows_of_call(
    sink: Sink, connections: Connections, *, call: str, version: str | None, limit: int, offset: int = 0
) -> Page:
    """Rows `offset` to `offset + limit` that the call wrote as `version` (from its feedback)."""
    raise GhcmError(f'sink "{sink.name}" cannot be read', code="GHCM-730")
