"""Parquet and Arrow files: batches of rows, read by the columns that the record names.

A row is read as the JSON object of the same content would be; where the types of a batch are those of the record
anyway, its columns are taken as they are.
"""

from __future__ import annotations

import base64
import decimal
import json
import math
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, TypeAlias, cast

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

from ghcm.errors import GhcmError
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row, dtype
from ghcm.runtime.formats.chunks import BadRecord, Letters
from ghcm.runtime.formats.fields import MISSING, from_json_field, look_up
from ghcm.runtime.formats.schemas import column_indices, union_check
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Enumeration,
    Field,
    Float,
    Int,
    Int32,
    String,
    Struct,
    Timestamp,
    is_nullable,
    strip,
)
from ghcm.values import Json, WrittenFloat
from ghcm.values.decimals import decimal_text

Batches: TypeAlias = Callable[[list[str]], Iterator[pa.RecordBatch]]

_ROWS = 16_384
_MOMENTS = (-62_135_596_800_000_000, 253_402_300_799_999_999)
_DAYS = (-719_162, 2_932_896)
"""The first and last moment and day of the years 1 to 9999, which a text can say."""


def read_tables(path: Path, file: str, format_: str, schema: Struct, skipped: int) -> Iterator[pa.RecordBatch]:
    """The rows of a file behind the first ones, in batches of the columns that the record names. GhcmError where it
    lacks one, or is no such file."""
    try:
        with open_table(path, format_) as (found, batches):
            for batch in batches(_chosen(found, file, schema)):
                if skipped < batch.num_rows:
                    yield batch.slice(skipped) if skipped else batch
                skipped = max(0, skipped - batch.num_rows)
    except pa.ArrowInvalid as error:
        other = "arrow" if format_ == "parquet" else "parquet"
        raise GhcmError(
            f'"{file}" is no {format_} file that can be read',
            code="GHCM-736",
            detail=f"{error}.",
            hint=f"see that it is whole; if it is of another format, say so: format = {other}.",
        ) from error


@contextmanager
def open_table(
    path: Path, format_: str
) -> Generator[tuple[pa.Schema, Callable[[list[str]], Iterator[pa.RecordBatch]]]]:
    """The schema of a Parquet or Arrow file, and what gives these columns of its rows in batches. `pa.ArrowInvalid`
    where it is no such file.
    """
    if format_ == "parquet":
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as opened:
            reading: Any = opened
            yield opened.schema_arrow, lambda names: reading.iter_batches(_ROWS, columns=names, use_threads=False)
        return
    with pa.memory_map(str(path)) as mapped:
        if mapped.read(6) == b"ARROW1":
            reader: Any = ipc.open_file(mapped)
            batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
        else:
            mapped.seek(0)
            reader = ipc.open_stream(mapped)
            batches = iter(reader)
        yield reader.schema, lambda names: _narrowed(batches, names)


