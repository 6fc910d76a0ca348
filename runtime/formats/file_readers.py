"""Readers of the files of tables, also foreign ones: Parquet, JSON lines and CSV into rows."""

import csv
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import polars as pl
import pyarrow as pa

from ghcm.errors import GhcmError
from ghcm.formats.csv_records import csv_records, with_quoted
from ghcm.formats.fields import from_text_field
from ghcm.formats.files import bare, open_lines
from ghcm.formats.records import json_parser, object_reader
from ghcm.places import Place, readable
from ghcm.runtime.data.columns import Row, columns_of, rows_of
from ghcm.runtime.formats.tables import conform
from ghcm.spg.connectors import Files, Parquet
from ghcm.tables.reading import divided_values
from ghcm.types import Struct
from ghcm.values import has_decimal

_BATCH_ROWS = 8 * 1024


_NONE: Mapping[str, Any] = {}


def read_file(
    path: Place, connector: Files | Parquet, columns: Struct, values: Mapping[str, Any] = _NONE
) -> Iterator[Row]:
    """The rows of a file, in order. Fields that are not among the columns are passed over. GhcmError says which value
    does not fit. `values`: those of columns that the file lacks, as the log of its table has them.
    """
    if isinstance(connector, Parquet):
        return _read_parquet(path, columns, values)
    if connector.format.name == "csv":
        return _read_csv(path, columns, connector.format.separator)
    return _read_json_lines(path, columns)


def read_frame(
    path: Place, connector: Files | Parquet, columns: Struct, values: Mapping[str, Any] = _NONE
) -> pl.DataFrame:
    """The rows of a file as one frame, as `read_file` gives them."""
    types = [(field.name, field.type) for field in columns.fields]
    if not isinstance(connector, Parquet):
        return columns_of(list(read_file(path, connector, columns)), types)
    frames = list(_parquet_frames(path, columns, values))
    return pl.concat(frames, rechunk=False) if frames else columns_of((), types)


def _read_parquet(path: Place, columns: Struct, values: Mapping[str, Any]) -> Iterator[Row]:
    for frame in _parquet_frames(path, columns, values):
        yield from rows_of(frame, [(field.name, field.type) for field in columns.fields])


def _parquet_frames(path: Place, columns: Struct, values: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
    fixed, arrow = divided_values(columns, values), cast("Any", pa)
    try:
        import pyarrow.parquet as pq  # large, and few programs need it

        with pq.ParquetFile(readable(path), coerce_int96_timestamp_unit="us") as file:
            there = [name for name in file.schema_arrow.names if name not in fixed]
            present = [name for name in columns.names if name in there] or there[:1]
            batches = file.iter_batches(_BATCH_ROWS, columns=present)  # pyright: ignore[reportUnknownMemberType]
            for batch in batches:
                rows: Any = pa.Table.from_batches([batch])
                for name, value in fixed.items():
                    rows = rows.append_column(name, arrow.repeat(value, batch.num_rows))
                yield conform(rows, columns, str(path))
    except pa.ArrowInvalid as error:
        raise GhcmError(f'"{path}" is no Parquet file that can be read', code="GHCM-733", detail=str(error)) from error


def _read_json_lines(path: Place, columns: Struct) -> Iterator[Row]:
    parse, read = json_parser(written=has_decimal(columns), own=True), object_reader(columns, own=True)
    number = 0
    with open_lines(path, "ending") as lines:
        try:
            for line in lines:
                number += 1
                if text := bare(line).strip():
                    yield read(parse(text))
        except ValueError as error:
            raise _unfit(path, number, error) from error


def _read_csv(path: Place, columns: Struct, separator: str) -> Iterator[Row]:
    number, width = 1, 0
    fields: list[tuple[int, Callable[[str], object]]] = []
    with open_lines(path, "ending") as lines:
        try:
            for cells, raw, count in csv_records(lines, separator, strict=True):
                if isinstance(cells, csv.Error):
                    raise _unfit(path, number, cells) from cells
                if not fields:
                    if missing := [name for name in columns.names if name not in cells]:
                        raise ValueError(f'the header has no "{missing[0]}"')
                    width = len(cells)
                    fields = [(cells.index(each.name), from_text_field(each.type, own=True)) for each in columns.fields]
                elif len(cells) != width:
                    raise ValueError(f"{len(cells)} fields, the header has {width}")
                else:
                    found = with_quoted(cells, raw.decode(), separator) if width > 1 and b'""' in raw else cells
                    yield tuple([read(found[index]) for index, read in fields])
                number += count
        except ValueError as error:
            raise _unfit(path, number, error) from error


def _unfit(path: Place, number: int, error: Exception) -> GhcmError:
    """A line whose value does not fit."""
    message = f'"{path}", line {number} does not fit the sink\'s record'
    return GhcmError(message, code="GHCM-733", detail=str(error))
