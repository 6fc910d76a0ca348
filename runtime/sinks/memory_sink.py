"""Keyed sinks in the memory of this process, with the behaviour of those on Redis; for unit tests and the embedded
engine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.runtime.pubsub.memory_cache import ProcessMemory
from ghcm.runtime.sinks.keyed_form import KeyedForm, row_reader
from ghcm.runtime.sinks.sink_writer import Commit
from ghcm.spg.connectors import Mode
from ghcm.types import Struct


@dataclass(frozen=True, slots=True)
class _Prepared:
    rows: dict[str, str]
    count: int
    writer: str


@dataclass(slots=True)
class MemoryTable:
    """A keyed place: its rows, its versions in order, what calls wrote, and what is prepared."""

    rows: dict[str, str] = field(default_factory=dict[str, str])
    versions: dict[str, Commit] = field(default_factory=dict[str, Commit])
    complete: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    calls: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    prepared: dict[str, _Prepared] = field(default_factory=dict[str, _Prepared])


class MemoryWriter:
    """The `SinkWriter` of a `MemoryTable`."""

    def __init__(
        self, places: ProcessMemory, place: str, form: KeyedForm, mode: Mode, writer: str, call: str | None
    ) -> None:
        if mode is Mode.APPEND:
            raise GhcmError(
                f'"{place}" is keyed and cannot be appended to', code="GHCM-734", hint="use upsert or replace"
            )
        self._places = places
        self._table = _table(places, place)
        self._form = form
        self._mode = mode
        self._writer = writer
        self._call = call
        self._rows: dict[str, str] = {}
        self._count = 0

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """As `SinkWriter.write`."""
        for key, value in self._form.pairs(rows):
            self._rows[key] = value
            self._count += 1

    @property
    def pending(self) -> int:
        """As `SinkWriter.pending`."""
        return self._count

    def prepare(self, version: str) -> int:
        """As `SinkWriter.prepare`."""
        count = self._count
        with self._places.changed:
            if version not in self._table.versions:
                self._table.prepared[version] = _Prepared(self._rows, count, self._writer)
        self._rows, self._count = {}, 0
        return count

    def commit(self, version: str) -> Commit:
        """As `SinkWriter.commit`."""
        table = self._table
        with self._places.changed:
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
        """As `SinkWriter.abort`."""
        with self._places.changed:
            self._table.prepared.pop(version, None)

    def recover(self, keep: Collection[str] = ()) -> None:
        """As `SinkWriter.recover`."""
        with self._places.changed:
            for version, prepared in list(self._table.prepared.items()):
                if prepared.writer == self._writer and version not in keep:
                    del self._table.prepared[version]

    def close(self) -> None:
        """As `SinkWriter.close`."""
        self._rows, self._count = {}, 0


def read_memory(
    places: ProcessMemory, place: str, columns: Struct, mode: Mode, version: str | None, call: str | None
) -> Iterator[Row]:
    """The rows of a keyed place: now, of a version, or those of a call."""
    with places.changed:
        table = _table(places, place)
        if version is not None and version not in table.versions and call is None:
            raise GhcmError(f'"{place}" has no version "{version}"', code="GHCM-732")
        rows = table.complete.get(version, {}) if mode is Mode.REPLACE and version is not None else table.rows
        found = dict(table.calls.get(call, {}) if call is not None else rows)
    read = row_reader(columns, place)
    return iter([read(found[key]) for key in sorted(found)])


def latest_memory_version(places: ProcessMemory, place: str) -> str | None:
    """The version committed last, or None."""
    with places.changed:
        return next(reversed(_table(places, place).versions), None)


def _table(places: ProcessMemory, place: str) -> MemoryTable:
    with places.changed:
        table = places.tables.setdefault(place, MemoryTable())
    assert isinstance(table, MemoryTable)
    return table
