"""Keyed sinks in the memory of this process, with the behaviour of those on Redis; for unit tests and the embedded
engine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import polars as pl

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.runtime.pubsub.memory_cache import ProcessMemory
from ghcm.runtime.sinks.backend import Commit, KeyOf, Page
from ghcm.runtime.sinks.keyed import KeyedForm, KeyedView, form_of, row_reader
from ghcm.spg.connectors import Mode
from ghcm.spg.graph import Sink


@dataclass(frozen=True, slots=True)
class _Prepared:
    rows: dict[str, str]
    count: int
    writer: str


@dataclass(slots=True)
class MemoryTable:
    """A keyed sink: its rows, its versions in order, what calls wrote, and what is prepared."""

    rows: dict[str, str] = field(default_factory=dict[str, str])
    versions: dict[str, Commit] = field(default_factory=dict[str, Commit])
    complete: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    calls: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    prepared: dict[str, _Prepared] = field(default_factory=dict[str, _Prepared])


class MemoryWriter:
    """The `SinkWriter` of a `MemoryTable`."""

    def __init__(
        self, memory: ProcessMemory, name: str, form: KeyedForm, mode: Mode, writer: str, call: str | None
    ) -> None:
        self._memory = memory
        self._table = _table(memory, name)
        self._form = form
        self._mode = mode
        self._writer = writer
        self._call = call
        self._rows: dict[str, str] = {}
        self._count = 0

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        for key, value in self._form.pairs(rows):
            self._rows[key] = value
            self._count += 1

    @property
    def pending(self) -> int:
        return self._count

    def prepare(self, version: str) -> int:
        count = self._count
        with self._memory.changed:
            if version not in self._table.versions:
                self._table.prepared[version] = _Prepared(self._rows, count, self._writer)
        self._rows, self._count = {}, 0
        return count

    def commit(self, version: str) -> Commit:
        table = self._table
        with self._memory.changed:
            if version in table.versions:
                return table.versions[version]
            prepared = table.prepared.pop(version, None)
            if prepared is None:
                raise GhcmError(f'version "{version}" was never prepared', code="GHCM-732")
            table.rows = dict(prepared.rows) if self._mode is Mode.REPLACE else table.rows | prepared.rows
            if self._mode is Mode.REPLACE:
                table.complete[version] = table.rows
            if self._call is not None:
                table.calls[self._call] = prepared.rows
            commit = table.versions[version] = Commit(version, prepared.count, now_us())
            return commit

    def abort(self, version: str) -> None:
        with self._memory.changed:
            self._table.prepared.pop(version, None)

    def recover(self, keep: Collection[str] = ()) -> None:
        with self._memory.changed:
            for version, prepared in list(self._table.prepared.items()):
                if prepared.writer == self._writer and version not in keep:
                    del self._table.prepared[version]

    def close(self) -> None:
        self._rows, self._count = {}, 0


def open_writer(
    sink: Sink, connections: Connections, *, writer: str, key: KeyOf | None, call: str | None
) -> MemoryWriter:
    return MemoryWriter(connections.memory, sink.connector.address[1], form_of(sink, key), sink.mode, writer, call)


def read(sink: Sink, connections: Connections, *, version: str | None, call: str | None) -> Iterator[Row]:
    name = sink.connector.address[1]
    with connections.memory.changed:
        table = _table(connections.memory, name)
        if version is not None and version not in table.versions and call is None:
            raise GhcmError(f'"{name}" has no version "{version}"', code="GHCM-732")
        rows = table.complete.get(version, {}) if sink.mode is Mode.REPLACE and version is not None else table.rows
        found = dict(table.calls.get(call, {}) if call is not None else rows)
    decode = row_reader(sink.columns, name)
    return iter([decode(found[key]) for key in sorted(found)])


def page(sink: Sink, connections: Connections, *, call: str, version: str | None, limit: int, offset: int) -> Page:
    rows = list(read(sink, connections, version=version or call, call=call))
    return Page(rows[offset : offset + limit], len(rows))


def view(sink: Sink, connections: Connections) -> KeyedView:
    return KeyedView(
        sink, partial(_latest, sink, connections), partial(read, sink, connections, version=None, call=None)
    )


def _latest(sink: Sink, connections: Connections) -> Commit | None:
    with connections.memory.changed:
        versions = _table(connections.memory, sink.connector.address[1]).versions
        return next(reversed(versions.values()), None)


def _table(memory: ProcessMemory, name: str) -> MemoryTable:
    with memory.changed:
        table = memory.tables.setdefault(name, MemoryTable())
    assert isinstance(table, MemoryTable)
    return table
