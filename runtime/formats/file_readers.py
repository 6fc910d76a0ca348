"""Readers of the files of table directories, also foreign ones: Parquet, JSON lines, CSV and text into rows."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO, cast

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row, columns_of, rows_of
from ghcm.runtime.formats.tables import conform
from ghcm.spg.connectors import Files, Parquet
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Enumeration,
    Float,
    Int,
    Int32,
    List,
    Map,
    Null,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
    is_nullable,
    strip,
)
from ghcm.values import Json, WrittenFloat, has_decimal, reader

_FLOAT = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity)|nan", re.IGNORECASE | re.ASCII)
_MICROSECONDS = re.compile(r"-?\d+\.\d{6}")  # of a duration that a double cannot hold
_BATCH_ROWS = 8 * 1024
_LONGEST_FIELD = 2**31 - 1
"""Characters. The csv module's own limit of 131,072 would refuse what a sink has written."""


def read_file(path: Path, connector: Files | Parquet, columns: Struct) -> Iterator[Row]:
    """The rows of a file, in order. Fields that are not among the columns are passed over. GhcmError says which value
    does not fit.
    """
    if isinstance(connector, Parquet):
        return _read_parquet(path, columns)
    match connector.format.name:
        case "json":
            return _read_json_lines(path, columns)
        case "csv":
            return _read_csv(path, columns, connector.format.separator)
        case _:
            return _read_text(path, columns)


def read_frame(path: Path, connector: Files | Parquet, columns: Struct) -> pl.DataFrame:
    """The rows of a file as one frame, as `read_file` gives them."""
    types = [(field.name, field.type) for field in columns.fields]
    if not isinstance(connector, Parquet):
        return columns_of(list(read_file(path, connector, columns)), types)
    frames = list(_parquet_frames(path, columns))
    return pl.concat(frames, rechunk=False) if frames else columns_of((), types)


def _read_parquet(path: Path, columns: Struct) -> Iterator[Row]:
    for frame in _parquet_frames(path, columns):
        yield from rows_of(frame, [(field.name, field.type) for field in columns.fields])


def _parquet_frames(path: Path, columns: Struct) -> Iterator[pl.DataFrame]:
    try:
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            present = [name for name in columns.names if name in file.schema_arrow.names]
            batches = file.iter_batches(_BATCH_ROWS, columns=present)  # pyright: ignore[reportUnknownMemberType]
            for batch in batches:
                yield conform(pa.Table.from_batches([batch]), columns, str(path))
    except pa.ArrowInvalid as error:
        raise GhcmError(f'"{path}" is no Parquet file that can be read', code="GHCM-733", detail=str(error)) from error


def _read_json_lines(path: Path, columns: Struct) -> Iterator[Row]:
    decode = reader(columns)
    written = WrittenFloat if has_decimal(columns) else None
    with _open_lines(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            with _place(path, number):
                found: object = json.loads(line, parse_float=written)
                if not isinstance(found, dict):
                    raise ValueError("no JSON object")
                record = cast("dict[str, Json]", found)
                yield cast("Row", decode({name: record.get(name) for name in columns.names}))


def _read_csv(path: Path, columns: Struct, separator: str) -> Iterator[Row]:
    csv.field_size_limit(_LONGEST_FIELD)
    with _open_lines(path) as file:
        lines = csv.reader(file, delimiter=separator, strict=True)
        with _place(path, 1):
            header = next(lines, None)
            if header is None:
                return
            missing = [name for name in columns.names if name not in header]
            if missing:
                raise ValueError(f'the header has no "{missing[0]}"')
        indices = [header.index(name) for name in columns.names]
        readers = [_field_reader(field.type) for field in columns.fields]
        while True:
            with _place(path, lines.line_num + 1):
                fields = next(lines, None)
                if fields is None:
                    return
                if len(fields) != len(header):
                    raise ValueError(f"{len(fields)} fields, the header has {len(header)}")
                yield tuple(read(fields[index]) for read, index in zip(readers, indices, strict=True))


def _open_lines(path: Path) -> TextIO:
    """Line ends as they are: a carriage return within a value is no line end."""
    opener = gzip.open if path.suffix == ".gz" else open
    return cast("TextIO", opener(path, "rt", encoding="utf-8", errors="replace", newline="\n"))


def _read_text(path: Path, columns: Struct) -> Iterator[Row]:
    with _open_lines(path) as lines:
        for number, line in enumerate(lines, 1):
            values: dict[str, object] = {"file": str(path), "number": number}
            text = line.removesuffix("\n").removesuffix("\r")
            yield tuple(values.get(name, text) for name in columns.names)


def _field_reader(type_: Type) -> Callable[[str], object]:
    read = reader(strip(type_))
    absent = is_nullable(type_)
    as_text = _stands_as_text(type_)
    inner = strip(type_)

    def from_text(text: str) -> object:
        if text == "" and absent:
            return None
        if isinstance(inner, Float) and _FLOAT.fullmatch(text):
            return float(text)
        if isinstance(inner, Duration) and _MICROSECONDS.fullmatch(text):
            return read(text)
        return read(text if as_text else json.loads(text))

    return from_text


def _stands_as_text(type_: Type) -> bool:
    """Whether the JSON form of the type is a string."""
    match strip(type_):
        case String() | Enumeration() | Bytes() | Timestamp() | Date() | Decimal():
            return True
        case Bool() | Int() | Int32() | Float() | Duration() | List() | Map() | Struct() | Null() | Nullable():
            return False


class _place:
    """Says in which line of which file a value did not fit."""

    def __init__(self, path: Path, number: int) -> None:
        self._path = path
        self._number = number

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ValueError | csv.Error):
            position = f'"{self._path}", line {self._number}'
            raise GhcmError(f"{position} does not fit the sink's record", code="GHCM-733", detail=str(error)) from error
