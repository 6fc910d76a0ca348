"""Frames into Arrow tables as they stand in Parquet, and what other programs have written into frames."""

from __future__ import annotations

from typing import Any, cast

import polars as pl
import pyarrow as pa

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import dtype, values
from ghcm.schemas.arrow import arrow_type
from ghcm.types import List, Map, Struct, Type, is_nullable, strip


def to_arrow(frame: pl.DataFrame, columns: Struct) -> pa.Table:
    """The columns of the frame as an Arrow table."""
    arrays = [_to_array(frame[field.name], field.type) for field in columns.fields]
    return pa.table(arrays, schema=pa.schema([(field.name, arrow_type(field.type)) for field in columns.fields]))


def conform(table: pa.Table, columns: Struct, source: str) -> pl.DataFrame:
    """A table that someone wrote as a frame of exactly these columns: a missing nullable one is null, numbers widen.
    GhcmError where a column is missing or holds what does not fit.
    """
    series: list[pl.Series] = []
    for field in columns.fields:
        if field.name in table.column_names:
            column = table.column(field.name)
        elif is_nullable(field.type):
            column = pa.chunked_array([pa.nulls(table.num_rows)])
        else:
            raise _unfit(source, field.name, f"It has the columns {', '.join(table.column_names)}.", "has no column")
        if column.null_count and not is_nullable(field.type):
            raise _unfit(
                source, field.name, f'"{field.name}" is {field.type}, not {field.type}?.', "has nulls in column"
            )
        try:
            plain = column.cast(arrow_type(field.type, maps=False))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise _unfit(source, field.name, str(error), f"holds no {field.type} in column") from error
        column_series = cast("pl.Series", pl.from_arrow(plain))  # pyright: ignore[reportUnknownMemberType]
        series.append(column_series.cast(dtype(field.type)).alias(field.name))
    return pl.DataFrame(series)


def _to_array(series: pl.Series, type_: Type) -> pa.Array[Any]:
    if _has_map(type_):  # Arrow casts maps to lists, but not back
        return pa.array([_plain(value, type_) for value in values(series, type_)], arrow_type(type_))
    return series.to_arrow().cast(arrow_type(type_))


def _has_map(type_: Type) -> bool:
    match strip(type_):
        case Map():
            return True
        case List(item=item):
            return _has_map(item)
        case Struct(fields=fields):
            return any(_has_map(field.type) for field in fields)
        case _:  # a type that holds no others
            return False


def _plain(value: object, type_: Type) -> object:
    """A canonical value as pyarrow takes it."""
    if value is None:
        return None
    match strip(type_):
        case Map(key=key, value=held):
            pairs = cast("dict[object, object]", value).items()
            return [(_plain(name, key), _plain(part, held)) for name, part in pairs]
        case List(item=item):
            return [_plain(part, item) for part in cast("list[object]", value)]
        case Struct(fields=fields):
            parts = cast("tuple[object, ...]", value)
            return {field.name: _plain(part, field.type) for field, part in zip(fields, parts, strict=True)}
        case _:  # a type that holds no others
            return value


def _unfit(source: str, column: str, detail: str, what: str) -> GhcmError:
    return GhcmError(f'"{source}" {what} "{column}"', code="GHCM-733", detail=detail)
