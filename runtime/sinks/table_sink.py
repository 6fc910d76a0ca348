"""Table directories as sinks: the writer in two phases, and reading."""

from __future__ import annotations

import sys
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import polars as pl

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row, columns_of
from ghcm.runtime.formats.file_readers import read_file, read_frame
from ghcm.runtime.formats.file_writers import FileWriter, extension, open_file
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.backend import Commit, KeyOf, Page, SinkSnapshot
from ghcm.runtime.sinks.table_directory import DataFile, Manifest, Staging, TableDirectory, explained
from ghcm.spg.connectors import Files, Mode, Parquet
from ghcm.spg.graph import Sink
from ghcm.types import Struct

_FILE_BYTES = 128 * 1024 * 1024

MOST_FILES = 1_000
"""Files that are opened for the first snapshot."""

_CHUNKS = 64


class TableWriter:
    """The `SinkWriter` of a table directory. `writer` is noted with what it prepares, so that its successor can find
    it.
    """

    def __init__(self, path: Path, connector: Files | Parquet, columns: Struct, mode: Mode, writer: str) -> None:
        if mode is Mode.UPSERT:
            raise GhcmError(
                f'files cannot be upserted: "{path}"',
                code="GHCM-734",
                hint="use mode append or replace, or a Redis sink",
            )
        self._table = TableDirectory(path)
        self._connector = connector
        self._columns = columns
        self._mode = mode
        self._writer = writer
        self._staging: Staging | None = None
        self._file: FileWriter | None = None
        self._files: list[DataFile] = []
        self._rows = 0
        with explained(path, "write to"):
            self._check()

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        if len(rows) == 0:
            return
        with self._writing():
            if self._file is None:
                self._open_next()
            assert self._file is not None
            self._file.write(rows)
            self._rows += len(rows)
            last = self._files[-1]
            self._files[-1] = DataFile(last.name, last.rows + len(rows))
            assert self._staging is not None
            if (self._staging.folder / last.name).stat().st_size >= _FILE_BYTES:
                self._close_file()

    @property
    def pending(self) -> int:
        return self._rows

    def prepare(self, version: str) -> int:
        with self._writing():
            self._close_file()
            if self._staging is None:
                self._staging = Staging(self._table.staging)
            self._staging.prepare(version, self._writer, self._files)
        rows = self._rows
        self._files, self._rows = [], 0
        return rows

    def commit(self, version: str) -> Commit:
        with explained(self._table.path, "commit to"):
            return _commit(self._table.commit(version, self._mode))

    def abort(self, version: str) -> None:
        with explained(self._table.path, "clean up"):
            self._table.abort(version)

    def recover(self, keep: Collection[str] = ()) -> None:
        with explained(self._table.path, "clean up"):
            self._table.recover(self._writer, keep)

    def close(self) -> None:
        with explained(self._table.path, "close"):
            self._drop()

    def _check(self) -> None:
        if self._table.foreign:
            raise GhcmError(
                f'"{self._table.path}" holds files that GHCM has not written',
                code="GHCM-734",
                detail="After the first commit readers would no longer see them.",
                hint="write to another directory, or move those files away",
            )

    def _open_next(self) -> None:
        if self._staging is None:
            self._staging = Staging(self._table.staging)
        name = f"{len(self._files)}{extension(self._connector)}"
        self._file = open_file(self._staging.folder / name, self._connector, self._columns)
        self._files.append(DataFile(name, 0))

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _drop(self) -> None:
        """Give up what is not prepared."""
        try:
            self._close_file()
        finally:
            staging, self._staging = self._staging, None
            self._files, self._rows = [], 0
            if staging is not None:
                staging.close()

    @contextmanager
    def _writing(self) -> Generator[None]:
        """After a failure nothing of the version is left, so that the disk has its room back."""
        try:
            with explained(self._table.path, "write to"):
                yield
        except GhcmError:
            with suppress(OSError):
                self._drop()
            raise


def open_writer(
    sink: Sink, connections: Connections, *, writer: str, key: KeyOf | None, call: str | None
) -> TableWriter:
    """As `SinkBackend.open_writer`; rows have no key here."""
    return TableWriter(_path(sink, connections), _connector(sink), sink.columns, sink.mode, writer)


