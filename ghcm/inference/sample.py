"""The first records of a file of lines or of a table, and what a record makes of them."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from ghcm.errors import GhcmError
from ghcm.formats.files import BYTE_ORDER_MARK, open_file
from ghcm.formats.tables import read_tables
from ghcm.functions import Failure
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.chunks import Chunk, lines_of
from ghcm.runtime.formats.decoder import open_decoder
from ghcm.runtime.formats.tables import Tables
from ghcm.schemas.arrow import type_of
from ghcm.schemas.records import Unmapped, distinct, field_name
from ghcm.spg.connectors import Format
from ghcm.types import Field, List, Map, Nullable, String, Struct, Type, as_nullable

_LONGEST = 16 << 20


@dataclass(frozen=True, slots=True)
class Decoded:
    """What came of a sample: its records, and why others are none. `whole`: there is no more in the file."""

    rows: list[Row]
    dead: list[str]
    whole: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """Whole lines from the start of a file; `last`: there are no more."""

    file: str
    format: Format
    data: bytes
    last: bool

    def lines(self) -> list[str]:
        """The lines without their ends."""
        return [line.decode(errors="replace").rstrip("\r\n") for line in lines_of(self.data)]

    def decode(self, struct: Struct) -> Decoded:
        """The records as the engine reads them. GhcmError where a header lacks a column."""
        dead: list[str] = []

        def note(_: Failure, detail: str, text: str) -> None:
            dead.append(detail)

        batch, _, _ = open_decoder(self.format, struct).decode(
            Chunk(self.data, self.file, 1, "sample", self.last), note
        )
        return Decoded(list(batch.rows()), dead, self.last)


def take(path: Path, format_: Format, rows: int) -> Sample:
    """The lines of so many records, headers besides. `UNREADABLE` as it comes."""
    taken: list[bytes] = []
    left = rows + (format_.name == "csv")
    with io.BufferedReader(cast("io.RawIOBase", open_file(path, "ending", 0))) as stream:
        if stream.peek(3).startswith(BYTE_ORDER_MARK):
            stream.read(len(BYTE_ORDER_MARK))
        while left and (line := stream.readline(_LONGEST)):
            taken.append(line)
            left -= bool(line.strip()) and not (format_.name == "zeek" and line.startswith(b"#"))
        last = not stream.peek(1)
    return Sample(path.name, format_, b"".join(taken), last)


class TableSample:
    """The first rows of a file."""

    def __init__(self, path: Path, format_: str, rows: int) -> None:
        self._path = path
        self._format = format_
        self._rows = rows

    def decode(self, struct: Struct) -> Decoded:
        """The records as the engine reads them."""
        dead: list[str] = []
        found: list[Row] = []

        def note(_: Failure, detail: str, text: str) -> None:
            dead.append(detail)

        if not struct.fields:
            return Decoded([], [], True)
        tables = Tables(struct, self._path.name, "sample")
        left = self._rows
        for batch in read_tables(self._path, str(self._path), self._format, struct, 0):
            if not left:
                return Decoded(found, dead, False)
            part = batch.slice(0, left)
            left -= part.num_rows
            found += tables.add(part, note).rows()
            if part.num_rows < batch.num_rows:
                return Decoded(found, dead, False)
        return Decoded(found, dead, True)


def table_columns(path: Path, format_: str, left: list[str]) -> Struct:
    """The columns, each of which may be null here; what has no type is left out and noted."""
    columns: list[Any] = list(_schema(path, format_))
    fields: list[Field] = []
    names = distinct(field_name(column.name) for column in columns)
    for name, column in zip(names, columns, strict=True):
        try:
            type_ = _open(_type(column.type))
        except Unmapped as error:
            left.append(f'"{column.name}": {error}')
            continue
        if not column.name:
            left.append("a column without a name")
            continue
        fields.append(Field(name, type_, None if name == column.name else column.name))
    return Struct(tuple(fields))


def _type(found: Any) -> Type:
    """Times of day are read as their text, columns without values as text."""
    return String() if pa.types.is_time(found) or pa.types.is_null(found) else type_of(found)


def _open(type_: Type) -> Type:
    """The type with a `?` at every value that Arrow can leave out."""
    match type_:
        case Nullable(of=of):
            return _open(of)
        case List(item=item):
            return Nullable(List(_open(item)))
        case Map(key=key, value=value):
            return Nullable(Map(key, _open(value)))
        case Struct(fields=fields):
            names = distinct(field_name(field.name) for field in fields)
            return Nullable(Struct(tuple(map(_open_field, names, fields))))
        case _:  # a type that holds no others
            return as_nullable(type_)


def _open_field(name: str, field: Field) -> Field:
    return Field(name, _open(field.type), None if name == field.name else field.name)


def _schema(path: Path, format_: str) -> pa.Schema:
    from ghcm.formats.tables import open_table

    try:
        with open_table(path, format_) as (found, _):
            return found
    except pa.ArrowInvalid as error:
        raise GhcmError(
            f'"{path}" is no {format_} file that can be read', code="GHCM-736", detail=str(error)
        ) from error
