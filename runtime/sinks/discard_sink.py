"""Nowhere as a sink: rows are counted and dropped, for benchmarks and dry runs. It has no versions, and no rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import polars as pl

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.runtime.sinks.backend import Commit, KeyOf, Page
from ghcm.runtime.sinks.keyed import KeyedView
from ghcm.spg.connectors import unreadable
from ghcm.spg.graph import Sink


class DiscardWriter:
    """The `SinkWriter` of nothing."""

    def __init__(self) -> None:
        self._rows = 0
        self._prepared: dict[str, int] = {}

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self._rows += len(rows)

    def remove(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self._rows += len(rows)

    @property
    def pending(self) -> int:
        return self._rows

    def prepare(self, version: str) -> int:
        rows, self._rows = self._rows, 0
        self._prepared[version] = rows
        return rows

    def commit(self, version: str) -> Commit:
        return Commit(version, self._prepared.pop(version, 0), now_us())

    def abort(self, version: str) -> None:
        self._prepared.pop(version, None)

    def recover(self, keep: Collection[str] = ()) -> None:
        """As `SinkWriter.recover`: nothing is left."""

    def close(self) -> None:
        """As `SinkWriter.close`."""


def open_writer(
    sink: Sink, connections: Connections, *, writer: str, key: KeyOf | None, call: str | None
) -> DiscardWriter:
    """As `SinkBackend.open_writer`."""
    return DiscardWriter()


def read(sink: Sink, connections: Connections, *, version: str | None, call: str | None) -> Iterator[Row]:
    """As `SinkBackend.read`: GhcmError, since nothing is there."""
    detail = unreadable(sink.connector)
    raise GhcmError(f'sink "{sink.name}" cannot be read', code="GHCM-734", detail=detail)


def count(sink: Sink, connections: Connections, *, version: str | None) -> int:
    """As `SinkBackend.count`."""
    return 0


def page(sink: Sink, connections: Connections, *, call: str, version: str | None, limit: int, offset: int) -> Page:
    """As `SinkBackend.page`: nothing."""
    return Page([], 0)


def view(sink: Sink, connections: Connections) -> KeyedView:
    """As `SinkBackend.view`: of nothing."""
    return KeyedView(sink, lambda: None, lambda: iter(()))
