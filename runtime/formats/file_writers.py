"""Writers of the files of tables: rows and frames into Parquet, JSON lines and CSV."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import polars as pl
import pyarrow as pa

from ghcm.runtime.data.columns import Row, columns_of
from ghcm.runtime.formats.lines import encoder, header
from ghcm.runtime.formats.tables import to_arrow
from ghcm.spg.connectors import Files, Format, Parquet
from ghcm.types import Struct, Type

_GROUP_ROWS, _GROUP_SIZE = 64 * 1024, 32 << 20


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
    """Puts what comes together to row groups, which take less time and room the larger they are."""

    def __init__(self, path: Path, columns: Struct) -> None:
        self._columns = columns
        schema: Any = to_arrow(columns_of([], _types(columns)), columns, stored=True).schema
        import pyarrow.parquet as pq  # large, and few programs need it

        texts = [path for field in schema for path in _texts(field.name, field.type)]
        self._file = pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=cast("Any", texts))
        self._rows: list[Row] = []
        self._frames: list[pl.DataFrame] = []
        self._count = self._size = 0

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        if isinstance(rows, pl.DataFrame):
            self._end_rows()
            self._keep(rows)
        else:
            self._rows.extend(rows)
        if self._count + len(self._rows) >= _GROUP_ROWS or self._size >= _GROUP_SIZE:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._file.close()

    def _keep(self, frame: pl.DataFrame) -> None:
        self._frames.append(frame)
        self._count += frame.height
        self._size += int(frame.estimated_size())

    def _end_rows(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            self._keep(columns_of(rows, _types(self._columns)))

    def _flush(self) -> None:
        self._end_rows()
        frames, self._frames, count, self._count, self._size = self._frames, [], self._count, 0, 0
        if count:  # what fails is not tried again when the file is closed
            arrow: Any = pa
            self._file.write_table(arrow.concat_tables([to_arrow(each, self._columns, stored=True) for each in frames]))


def _texts(path: str, type_: Any) -> Iterator[str]:
    """The columns of texts and bytes of a field, by their paths: others take longer to look up than to write."""
    if pa.types.is_struct(type_):
        for part in cast("Any", type_):
            yield from _texts(f"{path}.{part.name}", part.type)
    elif pa.types.is_map(type_):
        yield from _texts(f"{path}.key_value.key", type_.key_type)
        yield from _texts(f"{path}.key_value.value", type_.item_type)
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        yield from _texts(f"{path}.list.element", type_.value_type)
    elif pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_binary(type_):
        yield path


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