def read(sink: Sink, connections: Connections, *, version: str | None, call: str | None) -> Iterator[Row]:
    path, connector = _path(sink, connections), _connector(sink)
    if call is not None:
        yield from page(sink, connections, call=call, version=None, limit=sys.maxsize, offset=0).rows
        return
    with explained(path, "read"):
        for file in TableDirectory(path).files(version):
            yield from read_file(file, connector, sink.columns)


def page(sink: Sink, connections: Connections, *, call: str, version: str | None, limit: int, offset: int) -> Page:
    """As `SinkBackend.page`: of the rows that the version added."""
    path, connector = _path(sink, connections), _connector(sink)
    with explained(path, "read"):
        commit = TableDirectory(path).visible(version or call)[-1]
        rows = (row for file in commit.files for row in read_file(path / file.name, connector, sink.columns))
        return Page(list(islice(rows, offset, offset + limit)), commit.rows)


def view(sink: Sink, connections: Connections) -> TableView:
    return TableView(_path(sink, connections), _connector(sink), sink.columns)


class TableView:
    """The `SinkView` of a table directory: between two snapshots only new files are read."""

    def __init__(self, path: Path, connector: Files | Parquet, columns: Struct) -> None:
        self._table = TableDirectory(path)
        self._connector = connector
        self._columns = columns
        self._seen: SinkSnapshot | None = None
        self._first = 0
        self._last = 0

    def commits(self) -> list[Commit]:
        with explained(self._table.path, "read"):
            return [_commit(manifest) for manifest in self._table.manifests()]

    def latest(self) -> Commit | None:
        with explained(self._table.path, "read"):
            manifests = self._table.visible()
        if not manifests:
            return None
        return Commit(manifests[-1].version, sum(manifest.rows for manifest in manifests), manifests[-1].time)

    def snapshot(self, most: int) -> SinkSnapshot:
        table = self._table
        with explained(table.path, "read"):
            manifests = table.visible()
            if not manifests:
                return self._foreign(most)
            seen = self._seen if self._first == manifests[0].sequence else None
            new = [manifest for manifest in manifests if seen is None or manifest.sequence > self._last]
            if seen is not None and not new:
                return seen
            files = _newest([file for manifest in new for file in manifest.files], most)
            frames = [] if seen is None else [seen.frame]
            frames += [read_frame(table.path / file.name, self._connector, self._columns) for file in files]
        self._first, self._last = manifests[0].sequence, manifests[-1].sequence
        rows, frame = sum(manifest.rows for manifest in manifests), self._joined(frames, most)
        self._seen = SinkSnapshot(self._columns, frame, manifests[-1].version, manifests[-1].time, rows)
        return self._seen

    def _foreign(self, most: int) -> SinkSnapshot:
        """Files that others have written there; no version tells when they change, so they are read each time."""
        files = self._table.files()
        frames = [read_frame(path, self._connector, self._columns) for path in files[-MOST_FILES:]]
        rows = sum(frame.height for frame in frames) if len(files) <= MOST_FILES else None
        return SinkSnapshot(self._columns, self._joined(frames, most), None, None, rows)

    def _joined(self, frames: list[pl.DataFrame], most: int) -> pl.DataFrame:
        if not frames:
            return columns_of((), [(field.name, field.type) for field in self._columns.fields])
        frame = pl.concat(frames, rechunk=False).tail(most)
        return frame.rechunk() if frame.n_chunks() > _CHUNKS else frame


def _newest(files: list[DataFile], most: int) -> list[DataFile]:
    """The last files that hold so many rows, oldest first."""
    kept: list[DataFile] = []
    rows = 0
    for file in reversed(files[-MOST_FILES:]):
        if rows >= most:
            break
        kept.append(file)
        rows += file.rows
    return kept[::-1]


def _path(sink: Sink, connections: Connections) -> Path:
    return connections.path(sink.connector.address[1])


def _connector(sink: Sink) -> Files | Parquet:
    assert isinstance(sink.connector, Files | Parquet), "the registry leads here for these alone"
    return sink.connector


def _commit(manifest: Manifest) -> Commit:
    return Commit(manifest.version, manifest.rows, manifest.time)
