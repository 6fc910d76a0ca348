"""Parquet files in slices of rows, which threads read beside each other, by Polars where all columns are plain.

A slice that Polars refuses, or whose values are not all those of the record, is left to Arrow (`ghcm.formats.tables`),
which reads all other files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from ghcm import types
from ghcm.formats.records import union_check
from ghcm.formats.tables import read_footer, read_tables
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import dtype, in_columns
from ghcm.runtime.formats.chunks import Letters
from ghcm.runtime.formats.tables import Tables, are_all, is_exact
from ghcm.types import Field, Struct, is_nullable, strip

_MOST, _MOST_TEXTS, _LEAST, _BYTES = 524_288, 131_072, 16_384, 8 << 20
"""Rows of a slice, at most, at most where some hold texts (which take more room in memory than in the file) and at
least, and about how many bytes it has: the fewer there are, the less is done that any of them needs.
"""
_OVER = 2
"""A row group with so many times as many is not cut."""
_DTYPES: dict[type[types.Type], tuple[Any, ...]] = {
    types.Int: (pl.Int64, pl.Int32, pl.Int16, pl.Int8, pl.UInt32, pl.UInt16, pl.UInt8),
    types.Int32: (pl.Int32, pl.Int16, pl.Int8, pl.UInt16, pl.UInt8),
    types.Float: (pl.Float64, pl.Float32),
    types.String: (pl.String,),
    types.Enumeration: (pl.String,),
    types.Bool: (pl.Boolean,),
    types.Bytes: (pl.Binary,),
    types.Timestamp: (pl.Datetime,),
    types.Date: (pl.Date,),
}
"""As what Polars reads the types whose values it has as they are."""

_TEXTS = types.String | types.Bytes | types.Enumeration


@dataclass(frozen=True, slots=True)
class ParquetSlices:
    """The rows of a file of this machine. `names`: its columns that hold fields of the record."""

    path: Path
    file: str
    schema: Struct
    names: Sequence[str]
    metadata: Any

    @classmethod
    def of(cls, path: Path, file: str, schema: Struct) -> ParquetSlices | None:
        """None where a column is of another type. GhcmError as `read_tables`."""
        fields = schema.fields
        if schema.cases or union_check(schema) is not None or any("." in (each.path or each.name) for each in fields):
            return None
        if any(type(strip(each.type)) not in _DTYPES for each in fields):
            return None
        metadata, found = read_footer(path, file, schema)
        exact = (is_exact(found[name], each.type) for each in fields if (name := each.path or each.name) in found)
        return cls(path, file, schema, list(found), metadata) if found and all(exact) else None

    def slices(self, skipped: int) -> Iterator[tuple[int, int]]:
        """The first row of each and the one behind it, behind so many rows. Whole row groups wherever these are not too
        large: what is read of a group in two parts is decompressed twice.
        """
        texts = any(isinstance(strip(each.type), _TEXTS) for each in self.schema.fields)
        begin, end = skipped, 0
        for number in range(self.metadata.num_row_groups):
            group = self.metadata.row_group(number)
            rows, most = group.num_rows, self._most(group, _MOST_TEXTS if texts else _MOST)
            if begin < end and end + rows - begin > most:
                yield begin, end
                begin = end
            end += rows
            if end - begin > _OVER * most:
                parts = -(-(end - begin) // most)
                cuts = [begin + (end - begin) * part // parts for part in range(parts + 1)]
                yield from pairwise(cuts)
                begin = end
        if begin < end:
            yield begin, end

    def _most(self, group: Any, most: int) -> int:
        """How many rows of a row group a slice should have."""
        columns = (group.column(number) for number in range(group.num_columns))
        size = sum(each.total_uncompressed_size for each in columns if each.path_in_schema in self.names)
        of_one: int = max(8 * len(self.names), size // max(1, group.num_rows))
        return max(_LEAST, min(most, _BYTES // of_one))

    def read(self, start: int, stop: int, partition: str, letters: Letters) -> Batch:
        """The records of some rows."""
        frame = in_columns(partial(self._plain, start, stop))
        if frame is not None:
            return Batch.from_frame(self.schema, frame, partition=partition)
        return self._by_arrow(start, stop, partition, letters)

    def _plain(self, start: int, stop: int) -> pl.DataFrame | None:
        """Rows whose values are those of the record; None where some are not."""
        scanned = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
        frame = scanned.select(self.names).slice(start, stop - start).collect()
        columns = [_column(frame, field) for field in self.schema.fields]
        whole = frame.height == stop - start and all(each is not None for each in columns)
        return pl.DataFrame([each for each in columns if each is not None]) if whole else None

    def _by_arrow(self, start: int, stop: int, partition: str, letters: Letters) -> Batch:
        tables = Tables(self.schema, self.file, partition, number=start)
        made: list[Batch] = []
        for data in read_tables(self.path, self.file, "parquet", self.schema, start):
            made.append(tables.add(data.slice(0, stop - tables.number), letters))
            if tables.number >= stop:
                break
        return Batch.concat(made)


def _column(frame: pl.DataFrame, field: Field) -> pl.Series | None:
    """The column of a field; None where Polars has it otherwise than the record, or with other values."""
    name, wanted = field.path or field.name, dtype(field.type)
    if name not in frame.columns:
        return pl.repeat(None, frame.height, dtype=wanted, eager=True).alias(field.name)
    found = frame[name]
    micros = not isinstance(found.dtype, pl.Datetime) or found.dtype.time_unit == "us"
    if not micros or found.dtype not in _DTYPES[type(strip(field.type))]:
        return None
    if found.null_count() and not is_nullable(field.type):
        return None
    plain = found.to_physical() if isinstance(found.dtype, pl.Datetime) else found  # whatever its zone
    values = plain.cast(wanted).alias(field.name)
    return values if are_all(values, field.type) else None
