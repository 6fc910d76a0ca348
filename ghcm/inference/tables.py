"""The first rows of a Parquet or Arrow file, and the columns that it says it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

from ghcm.errors import GhcmError
from ghcm.functions import Failure
from ghcm.inference.sample import Decoded
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.tables import Tables, read_tables
from ghcm.schemas.arrow import type_of
from ghcm.schemas.naming import distinct, field_name
from ghcm.schemas.unmapped import Unmapped
from ghcm.types import Field, List, Map, Nullable, String, Struct, Type, as_nullable


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
        case _:
            return as_nullable(type_)


def _open_field(name: str, field: Field) -> Field:
    return Field(name, _open(field.type), None if name == field.name else field.name)


def _schema(path: Path, format_: str) -> pa.Schema:
    try:
        if format_ == "parquet":
            parquet: Any = pq
            return cast("pa.Schema", parquet.read_schema(path))
        with pa.memory_map(str(path)) as mapped:
            if mapped.read(6) == b"ARROW1":
                return ipc.open_file(mapped).schema
            mapped.seek(0)
            return ipc.open_stream(mapped).schema
    except pa.ArrowInvalid as error:
        raise GhcmError(
            f'"{path}" is no {format_} file that can be read', code="GHCM-736", detail=str(error)
        ) from error
