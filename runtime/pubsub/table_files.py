"""The files of table directories: rows and frames into Parquet, JSON lines, CSV and text, and back into rows."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TextIO, cast

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ghcm.errors import GhcmError
from ghcm.runtime.columns import Row, columns_of, rows_of
from ghcm.runtime.pubsub.arrow import conform, to_arrow
from ghcm.spg.ops import Files, Parquet
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
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
from ghcm.values import Json, reader, writer

__all__ = ["FileWriter", "extension", "open_file", "read_file"]

_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity)|nan", re.IGNORECASE | re.ASCII)
_MICROSECONDS = re.compile(r"-?\d+\.\d{6}")  # of a duration that a double cannot hold
_GROUP_ROWS = 64 * 1024
_BATCH_ROWS = 8 * 1024


class FileWriter(Protocol):
    """Fills one file."""

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """Append rows; at most a row group is held in memory."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


def extension(connector: Files | Parquet) -> str:
    """The ending of the files, with its dot."""
    return (
        ".parquet"
        if isinstance(connector, Parquet)
        else {"text": ".txt"}.get(connector.format.name, f".{connector.format.name}")
    )


def open_file(path: Path, connector: Files | Parquet, columns: Struct) -> FileWriter:
    """A writer for a new file."""
    if isinstance(connector, Parquet):
        return _ParquetWriter(path, columns)
    match connector.format.name:
        case "json":
            return _JsonWriter(path, columns)
        case "csv":
            return _CsvWriter(path, columns, connector.format.separator)
        case _:
            return _TextWriter(path, columns)


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


def _types(columns: Struct) -> list[tuple[str, Type]]:
    return [(field.name, field.type) for field in columns.fields]


def _as_rows(rows: Sequence[Row] | pl.DataFrame, columns: Struct) -> Sequence[Row]:
    return rows_of(rows, _types(columns)) if isinstance(rows, pl.DataFrame) else rows


# --- writing ---------------------------------------------------------------------------------------------------------


class _ParquetWriter:
    def __init__(self, path: Path, columns: Struct) -> None:
        self._columns = columns
        schema = to_arrow(columns_of([], _types(columns)), columns).schema
        self._file = pq.ParquetWriter(path, schema, compression="zstd")
        self._rows: list[Row] = []

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        if isinstance(rows, pl.DataFrame):
            self._flush()
            self._file.write_table(to_arrow(rows, self._columns))
            return
        self._rows.extend(rows)
        if len(self._rows) >= _GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            self._file.write_table(to_arrow(columns_of(rows, _types(self._columns)), self._columns))


class _JsonWriter:
    def __init__(self, path: Path, columns: Struct) -> None:
        self._columns = columns
        self._file = _open_text(path)
        self._encode = _line_encoder(columns)

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self._file.writelines(map(self._encode, _as_rows(rows, self._columns)))

    def close(self) -> None:
        self._file.close()


class _CsvWriter:
    def __init__(self, path: Path, columns: Struct, separator: str) -> None:
        self._columns = columns
        self._file = _open_text(path)
        self._separator = separator
        self._special = re.compile(f'[{re.escape(separator)}"\\r\\n]')
        self._writers = [_field_writer(field.type) for field in columns.fields]
        self._write_line(columns.names)

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        for row in _as_rows(rows, self._columns):
            self._write_line([write(value) for write, value in zip(self._writers, row, strict=True)])

    def _write_line(self, fields: Sequence[str]) -> None:
        # The csv module leaves a lone carriage return unquoted, and RFC 4180 is short.
        line = self._separator.join(_quoted(text) if self._special.search(text) else text for text in fields)
        self._file.write(f"{line or _quoted(line)}\n")  # an empty line would be no record

    def close(self) -> None:
        self._file.close()


class _TextWriter:
    def __init__(self, path: Path, columns: Struct) -> None:
        self._columns = columns
        self._file = _open_text(path)
        self._index = columns.index("text") if "text" in columns.names else 0

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self._file.writelines(f"{row[self._index]}\n" for row in _as_rows(rows, self._columns))

    def close(self) -> None:
        self._file.close()


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _open_text(path: Path) -> TextIO:
    return open(path, "w", encoding="utf-8", newline="", buffering=1 << 18)


def _field_writer(type_: Type) -> Callable[[object], str]:
    """A field of csv: a text as itself, null as nothing, anything else as its JSON text."""
    to_json = writer(type_)

    def to_text(value: object) -> str:
        data = to_json(value)
        return data if isinstance(data, str) else "" if data is None else _COMPACT.encode(data)

    return to_text


def _line_encoder(columns: Struct) -> Callable[[Row], str]:
    to_json = writer(columns)
    return lambda row: _COMPACT.encode(to_json(row)) + "\n"


# --- reading ---------------------------------------------------------------------------------------------------------


def _read_parquet(path: Path, columns: Struct) -> Iterator[Row]:
    try:
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            present = [name for name in columns.names if name in file.schema_arrow.names]
            batches = file.iter_batches(_BATCH_ROWS, columns=present)  # pyright: ignore[reportUnknownMemberType]
            for batch in batches:
                frame = conform(pa.Table.from_batches([batch]), columns, str(path))
                yield from rows_of(frame, _types(columns))
    except pa.ArrowInvalid as error:
        raise GhcmError(f'"{path}" is no Parquet file that can be read', code="GHCM-733", detail=str(error)) from error


def _read_json_lines(path: Path, columns: Struct) -> Iterator[Row]:
    decode = reader(columns)
    with _open_lines(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            with _place(path, number):
                found: object = json.loads(line)
                if not isinstance(found, dict):
                    raise ValueError("no JSON object")
                record = cast("dict[str, Json]", found)
                yield cast("Row", decode({name: record.get(name) for name in columns.names}))


def _read_csv(path: Path, columns: Struct, separator: str) -> Iterator[Row]:
    with _open_lines(path) as file:
        lines = csv.reader(file, delimiter=separator, strict=True)
        header = next(lines, None)
        if header is None:
            return
        with _place(path, 1):
            places = [header.index(name) for name in columns.names]
        readers = [_field_reader(field.type) for field in columns.fields]
        for fields in lines:
            with _place(path, lines.line_num):
                if len(fields) != len(header):
                    raise ValueError(f"{len(fields)} fields, the header has {len(header)}")
                yield tuple(read(fields[place]) for read, place in zip(readers, places, strict=True))


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
        case String() | Bytes() | Timestamp() | Date() | Decimal():
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
        if isinstance(error, ValueError):
            place = f'"{self._path}", line {self._number}'
            raise GhcmError(f"{place} does not fit the sink's record", code="GHCM-733", detail=str(error)) from error
