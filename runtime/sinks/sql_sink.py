"""Tables of databases as sinks: the writer in two phases, and reading. What lies where stands in `sql_table`.

Rows go to the database by whole columns: to PostgreSQL with COPY, to SQLite with one statement for all of them.
"""

from __future__ import annotations

import decimal
import hashlib
import io
import json
import math
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, groupby
from typing import Any, cast

import polars as pl
import pyarrow.csv

from ghcm import types
from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row, columns_of, values
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.backend import Commit, KeyOf, Page
from ghcm.runtime.sinks.keyed import KeyedView
from ghcm.runtime.sinks.sql_table import GONE, PART, PLACE, Note, SqlTable
from ghcm.spg.connectors import Mode, Sql
from ghcm.spg.graph import Sink
from ghcm.types import Type, strip
from ghcm.values import compact, own_writer, reader
from ghcm.values.decimals import fitted
from ghcm.values.timestamps import parse_date, parse_timestamp

_ROWS = 64 * 1024
_FORGOTTEN_SECONDS = 24 * 3600


class SqlWriter:
    """The `SinkWriter` of a table."""

    def __init__(self, table: SqlTable, mode: Mode, writer: str) -> None:
        self._table = table
        self._mode = mode
        self._writer = writer
        self._schema = [(field.name, field.type) for field in table.columns.fields]
        self._waiting: list[tuple[Sequence[Row] | pl.DataFrame, bool]] = []
        """What has not been staged, and whether it is to go."""
        self._part = self._new_part()
        self._rows = self._staged = 0
        self._tried = False
        """Whether it is not known if what waits has been staged: an answer may have been lost."""
        table.make()

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self._take(rows, gone=False)

    def remove(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self._take(rows, gone=True)

    def _take(self, rows: Sequence[Row] | pl.DataFrame, *, gone: bool) -> None:
        if self._rows - self._staged >= _ROWS:  # before these are taken: what fails is tried again as a whole
            with self._table.database.writing(f'write to "{self._table.name}"') as connection:
                self._stage(connection)
            self._waiting, self._staged, self._tried = [], self._rows, False
        self._waiting.append((rows, gone))
        self._rows += len(rows)

    @property
    def pending(self) -> int:
        return self._rows

    def prepare(self, version: str) -> int:
        table, rows = self._table, self._rows
        with table.database.writing(f'write to "{table.name}"') as connection:
            table.pass_fence(connection)
            self._stage(connection)
            table.prepare(connection, Note(version, self._part, rows, self._writer, None))
        self._waiting, self._rows, self._staged, self._tried = [], 0, 0, False
        self._part = self._new_part()
        return rows

    def commit(self, version: str) -> Commit:
        table = self._table
        with table.database.writing(f'commit to "{table.name}"') as connection:
            table.pass_fence(connection)
            note = table.note(connection, version)
            if note is None:
                raise GhcmError(f'version "{version}" of "{table.name}" was never prepared', code="GHCM-732")
            done = note if note.time is not None else table.publish(connection, note, self._mode.value)
        return _commit(done)

    def abort(self, version: str) -> None:
        with self._table.database.writing(f'clean up "{self._table.name}"') as connection:
            note = self._table.note(connection, version)
            if note is not None and note.time is None:
                self._table.drop(connection, [note])

    def recover(self, keep: Collection[str] = ()) -> None:
        """As `SinkWriter.recover`; also what nobody has prepared for a day."""
        table, mine = self._table, self._own()
        with table.database.writing(f'clean up "{table.name}"') as connection:
            table.pass_fence(connection)
            notes = table.notes(connection)
            gone = [each for each in notes if each.time is None and each.writer == self._writer]
            table.drop(connection, [each for each in gone if each.version not in keep])
            known = {each.part for each in notes} | {self._part}
            left = [part for part in table.parts(connection) if part not in known]
            table.drop_parts(connection, [part for part in left if part.startswith(mine) or _forgotten(part)])

    def close(self) -> None:
        staged, self._waiting, self._rows, self._staged = self._staged, [], 0, 0
        if staged or self._tried:
            doing = f'clean up "{self._table.name}"'
            with suppress(GhcmError), self._table.database.writing(doing) as connection:  # else the next writer does it
                self._table.drop_parts(connection, [self._part])

    def _stage(self, connection: Any) -> None:
        """Bring what waits into the table of what is staged; once, however often it is tried."""
        frames = list[pl.DataFrame]()
        for (framed, gone), parts in groupby(self._waiting, lambda each: (isinstance(each[0], pl.DataFrame), each[1])):
            rows: Any = [each for each, _ in parts]
            found = rows if framed else [columns_of(list(chain.from_iterable(rows)), self._schema)]
            mark = pl.lit(1 if gone else None, dtype=pl.Int64).alias(GONE)
            frames += [frame.with_columns(mark) for frame in found]
        if self._tried:
            self._table.drop_parts(connection, [self._part], self._staged)
        self._tried = True
        if self._rows > self._staged:
            stage(connection, self._table, pl.concat(frames), self._part, self._staged)

    def _own(self) -> str:
        return hashlib.md5(self._writer.encode(), usedforsecurity=False).hexdigest()

    def _new_part(self) -> str:
        """The name of a part, which says whose it is and when it began; a writer lives once at a time."""
        return f"{self._own()}-{int(time.time())}-{uuid.uuid4().hex[:12]}"


def stage(connection: Any, table: SqlTable, rows: pl.DataFrame, part: str, place: int) -> None:
    """Bring rows, with the column of those that are to go, into the table of what is staged, as those of a part from
    this place on.
    """
    fields = table.columns.fields
    columns = [_stored(rows[field.name], field.type, postgres=table.postgres) for field in fields]
    places = pl.int_range(place, place + rows.height, dtype=pl.Int64, eager=True).alias(PLACE)
    parts = pl.repeat(part, rows.height, dtype=pl.String, eager=True).alias(PART)
    if table.postgres:
        _copy(connection, table, pl.DataFrame([parts, places, rows[GONE], *columns]))
        return
    given = list(zip(*map(_bound, (parts, places, rows[GONE], *columns)), strict=True))
    target, names = table.filling
    marks = ", ".join("?" * len(names))
    connection.exec_driver_sql(f"INSERT INTO {target} ({', '.join(names)}) VALUES ({marks})", given)


def _copy(connection: Any, table: SqlTable, frame: pl.DataFrame) -> None:
    text, library, (target, names) = io.BytesIO(), cast("Any", pyarrow.csv), table.filling
    options = library.WriteOptions(include_header=False, quoting_style="all_valid")  # what is not quoted is null
    library.write_csv(frame.to_arrow(compat_level=pl.CompatLevel.oldest()), text, options)
    copying = f"COPY {target} ({', '.join(names)}) FROM STDIN (FORMAT csv, ENCODING 'utf8')".replace("%%", "%")
    with connection.connection.cursor() as cursor, cursor.copy(copying) as copy:
        copy.write(text.getbuffer())


def _stored(column: pl.Series, type_: Type, *, postgres: bool) -> pl.Series:
    """The column as the database takes it."""
    match strip(type_):
        case types.Struct() | types.List() | types.Map():
            write = own_writer(strip(type_))
            texts = [None if value is None else compact(write(value)) for value in values(column, type_)]
            return pl.Series(column.name, texts, dtype=pl.String)
        case types.Duration():
            return column.to_physical()
        case types.Timestamp():
            return column.dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
        case types.Date():
            return column.dt.strftime("%Y-%m-%d")
        case types.Decimal() | types.Null():
            return column.cast(pl.String)
        case types.Bytes() if postgres:
            return ("\\x" + column.bin.encode("hex")).alias(column.name)
        case _:  # taken as it is
            return column


def _bound(column: pl.Series) -> list[object]:
    """The values of a column for SQLite, which takes a NaN for a null."""
    if column.dtype == pl.Float64 and column.is_nan().any():
        return ["NaN" if value is not None and math.isnan(value) else value for value in column.to_list()]
    return column.to_list()


def open_writer(sink: Sink, connections: Connections, *, writer: str, key: KeyOf | None, call: str | None) -> SqlWriter:
    """As `SinkBackend.open_writer`; the columns of the sink's key say what is upserted."""
    if sink.mode is Mode.UPSERT and not sink.key_columns:
        hint = "say the columns by which records are found: key = r => r.id."
        raise GhcmError(f'sink "{sink.name}" has no key of columns', code="GHCM-734", hint=hint)
    return SqlWriter(table_of(sink, connections), sink.mode, writer)


def read(sink: Sink, connections: Connections, *, version: str | None, call: str | None) -> Iterator[Row]:
    """As `SinkBackend.read`; of a table that is not replaced that version or a later one."""
    table, wanted = table_of(sink, connections), version or call
    with table.database.reading(f'read "{table.name}"') as connection:
        query = table.rows()
        if not table.exists(connection):
            if wanted is not None:
                raise _no_version(table, wanted)
            return
        if wanted is not None:
            note = _there(table, connection, wanted)
            if call is not None or (sink.mode is Mode.REPLACE and _last(table.notes(connection)) != note):
                if not _kept(note):
                    raise _no_version(table, wanted)
                query = table.rows_of(note.part, readable=True)
        yield from _rows(connection, table, query)


def count(sink: Sink, connections: Connections, *, version: str | None) -> int:
    """As `SinkBackend.count`; of an earlier version as many as there are now."""
    table = table_of(sink, connections)
    with table.database.reading(f'count "{table.name}"') as connection:
        return table.count(connection, table.rows()) if table.exists(connection) else 0


def page(sink: Sink, connections: Connections, *, call: str, version: str | None, limit: int, offset: int) -> Page:
    """As `SinkBackend.page`; rows of calls are kept for ten minutes, those of streams until their next version."""
    table = table_of(sink, connections)
    with table.database.reading(f'read "{table.name}"') as connection:
        if not table.exists(connection):
            raise _no_version(table, version or call)
        note = _there(table, connection, version or call)
        if not _kept(note):
            raise _no_version(table, note.version)
        query = table.rows_of(note.part, readable=True)
        total = table.count(connection, query) if table.key and note.part else note.rows
        return Page(list(_rows(connection, table, query.limit(limit).offset(offset))), total)


def view(sink: Sink, connections: Connections) -> SqlView:
    return SqlView(sink, connections)


class SqlView(KeyedView):
    """The `SinkView` of a table: it knows the commits of the last ten minutes, of a stream the rows of the
    latest one.
    """

    def __init__(self, sink: Sink, connections: Connections) -> None:
        self._sink, self._connections = sink, connections
        super().__init__(sink, self._last_commit, partial(read, sink, connections, version=None, call=None))

    def commits(self) -> list[Commit]:
        table = table_of(self._sink, self._connections)
        with table.database.reading(f'read "{table.name}"') as connection:
            found = table.notes(connection) if table.exists(connection) else []
        return [_commit(note) for note in found if note.time is not None]

    def _last_commit(self) -> Commit | None:
        return next(reversed(self.commits()), None)


def table_of(sink: Sink, connections: Connections) -> SqlTable:
    """The table of a sink."""
    connector = sink.connector
    assert isinstance(connector, Sql), "the registry leads here for these alone"
    key = sink.key_columns if sink.mode is Mode.UPSERT else ()
    return SqlTable(connections.database(connector.connection), connector.table, sink.columns, key, connections.fence)


def _rows(connection: Any, table: SqlTable, query: Any) -> Iterator[Row]:
    """The canonical rows that a query for readable columns gives. GhcmError where one is none of the sink's record."""
    loads = [_load(field.type, postgres=table.postgres) for field in table.columns.fields]
    plain = not any(loads)
    try:
        with connection.execute(query) as found:  # which who has seen enough leaves before its end
            for row in found:
                yield (
                    tuple(row)
                    if plain
                    else tuple(
                        [
                            value if load is None or value is None else load(value)
                            for load, value in zip(loads, row, strict=True)
                        ]
                    )
                )
    except (ValueError, decimal.InvalidOperation) as error:
        message = f'"{table.name}" holds a row that does not fit the sink\'s record'
        raise GhcmError(message, code="GHCM-733", detail=str(error)) from error


def _load(type_: Type, *, postgres: bool) -> Callable[[Any], object] | None:
    """The function that makes a canonical value of one of the driver's; None where it is one."""
    plain = strip(type_)
    match plain:
        case types.Struct() | types.List() | types.Map():
            decode = reader(plain)
            return lambda text: decode(json.loads(text))
        case types.Decimal():
            return lambda number: fitted(number, plain)
        case types.Enumeration():
            return cast("Callable[[Any], object]", reader(plain))
        case types.Bool() if not postgres:
            return bool
        case types.Float() if not postgres:
            return float
        case types.Timestamp() if not postgres:
            return parse_timestamp
        case types.Date() if not postgres:
            return parse_date
        case _:  # the driver gives canonical values of the rest
            return None


def _there(table: SqlTable, connection: Any, version: str | None) -> Note:
    """The note of a version that is committed. GhcmError where it is not."""
    note = None if version is None else table.note(connection, version)
    if note is None or note.time is None:
        raise _no_version(table, version)
    return note


def _kept(note: Note) -> bool:
    """Whether the rows of a version are still staged, apart from others."""
    return not note.rows or bool(note.part)


def _last(notes: Sequence[Note]) -> Note | None:
    return next((note for note in reversed(notes) if note.time is not None), None)


def _no_version(table: SqlTable, version: str | None) -> GhcmError:
    detail = "It was never committed, or it was replaced long ago."
    return GhcmError(f'"{table.name}" has no version "{version}"', code="GHCM-732", detail=detail)


def _commit(note: Note) -> Commit:
    assert note.time is not None, "what is only prepared is no commit"
    return Commit(note.version, note.rows, note.time, _kept(note))


def _forgotten(part: str) -> bool:
    return time.time() - int(part.split("-")[1]) > _FORGOTTEN_SECONDS
