"""Parquet and Arrow files: batches of rows, read by the columns that the record names.

A row is read as the JSON object of the same content would be.
"""

import base64
import decimal
import json
import math
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from typing import Any, TypeAlias, cast

import pyarrow as pa

from ghcm.errors import GhcmError, sentence
from ghcm.formats.records import Row, column_indices
from ghcm.places import Place, Remote, readable
from ghcm.types import Struct
from ghcm.values import Json, WrittenFloat
from ghcm.values.decimals import decimal_text

Batches: TypeAlias = Callable[[list[str], int], Iterator[pa.RecordBatch]]

_ROWS = 16_384
_BYTES = 4 << 20
"""Of columns as they lie in memory: what is done per batch costs less of each row where batches are large."""
_MOST = 8


def read_tables(path: Place, file: str, format_: str, schema: Struct, skipped: int) -> Iterator[pa.RecordBatch]:
    """The rows of a file behind the first ones, in batches of the columns that the record names. GhcmError where it
    lacks one, or is no such file."""
    with _refusing(file, format_), open_table(path, format_) as (found, batches):
        yield from batches(_chosen(found, file, schema), skipped)


def read_footer(path: Place, file: str, schema: Struct) -> tuple[Any, dict[str, Any]]:
    """What the footer of a Parquet file says, and the types of the columns that hold fields of the record. GhcmError
    as `read_tables`.
    """
    import pyarrow.parquet as pq

    with _refusing(file, "parquet"), pq.ParquetFile(readable(path), coerce_int96_timestamp_unit="us") as opened:
        found: Any = opened.schema_arrow
        return opened.metadata, {name: found.field(name).type for name in _chosen(found, file, schema)}


@contextmanager
def _refusing(file: str, format_: str) -> Generator[None]:
    try:
        yield
    except pa.ArrowInvalid as error:
        other = "arrow" if format_ == "parquet" else "parquet"
        raise GhcmError(
            f'"{file}" is no {format_} file that can be read',
            code="GHCM-736",
            detail=sentence(error),
            hint=f"see that it is whole; if it is of another format, say so: format = {other}.",
        ) from error


@contextmanager
def open_table(path: Place, format_: str) -> Generator[tuple[pa.Schema, Batches]]:
    """The schema of a Parquet or Arrow file, and what gives these columns of its rows behind the first ones in batches.
    `pa.ArrowInvalid` where it is no such file.
    """
    if format_ == "parquet":
        import pyarrow.parquet as pq

        with pq.ParquetFile(readable(path), coerce_int96_timestamp_unit="us") as opened:
            yield opened.schema_arrow, lambda names, skipped: _of_groups(opened, names, skipped)
        return
    from pyarrow import ipc

    with path.raw() if isinstance(path, Remote) else pa.memory_map(str(path)) as mapped:
        if mapped.read(6) == b"ARROW1":
            reader: Any = ipc.open_file(mapped)
            batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
        else:
            mapped.seek(0)
            reader = ipc.open_stream(mapped)
            batches = iter(reader)
        yield reader.schema, lambda names, skipped: _behind(_narrowed(batches, names), skipped)


def _of_groups(file: Any, names: list[str], skipped: int) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file, of which row groups that are skipped as a whole are not read."""
    metadata, first = file.metadata, 0
    while first < metadata.num_row_groups and metadata.row_group(first).num_rows <= skipped:
        skipped -= metadata.row_group(first).num_rows
        first += 1
    groups = range(first, metadata.num_row_groups)
    batches = file.iter_batches(_rows(file, names), row_groups=list(groups), columns=names, use_threads=False)
    yield from _behind(batches, skipped) if groups else ()


def _behind(batches: Iterator[pa.RecordBatch], skipped: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if skipped < batch.num_rows:
            yield batch.slice(skipped) if skipped else batch
        skipped = max(0, skipped - batch.num_rows)


def _rows(file: Any, names: list[str]) -> int:
    """How many rows of these columns of a Parquet file make a batch."""
    metadata = file.metadata
    if not metadata.num_rows:
        return _ROWS
    group = metadata.row_group(0)
    rows: int = group.num_rows
    columns = (group.column(number) for number in range(group.num_columns))
    size: int = sum(each.total_uncompressed_size for each in columns if each.path_in_schema.split(".")[0] in names)
    of_one: int = max(8 * len(names), size // max(1, rows), 1)
    return max(_ROWS, min(_MOST * _ROWS, _BYTES // of_one))


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


def table_rows(
    data: pa.RecordBatch, read: Callable[[dict[str, Json]], Row]
) -> Iterator[tuple[Row | None, str | None, str | None]]:
    """Each row as a record, or its JSON and why it is none."""
    batch: Any = data
    rows: list[dict[str, Any]] | None
    try:
        rows = batch.to_pylist()
    except (ValueError, OverflowError):  # those that Python cannot hold fail alone
        rows = None
    for number in range(data.num_rows):
        try:
            record = said(batch.slice(number, 1).to_pylist()[0] if rows is None else rows[number])
        except (ValueError, OverflowError) as error:
            yield None, "", str(error)
        else:
            yield read_row(cast("dict[str, Json]", record), read)


def read_row(
    record: dict[str, Json], read: Callable[[dict[str, Json]], Row]
) -> tuple[Row | None, str | None, str | None]:
    """A row as a record, or its JSON and why it is none."""
    try:
        return read(record), None, None
    except (ValueError, OverflowError) as error:
        return None, json.dumps(_spelt(record), ensure_ascii=False, separators=(",", ":")), str(error)


def said(value: Any) -> Json:
    """A value as JSON says it; a NaN stays what it is."""
    match value:
        case dict():
            return {str(name): said(part) for name, part in cast("dict[object, object]", value).items()}
        case list() | tuple():
            return [said(part) for part in cast("list[object]", value)]
        case bytes():
            return base64.b64encode(value).decode()
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case decimal.Decimal():
            return decimal_text(value)
        case float():
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
