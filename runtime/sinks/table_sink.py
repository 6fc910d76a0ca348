"""Table directories as sinks: the writer in two phases, and reading."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import polars as pl

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.file_readers import read_file
from ghcm.runtime.formats.file_writers import FileWriter, extension, open_file
from ghcm.runtime.sinks.sink_writer import Commit, Page
from ghcm.runtime.sinks.table_directory import DataFile, Manifest, Staging, TableDirectory, explained
from ghcm.spg.connectors import Mode
from ghcm.spg.ops import Files, Parquet
from ghcm.types import Struct

_FILE_BYTES = 128 * 1024 * 1024


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
        """As `SinkWriter.write`."""
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
        """As `SinkWriter.pending`."""
        return self._rows

    def prepare(self, version: str) -> int:
        """As `SinkWriter.prepare`."""
        with self._writing():
            self._close_file()
            if self._staging is None:
                self._staging = Staging(self._table.staging)
            self._staging.prepare(version, self._writer, self._files)
        rows = self._rows
        self._files, self._rows = [], 0
        return rows

    def commit(self, version: str) -> Commit:
        """As `SinkWriter.commit`."""
        with explained(self._table.path, "commit to"):
            return _commit(self._table.commit(version, self._mode))

    def abort(self, version: str) -> None:
        """As `SinkWriter.abort`."""
        with explained(self._table.path, "clean up"):
            self._table.abort(version)

    def recover(self, keep: Collection[str] = ()) -> None:
        """As `SinkWriter.recover`."""
        with explained(self._table.path, "clean up"):
            self._table.recover(self._writer, keep)

    def close(self) -> None:
        """As `SinkWriter.close`."""
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


def read_table(path: Path, connector: Files | Parquet, columns: Struct, version: str | None) -> Iterator[Row]:
    """The rows that a reader sees, now or as of a version."""
    with explained(path, "read"):
        for file in TableDirectory(path).files(version):
            yield from read_file(file, connector, columns)


def read_table_version(
    path: Path, connector: Files | Parquet, columns: Struct, version: str, limit: int, offset: int
) -> Page:
    """Rows `offset` to `offset + limit` of those that one version added."""
    with explained(path, "read"):
        commit = TableDirectory(path).visible(version)[-1]
        rows = (row for file in commit.files for row in read_file(path / file.name, connector, columns))
        return Page(list(islice(rows, offset, offset + limit)), commit.rows)


def latest_table_version(path: Path) -> str | None:
    """The version committed last, or None."""
    with explained(path, "read"):
        manifests = TableDirectory(path).manifests()
        return manifests[-1].version if manifests else None


def _commit(manifest: Manifest) -> Commit:
    return Commit(manifest.version, manifest.rows, manifest.time)
