"""Writers of the files of tables: rows and frames into Parquet, JSON lines and CSV."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TextIO

import polars as pl
import pyarrow.parquet as pq

from ghcm.runtime.data.columns import Row, columns_of, rows_of
from ghcm.runtime.formats.tables import to_arrow
from ghcm.spg.connectors import Files, Parquet
from ghcm.types import Struct, Type
from ghcm.values import cell_writer, compact, own_writer

_GROUP_ROWS = 64 * 1024


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
    return ".parquet" if isinstance(connector, Parquet) else f".{connector.format.name}"


def open_file(path: Path, connector: Files | Parquet, columns: Struct) -> FileWriter:
    """A writer for a new file."""
    if isinstance(connector, Parquet):
        return _ParquetWriter(path, columns)
    if connector.format.name == "csv":
        return _CsvWriter(path, columns, connector.format.separator)
    return _JsonWriter(path, columns)


def _types(columns: Struct) -> list[tuple[str, Type]]:
    return [(field.name, field.type) for field in columns.fields]


def _as_rows(rows: Sequence[Row] | pl.DataFrame, columns: Struct) -> Sequence[Row]:
    return rows_of(rows, _types(columns)) if isinstance(rows, pl.DataFrame) else rows


class _ParquetWriter:
    def __init__(self, path: Path, columns: Struct) -> None:
        self._columns = columns
        schema = to_arrow(columns_of([], _types(columns)), columns, stored=True).schema
        self._file = pq.ParquetWriter(path, schema, compression="zstd")
        self._rows: list[Row] = []

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        if isinstance(rows, pl.DataFrame):
            self._flush()
            self._file.write_table(to_arrow(rows, self._columns, stored=True))
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
            self._file.write_table(to_arrow(columns_of(rows, _types(self._columns)), self._columns, stored=True))


class _JsonWriter:
    def __init__(self, path: Path, columns: Struct) -> None:
        self._columns = columns
        self._file = _open_text(path)
        self._to_json = own_writer(columns)

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self._file.writelines(f"{compact(self._to_json(row))}\n" for row in _as_rows(rows, self._columns))

    def close(self) -> None:
        self._file.close()


class _CsvWriter:
    def __init__(self, path: Path, columns: Struct, separator: str) -> None:
        self._columns = columns
        self._file = _open_text(path)
        self._separator = separator
        self._special = re.compile(f'[{re.escape(separator)}"\\r\\n]')
        self._writers = [cell_writer(field.type) for field in columns.fields]
        self._write_line(columns.names)

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        for row in _as_rows(rows, self._columns):
            self._write_line([write(value) for write, value in zip(self._writers, row, strict=True)])

    def _write_line(self, fields: Sequence[str | None]) -> None:
        # The csv module leaves a lone carriage return unquoted, and RFC 4180 is short. Nothing stands for null, quotes
        # around nothing for an empty text: this reader takes both for null, others tell them apart.
        line = self._separator.join("" if text is None else self._cell(text) for text in fields)
        self._file.write(f"{line or _quoted(line)}\n")  # an empty line would be no record

    def _cell(self, text: str) -> str:
        return text if text and not self._special.search(text) else _quoted(text)

    def close(self) -> None:
        self._file.close()


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _open_text(path: Path) -> TextIO:
    return open(path, "w", encoding="utf-8", newline="", buffering=1 << 18)
