"""Tables of files as sinks, of Parquet and of plain files: the writer in two phases, and reading."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from threading import Thread
from typing import Any, cast

import polars as pl

from ghcm.errors import GhcmError
from ghcm.fence import Fence
from ghcm.places import Place
from ghcm.runtime.data.columns import Row, columns_of
from ghcm.runtime.formats.file_readers import read_file, read_frame
from ghcm.runtime.formats.file_writers import FileWriter, extension, open_file
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.backend import Commit, KeyOf, Page, SinkSnapshot
from ghcm.runtime.sinks.divided import DividedRows
from ghcm.runtime.sinks.staging import Staging, Table, abort, drop, recover
from ghcm.runtime.worker import may_pass
from ghcm.spg.connectors import Files, Mode, Parquet
from ghcm.spg.graph import Sink
from ghcm.tables.delta import DeltaTable
from ghcm.tables.delta_columns import GONE
from ghcm.tables.plain import PlainTable
from ghcm.tables.versions import STAGING, DataFile, Version, explained, read_note, safe_name
from ghcm.types import Struct

_FILE_BYTES = 128 * 1024 * 1024

MOST_FILES = 1_000
"""Files that are opened for the first snapshot."""

_CHUNKS = 64


class TableWriter:
    """The `SinkWriter` of a table of files. `writer` is noted with what it prepares, so that its successor can find
    it. What is upserted has names of columns as its `key`.
    """

    def __init__(
        self,
        path: Place,
        connector: Files | Parquet,
        columns: Struct,
        mode: Mode,
        writer: str,
        key: Sequence[str] = (),
        fence: Fence | None = None,
    ) -> None:
        by = connector.partition if isinstance(connector, Parquet) else ()
        self._delta = (
            DeltaTable(path, columns, key, by, fence, last_by_polars) if isinstance(connector, Parquet) else None
        )
        self._table: Table = self._delta or PlainTable(path)
        self._connector = connector
        self._columns = columns
        self._mode = mode
        self._writer = writer
        self._staging: Staging | None = None
        self._file: FileWriter | None = None
        self._files: list[DataFile] = []
        self._rows = 0
        self._divided = DividedRows(columns, by) if by else None
        self._tidying: Thread | None = None
        with explained(path, "write to"):
            self._check(key)

    def remove(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """As `SinkWriter.remove`: in a file of their own."""
        with self._writing():
            self._close_file()
            self._open_next(GONE)
            assert self._file is not None
            self._rows += len(rows)
            self._file.write(rows)
            self._files[-1] = DataFile(self._files[-1].name, len(rows))
            self._close_file()

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        if len(rows) == 0:
            return
        with self._writing():
            self._rows += len(rows)
            if self._divided is not None and self._mode is not Mode.UPSERT:
                if self._divided.add(rows):
                    self._divide(self._divided)
                return
            if self._divided is not None:  # merging divides them
                self._divided.check(rows)
            if self._file is None:
                self._open_next()
            assert self._file is not None
            self._file.write(rows)
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
            if self._divided is not None:
                self._divide(self._divided)
            if not self._files and self._delta is None:  # its name says that there is such a version
                self._open_next()
            self._close_file()
            if self._staging is None:
                self._staging = Staging(self._table.path, self._writer)
            self._staging.prepare(version, self._files)
        rows = self._rows
        self._files, self._rows = [], 0
        return rows

    def commit(self, version: str) -> Commit:
        staged = self._table.path / STAGING / safe_name(version)
        with explained(self._table.path, "commit to"):
            note = read_note(staged)
            if note is None:
                done = self._table.committed(version)
            else:
                done = self._table.publish(version, self._mode.value, staged, note[2], self._writer)
            if done is None:
                raise GhcmError(f'version "{version}" of "{self._table.path}" was never prepared', code="GHCM-732")
            drop(staged, self._writer)
        if self._delta is not None and self._delta.untidy and not (self._tidying and self._tidying.is_alive()):
            self._tidying = Thread(target=self._delta.tidy, name="ghcm-tidy", daemon=True)
            self._tidying.start()
        return _commit(done)

    def abort(self, version: str) -> None:
        with explained(self._table.path, "clean up"):
            abort(self._table, version)

    def recover(self, keep: Collection[str] = ()) -> None:
        with explained(self._table.path, "clean up"):
            recover(self._table, self._writer, keep, self._staging.folder if self._staging else None)

    def close(self) -> None:
        with explained(self._table.path, "close"):
            self._drop()
        if self._tidying is not None:
            self._tidying.join()

    def _check(self, key: Sequence[str]) -> None:
        if self._mode is Mode.UPSERT and not (self._delta and key):
            raise GhcmError(
                f'"{self._table.path}" cannot be upserted',
                code="GHCM-734",
                hint="use a parquet sink whose key is made of columns, or a Redis sink",
            )
        if self._table.foreign:
            raise GhcmError(
                f'"{self._table.path}" holds files that GHCM has not written',
                code="GHCM-734",
                detail="After the first commit readers would no longer see them.",
                hint="write to another directory, or move those files away",
            )
        if self._delta is not None:
            self._delta.fit(self._mode.value)

    def _divide(self, divided: DividedRows) -> None:
        """Write what waits, a file for each combination of the values that divide it."""
        for folder, rows in divided.take():
            self._open_next(f"{folder}/", divided.columns)
            assert self._file is not None
            self._file.write(rows)
            self._files[-1] = DataFile(self._files[-1].name, rows.height)
            self._close_file()

    def _open_next(self, prefix: str = "", columns: Struct | None = None) -> None:
        if self._staging is None:
            self._staging = Staging(self._table.path, self._writer)
        name = f"{prefix}part-{uuid.uuid4().hex}{extension(self._connector)}"
        path = self._staging.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open_file(path, self._connector, columns or self._columns)
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
            if self._divided is not None:
                self._divided.clear()
            if staging is not None:
                staging.close()

    @contextmanager
    def _writing(self) -> Generator[None]:
        """After a failure nothing of the version is left, so that the disk has its room back; unless it may pass: then
        what is whole here is brought to the store again.
        """
        try:
            with explained(self._table.path, "write to"):
                yield
        except GhcmError as error:
            if may_pass(error):
                raise
            with suppress(OSError):
                self._drop()
            raise


def open_writer(
    sink: Sink, connections: Connections, *, writer: str, key: KeyOf | None, call: str | None
) -> TableWriter:
    """As `SinkBackend.open_writer`; the columns of the sink's key say what is upserted."""
    path, fence = connections.path(sink.connector.address[1]), connections.fence
    return TableWriter(path, _connector(sink), sink.columns, sink.mode, writer, sink.key_columns, fence)


