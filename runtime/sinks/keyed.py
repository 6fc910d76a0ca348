"""What keyed sinks share: how a row stands in one (a field named by its key, with the row as JSON where nothing else is
said), and their view.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import cast

import polars as pl

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row, columns_of, rows_of
from ghcm.runtime.sinks.backend import Commit, KeyOf, SinkSnapshot
from ghcm.spg.connectors import Mode
from ghcm.spg.graph import Sink
from ghcm.tables.redis_forms import Form
from ghcm.types import Struct, Type
from ghcm.values import Json, compact, key_writer, own_writer, reader


class KeyedForm:
    """Rows of `columns` as field and value; `key` gives the canonical key, of type `key_type`. `shown`: the form in
    which other applications read them, and which decides how they stand.
    """

    def __init__(self, columns: Struct, key: KeyOf, key_type: Type, shown: Form | None = None) -> None:
        self.shown = shown
        self._columns = columns
        self._key = key
        self._key_text = key_writer(key_type)
        self._to_json = own_writer(columns)
        self._text = self._json if shown is None else shown.text_writer(columns)

    def pairs(self, rows: Sequence[Row] | pl.DataFrame, first: int = 0) -> Iterator[tuple[str, str]]:
        """Field and value of each row, in order; `first` is the number of the first one, where fields are numbered."""
        pairs = self.texts(rows)
        return pairs if self.shown is None else self.shown.staged(pairs, 0, first)

    def texts(self, rows: Sequence[Row] | pl.DataFrame) -> Iterator[tuple[str, str]]:
        """Key and text of each row, in order."""
        if isinstance(rows, pl.DataFrame):
            rows = rows_of(rows, [(field.name, field.type) for field in self._columns.fields])
        return ((self._key_text(self._key(row)), self._text(row)) for row in rows)

    def _json(self, row: Row) -> str:
        return compact(self._to_json(row))


def form_of(sink: Sink, key: KeyOf | None, shown: Form | None = None) -> KeyedForm:
    """The form of a sink's rows. GhcmError where it has no key, or is to be appended to and has no form for others."""
    if key is None or sink.key is None:
        hint = "a Redis sink needs key = ..., one field each"
        raise GhcmError(f'sink "{sink.name}" has no key', code="GHCM-734", hint=hint)
    if sink.mode is Mode.APPEND and shown is None:
        message = f'"{sink.connector.address[1]}" is keyed and cannot be appended to'
        raise GhcmError(message, code="GHCM-734", hint="use upsert or replace")
    return KeyedForm(sink.columns, key, sink.key.body.type, shown)


def row_reader(columns: Struct, address: str) -> Callable[[bytes | str], Row]:
    """The function that gives a row back from its JSON; GhcmError names the address if it does not fit."""
    decode = reader(columns)

    def read(text: bytes | str) -> Row:
        try:
            return cast("Row", decode(cast("Json", json.loads(text))))
        except ValueError as error:
            message = f'"{address}" holds a row that does not fit the sink\'s record'
            hint = "it was written by another version of the program: use another place, or clear this one"
            raise GhcmError(message, code="GHCM-733", detail=str(error), hint=hint) from error

    return read


class KeyedView:
    """The `SinkView` of a keyed sink."""

    def __init__(self, sink: Sink, latest: Callable[[], Commit | None], read: Callable[[], Iterator[Row]]) -> None:
        self._columns = sink.columns
        self._latest = latest
        self._read = read
        self._seen: SinkSnapshot | None = None

    def commits(self) -> list[Commit]:
        latest = self._latest()
        return [] if latest is None else [latest]

    def latest(self) -> Commit | None:
        return self._latest()

    def snapshot(self, most: int) -> SinkSnapshot:
        commit = self._latest()
        if commit is not None and self._seen is not None and self._seen.version == commit.version:
            return self._seen
        rows = list(islice(self._read(), most + 1))
        frame = columns_of(rows[:most], [(field.name, field.type) for field in self._columns.fields])
        version, time = (None, None) if commit is None else (commit.version, commit.time)
        self._seen = SinkSnapshot(self._columns, frame, version, time, len(rows) if len(rows) <= most else None)
        return self._seen
