"""What every sink offers: writers of versions in two phases, readers of whole versions, and a view for who watches it.

Rows are canonical (see `ghcm.types`): tuples in the order of the sink's columns. How they lie on disk or in a server is
fixed (see `ghcm.tables` and `redis_sink`), so that generated Spark code can write and read the same. What is true
of a connector as a sink, also its address and whether appending to it is locked, stands in `ghcm.spg.connectors`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import polars as pl

from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.spg.graph import Sink
from ghcm.types import Struct

KeyOf: TypeAlias = Callable[[Row], object]
"""The canonical key of a row; its type is that of the body of the sink's key."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A version of a sink that readers see: how many rows it added, and when (microseconds since 1970 UTC). `kept` says
    whether `page` still knows these rows.
    """

    version: str
    rows: int
    time: int
    kept: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the rows of a call, and how many it has in all."""

    rows: Sequence[Row]
    total: int


@dataclass(frozen=True, slots=True)
class SinkSnapshot:
    """The newest rows of a sink, oldest commit first. `rows` counts all that the sink holds; None: nobody knows.
    `version` and `as_of` (microseconds since 1970 UTC) are of its latest commit, None where there was none.
    """

    columns: Struct
    frame: pl.DataFrame
    version: str | None
    as_of: int | None
    rows: int | None

    @property
    def whole(self) -> bool:
        """Whether these are all rows."""
        return self.rows is not None and self.frame.height >= self.rows


class SinkBackend(Protocol):
    """One kind of sink; a module of this room is one."""

    def open_writer(
        self, sink: Sink, connections: Connections, *, writer: str, key: KeyOf | None, call: str | None
    ) -> SinkWriter:
        """A writer for the sink. GhcmError if the sink cannot do its mode or lacks a key."""
        ...

    def read(self, sink: Sink, connections: Connections, *, version: str | None, call: str | None) -> Iterator[Row]:
        """The rows as of the latest complete version, or of the given one, or only those of a batch call."""
        ...

    def count(self, sink: Sink, connections: Connections, *, version: str | None) -> int:
        """How many rows `read` would give of the latest complete version, or of the given one."""
        ...

    def page(
        self, sink: Sink, connections: Connections, *, call: str, version: str | None, limit: int, offset: int
    ) -> Page:
        """Rows `offset` to `offset + limit` that the call wrote, as `version`; None: under the call's id. GhcmError
        where they can no longer be told from others.
        """
        ...

    def view(self, sink: Sink, connections: Connections) -> SinkView:
        """A view of the sink, to be asked again and again."""
        ...


class SinkView(Protocol):
    """One sink looked at again and again, one thread at a time, so that only what is new is read."""

    def commits(self) -> list[Commit]:
        """The commits whose order is known, oldest first; of a keyed sink only the latest."""
        ...

    def latest(self) -> Commit | None:
        """The latest commit; its `rows` are, where commits add files, all that the sink holds."""
        ...

    def snapshot(self, most: int) -> SinkSnapshot:
        """The sink as it is now, with so many of its rows; the same object while nothing has changed."""
        ...


class SinkWriter(Protocol):
    """Writes one sink, from one thread. Two phases, so that a snapshot can stand between them.

    Nothing is visible before `commit`; rows may come between the two, and belong to the next version. `prepare` and
    `commit` may be repeated, and `commit` and `abort` of a prepared version may be called on a new writer after the old
    one has died. Versions are unique per sink for ever: made from job and snapshot, or the call's id.
    """

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """Take rows into the version that is being written. Memory is bounded: rows are spilled to staging. GhcmError
        when there is no room.
        """
        ...

    def remove(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """Take out of what is upserted the rows of these keys; of a version, rows of other keys than are written."""
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
