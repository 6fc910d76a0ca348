"""A look at a sink: its latest version and rows, kept between looks so that only what is new is read.

A sink may hold more than anybody wants to see at once: the newest rows are kept, and a look says whether these are
all. Blocks; to be used in threads, one at a time for each sink.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import assert_never

import polars as pl

from ghcm.runtime.data.columns import columns_of as frame_of
from ghcm.runtime.formats.file_readers import read_frame
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.redis_sink import latest_redis_commit
from ghcm.runtime.sinks.sink import columns_of, read
from ghcm.runtime.sinks.sink_writer import Commit
from ghcm.runtime.sinks.table_directory import DataFile, TableDirectory, explained
from ghcm.spg.graph import Sink
from ghcm.spg.ops import Files, Generate, Kafka, Memory, Parquet, Redis, Socket
from ghcm.supervisor.problems import Problem
from ghcm.types import Struct

MOST_ROWS = 100_000
"""Rows of a sink that are kept."""

MOST_FILES = 1_000
"""Files that are opened for the first look."""

_CHUNKS = 64


@dataclass(frozen=True, slots=True)
class Look:
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


class Looker:
    """Looks at one sink again and again."""

    def __init__(self, sink: Sink, connections: Connections) -> None:
        self._sink = sink
        self._connections = connections
        self._lock = threading.Lock()
        self._columns = columns_of(sink)
        self._seen: Look | None = None
        self._table: TableDirectory | None = None
        self._first = 0
        self._last = 0
        match sink.connector:
            case Files(path=path) | Parquet(path=path):
                self._table = TableDirectory(connections.path(path))
            case Redis():
                pass
            case Kafka() | Socket() | Memory() | Generate():
                kind = type(sink.connector).__name__.lower()
                raise Problem(404, "GHCM-341", f'sink "{sink.name}" cannot be looked at: it is a place of {kind}')
            case _:
                assert_never(sink.connector)

    def latest(self) -> Commit | None:
        """The latest commit, without its rows."""
        with self._lock:
            if self._table is None:
                return self._redis_commit()
            with explained(self._table.path, "read"):
                manifests = self._table.visible()
            if not manifests:
                return None
            rows = sum(manifest.rows for manifest in manifests)
            return Commit(manifests[-1].version, rows, manifests[-1].time)

    def look(self) -> Look:
        """The sink as it is now."""
        with self._lock:
            self._seen = self._look_at_redis() if self._table is None else self._look_at_files(self._table)
            return self._seen

    def _redis_commit(self) -> Commit | None:
        assert isinstance(self._sink.connector, Redis)
        return latest_redis_commit(self._connections, self._sink.connector.place, self._sink.mode)

    def _look_at_redis(self) -> Look:
        commit = self._redis_commit()
        if commit is not None and self._seen is not None and self._seen.version == commit.version:
            return self._seen
        rows = list(islice(read(self._sink, self._connections), MOST_ROWS + 1))
        frame = frame_of(rows[:MOST_ROWS], [(field.name, field.type) for field in self._columns.fields])
        count = len(rows) if len(rows) <= MOST_ROWS else None
        version, time = (None, None) if commit is None else (commit.version, commit.time)
        return Look(self._columns, frame, version, time, count)

    def _look_at_files(self, table: TableDirectory) -> Look:
        with explained(table.path, "read"):
            manifests = table.visible()
            if not manifests:
                return self._look_at_foreign(table)
            known = self._seen is not None and self._first == manifests[0].sequence
            new = [manifest for manifest in manifests if not known or manifest.sequence > self._last]
            if known and not new:
                assert self._seen is not None
                return self._seen
            files = _newest([file for manifest in new for file in manifest.files])
            frames = [self._seen.frame] if known and self._seen is not None else []
            frames += [self._read(table.path / file.name) for file in files]
        self._first, self._last = manifests[0].sequence, manifests[-1].sequence
        rows = sum(manifest.rows for manifest in manifests)
        return Look(self._columns, self._joined(frames), manifests[-1].version, manifests[-1].time, rows)

    def _look_at_foreign(self, table: TableDirectory) -> Look:
        """Files that others have written there; no version tells when they change, so they are read each time."""
        files = table.files()
        frames = [self._read(path) for path in files[-MOST_FILES:]]
        rows = sum(frame.height for frame in frames) if len(files) <= MOST_FILES else None
        return Look(self._columns, self._joined(frames), None, None, rows)

    def _read(self, path: Path) -> pl.DataFrame:
        connector = self._sink.connector
        assert isinstance(connector, Files | Parquet)
        return read_frame(path, connector, self._columns)

    def _joined(self, frames: list[pl.DataFrame]) -> pl.DataFrame:
        if not frames:
            return frame_of((), [(field.name, field.type) for field in self._columns.fields])
        frame = pl.concat(frames, rechunk=False).tail(MOST_ROWS)
        return frame.rechunk() if frame.n_chunks() > _CHUNKS else frame


@dataclass(slots=True)
class Looks:
    """The lookers of all sinks that somebody has asked for."""

    _lookers: dict[tuple[str, str], tuple[Sink, Connections, Looker]] = field(
        default_factory=dict[tuple[str, str], tuple[Sink, Connections, Looker]]
    )

    def at(self, program: str, sink: Sink, connections: Connections) -> Looker:
        """The looker of a sink; a new one where a program was submitted again with another sink of that name."""
        key = (program, sink.name)
        known = self._lookers.get(key)
        if known is None or known[0] != sink or known[1] is not connections:
            known = self._lookers[key] = (sink, connections, Looker(sink, connections))
        return known[2]


def _newest(files: list[DataFile]) -> list[DataFile]:
    """The last files that hold the rows that are kept, oldest first."""
    kept: list[DataFile] = []
    rows = 0
    for file in reversed(files[-MOST_FILES:]):
        if rows >= MOST_ROWS:
            break
        kept.append(file)
        rows += file.rows
    return kept[::-1]