def _narrowed(batches: Iterator[Any], names: list[str]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        chosen = batch.select(names)
        yield from (chosen.slice(start, _ROWS) for start in range(0, chosen.num_rows, _ROWS))


def _chosen(found: pa.Schema, file: str, schema: Struct) -> list[str]:
    """The columns of the file that hold fields of the record, in the file's order."""
    names = list(_paths("", list(found)))
    column_indices(file, names, schema)
    wanted = {field.path or field.name for field in schema.fields}
    return [name for name in found.names if name in wanted or any(path.startswith(f"{name}.") for path in wanted)]


def _paths(before: str, fields: list[Any]) -> Iterator[str]:
    for field in fields:
        yield before + field.name
        if pa.types.is_struct(field.type):
            yield from _paths(f"{before}{field.name}.", list(field.type))


class Tables:
    """Rows of one file after the other into records. `offset` and `number`: rows used so far."""

    def __init__(self, schema: Struct, file: str, partition: str, *, number: int = 0) -> None:
        self.offset = self.number = number
        self._check = union_check(schema)
        self._schema = schema
        self._file = file
        self._partition = partition
        self._tags = dict(schema.cases)
        self._readers = [(field.name, field.path or field.name, from_json_field(field.type)) for field in schema.fields]

    def add(self, data: pa.RecordBatch, letters: Letters) -> Batch:
        """The records of a batch of rows."""
        first, self.number = self.number + 1, self.number + data.num_rows
        self.offset = self.number
        looked_at = self._check is not None or self._tags
        columns = [None] if looked_at else [_plain_column(data, field) for field in self._schema.fields]
        if all(column is not None for column in columns):
            frame = pl.DataFrame([column for column in columns if column is not None])
            return Batch.from_frame(self._schema, frame, partition=self._partition)
        rows: list[Row] = []
        for number in range(data.num_rows):
            text = ""
            try:
                record = cast("dict[str, Json]", _said(data.slice(number, 1).to_pylist()[0]))
                text = json.dumps(_spelt(record), ensure_ascii=False, separators=(",", ":"))
                rows.append(self._record(record))
            except (ValueError, OverflowError) as error:
                letters(BadRecord, f"{self._file}:{first + number}: {error}", text)
        return Batch.from_rows(self._schema, rows, partition=self._partition)

    def _record(self, record: dict[str, Json]) -> Row:
        row: list[object] = []
        for name, path, read in self._readers:
            if name in self._tags and row[0] not in self._tags[name]:  # a field of another record of the union
                row.append(None)
                continue
            try:
                found = record.get(path, MISSING)
                row.append(read(found if found is not MISSING else look_up(record, path)))
            except ValueError as error:
                raise ValueError(f'field "{name}": {error}') from None
        made = tuple(row)
        if self._check is not None:
            self._check(made)
        return made


def _plain_column(data: Any, field: Field) -> pl.Series | None:
    """The column of a field whose values are those of the record as they are; None where they have to be looked at."""
    name = field.path or field.name
    if name not in data.schema.names:
        return (
            None
            if "." in name
            else pl.repeat(None, data.num_rows, dtype=dtype(field.type), eager=True).alias(field.name)
        )
    column: Any = data.column(name)
    if (column.null_count and not is_nullable(field.type)) or not _is_exact(column.type, field):
        return None
    values = pl.Series(field.name, column).cast(dtype(field.type))
    match strip(field.type):
        case Timestamp():
            return values if _within(values.to_physical(), _MOMENTS) else None
        case Date():
            return values if _within(values.to_physical(), _DAYS) else None
        case Enumeration(values=allowed):
            return values if values.drop_nulls().is_in(list(allowed)).all() else None
        case _:  # of the other types every value is one
            return values


def _within(values: pl.Series, limits: tuple[int, int]) -> bool:
    least, greatest = values.min(), values.max()
    return least is None or (cast("int", least) >= limits[0] and cast("int", greatest) <= limits[1])


def _is_exact(found: Any, field: Field) -> bool:
    """Whether every value of the Arrow type is one of the field's."""
    types = pa.types
    match strip(field.type):
        case Int():
            return bool(types.is_integer(found) and not types.is_uint64(found))
        case Int32():
            return found in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16())
        case Float():
            return found in (pa.float32(), pa.float64())
        case String() | Enumeration():
            return found in (pa.string(), pa.large_string())
        case Bool():
            return bool(types.is_boolean(found))
        case Bytes():
            return found in (pa.binary(), pa.large_binary())
        case Timestamp():
            return bool(types.is_timestamp(found) and found.unit == "us")
        case Date():
            return bool(types.is_date32(found))
        case _:  # the other types are read value by value
            return False


def _said(value: Any) -> Json:
    """A value as JSON says it; a NaN stays what it is."""
    match value:
        case dict():
            return {str(name): _said(part) for name, part in cast("dict[object, object]", value).items()}
        case list() | tuple():
            return [_said(part) for part in cast("list[object]", value)]
        case bytes():
            return base64.b64encode(value).decode()
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case decimal.Decimal():
            return decimal_text(value)
        case float() if math.isfinite(value):
            return WrittenFloat(repr(value))  # as the JSON object of the same content would be read
        case _:  # what JSON says as it is
            return cast("Json", value)


def _spelt(value: Json) -> Json:
    """The value with what JSON has no numbers for as text."""
    match value:
        case dict():
            return {name: _spelt(part) for name, part in cast("dict[str, Json]", value).items()}
        case list():
            return [_spelt(part) for part in cast("list[Json]", value)]
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case _:
            return value