def read(sink: Sink, connections: Connections, *, version: str | None, call: str | None) -> Iterator[Row]:
    if call is not None:
        yield from page(sink, connections, call=call, version=None, limit=sys.maxsize, offset=0).rows
        return
    table = table_of(sink, connections)
    with explained(table.path, "read"):
        for file in table.live(version):
            yield from read_file(table.path / file.name, _connector(sink), sink.columns, file.values)


def count(sink: Sink, connections: Connections, *, version: str | None) -> int:
    """As `SinkBackend.count`."""
    table = table_of(sink, connections)
    with explained(table.path, "read"):
        return sum(file.rows for file in table.live(version))


def page(sink: Sink, connections: Connections, *, call: str, version: str | None, limit: int, offset: int) -> Page:
    """As `SinkBackend.page`: of the rows that the version added."""
    return next(pages(sink, connections, call=version or call, limit=limit, offset=offset))


def pages(sink: Sink, connections: Connections, *, call: str, limit: int, offset: int) -> Iterator[Page]:
    """The rows that a version added, from row `offset` on, so many at a time; one page at least. Files are read once,
    those before that row not at all.
    """
    table, connector = table_of(sink, connections), _connector(sink)
    with explained(table.path, "read"):
        files = table.written(call)
        total, left = sum(file.rows for file in files), list(files)
        while left and left[0].rows <= offset:
            offset -= left.pop(0).rows
        parts = (read_file(table.path / file.name, connector, sink.columns, file.values) for file in left)
        rows = islice(chain.from_iterable(parts), offset, None)
        page = list(islice(rows, limit))
        yield Page(page, total)
        while page := list(islice(rows, limit)):
            yield Page(page, total)


def view(sink: Sink, connections: Connections) -> TableView:
    return TableView(table_of(sink, connections), _connector(sink), sink.columns)


class TableView:
    """The `SinkView` of a table of files: between two snapshots only new files are read, unless some were replaced."""

    def __init__(self, table: Table, connector: Files | Parquet, columns: Struct) -> None:
        self._table = table
        self._connector = connector
        self._columns = columns
        self._seen: SinkSnapshot | None = None
        self._last = 0

    def commits(self) -> list[Commit]:
        with explained(self._table.path, "read"):
            return [_commit(each) for each in self._table.commits()]

    def latest(self) -> Commit | None:
        with explained(self._table.path, "read"):
            last = next(self._table.newest(), None)
            rows = sum(file.rows for file in self._table.live())
        return None if last is None else Commit(last.version, rows, last.time)

    def snapshot(self, most: int) -> SinkSnapshot:
        table, seen = self._table, self._seen
        with explained(table.path, "read"):
            commits = table.commits()
            if not commits:
                return self._foreign(most)
            new = [each for each in commits if each.order > self._last]
            if seen is not None and not new:
                return seen
            if seen is None or commits[0].order > self._last or any(each.replaces for each in new):
                files = table.live(commits[-1].version)
                rows, frames = sum(file.rows for file in files), []
            else:
                files = [file for each in new for file in each.files]
                rows, frames = (seen.rows or 0) + sum(each.rows for each in new), [seen.frame]
            frames += [
                read_frame(table.path / file.name, self._connector, self._columns, file.values)
                for file in _newest(files, most)
            ]
        self._last = commits[-1].order
        frame = self._joined(frames, most)
        self._seen = SinkSnapshot(self._columns, frame, commits[-1].version, commits[-1].time, rows)
        return self._seen

    def _foreign(self, most: int) -> SinkSnapshot:
        """Files that others have written there; no version tells when they change, so they are read each time."""
        files = [self._table.path / file.name for file in self._table.live()]
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


def table_of(sink: Sink, connections: Connections) -> Table:
    """The table of a sink."""
    path = connections.path(sink.connector.address[1])
    return DeltaTable(path) if isinstance(sink.connector, Parquet) else PlainTable(path)


def _connector(sink: Sink) -> Files | Parquet:
    assert isinstance(sink.connector, Files | Parquet), "the registry leads here for these alone"
    return sink.connector


def _commit(done: Version) -> Commit:
    return Commit(done.version, done.rows, done.time)


def last_by_polars(keys: Any) -> Any:
    """As `last_by_arrow`, for which Arrow imports pandas: that takes longer than a commit."""
    places = cast("Any", pl).from_arrow(keys).with_row_index("@place")
    return places.group_by(keys.column_names).agg(pl.col("@place").max())["@place"].sort().to_arrow()
