"""Writers of the files of tables: rows and frames into Parquet, JSON lines and CSV."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import polars as pl

from ghcm.runtime.data.columns import Row, columns_of
from ghcm.runtime.formats.lines import encoder, header
from ghcm.runtime.formats.tables import to_arrow
from ghcm.spg.connectors import Files, Format, Parquet
from ghcm.types import Struct, Type

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
    return _LinesWriter(path, columns, connector.format)


def _types(columns: Struct) -> list[tuple[str, Type]]:
    return [(field.name, field.type) for field in columns.fields]


class _ParquetWriter:
    def __init__(self, path: Path, columns: Struct) -> None:
        self._columns = columns
        schema = to_arrow(columns_of([], _types(columns)), columns, stored=True).schema
        import pyarrow.parquet as pq  # large, and few programs need it

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


class _LinesWriter:
    def __init__(self, path: Path, columns: Struct, format_: Format) -> None:
        self._file = path.open("w", encoding="utf-8", newline="", buffering=1 << 18)
        self._encode = encoder(format_, columns)
        if format_.name == "csv":
            self._file.write(f"{header(columns, format_.separator)}\n")

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        if len(rows):
            self._file.write(self._encode(rows).str.join("\n").item() + "\n")

    def close(self) -> None:
        self._file.close()
