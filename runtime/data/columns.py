"""The two forms of the native engine's data, converted into each other: canonical values and Polars columns.

Exact for nulls, nested values, extremes and no rows at all. It checks nothing: a value that does not fit its type is
a bug of its maker.
"""

import decimal
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeAlias, assert_never, cast

import polars as pl
import pyarrow as pa

from ghcm import types
from ghcm.runtime.data.arrow import of_arrow

Row: TypeAlias = tuple[object, ...]
"""The values of the columns in order; two ints `time` and `watermark` behind them where the collection is timed."""


def dtype(type_: types.Type) -> pl.DataType:
    """The Polars type that holds values of a type; a map is a list of structs `{key, value}`."""
    match type_:
        case types.Nullable(of=of):
            return dtype(of)
        case types.List(item=item):
            return pl.List(dtype(item))
        case types.Map(key=key, value=value):
            return pl.List(pl.Struct({"key": dtype(key), "value": dtype(value)}))
        case types.Struct(fields=fields):
            return pl.Struct({field.name: dtype(field.type) for field in fields})
        case types.Decimal(precision=precision, scale=scale):
            return pl.Decimal(precision, scale)
        case types.Scalar() | types.Enumeration():
            return _SCALARS[type(type_)]
        case _:
            assert_never(type_)


_SCALARS: dict[type[types.Type], pl.DataType] = {
    types.Bool: pl.Boolean(),
    types.Int: pl.Int64(),
    types.Int32: pl.Int32(),
    types.Float: pl.Float64(),
    types.String: pl.String(),
    types.Enumeration: pl.String(),
    types.Bytes: pl.Binary(),
    types.Timestamp: pl.Datetime("us", "UTC"),
    types.Date: pl.Date(),
    types.Duration: pl.Duration("us"),
    types.Null: pl.Null(),
}


def series(name: str, values: Sequence[object], type_: types.Type) -> pl.Series:
    """A column of canonical values."""
    plain = types.strip(type_)
    match plain:
        case types.Struct(fields=fields) if fields:
            return _structs(name, values, plain)
        case types.List(item=item):
            return _lists(name, values, item)
        case types.Map(key=key, value=value):
            maps = cast("Sequence[dict[object, object] | None]", values)
            return _lists(
                name, [None if each is None else list(each.items()) for each in maps], types.pair_of(key, value)
            )
        case types.Timestamp() | types.Duration():
            return pl.Series(name, values, dtype=pl.Int64).cast(dtype(plain))
        case types.Date():
            return pl.Series(name, values, dtype=pl.Int32).cast(pl.Date)
        case types.Struct():
            return pl.Series(name, [None if each is None else {} for each in values], dtype=pl.Struct({}))
        case _:  # Polars takes canonical values of the rest
            return pl.Series(name, values, dtype=dtype(plain))


def values(column: pl.Series, type_: types.Type) -> list[object]:
    """The canonical values of a column."""
    plain = types.strip(type_)
    match plain:
        case types.Struct(fields=fields) if fields:
            present = column.is_not_null()
            parts = [values(column.struct.field(field.name), field.type) for field in fields]
            rows: list[object] = list(zip(*parts, strict=True))
            return rows if present.all() else [row if is_ else None for row, is_ in zip(rows, present, strict=True)]
        case types.List(item=item):
            return _items(column, item)
        case types.Map(key=key, value=value):
            pairs = cast("list[list[tuple[object, object]] | None]", _items(column, types.pair_of(key, value)))
            return [None if each is None else dict(each) for each in pairs]
        case types.Timestamp() | types.Duration():
            return column.cast(pl.Int64).to_list()
        case types.Date():
            return column.cast(pl.Int32).to_list()
        case types.Decimal():
            return [None if each is None else _decimal(each) for each in column.to_list()]
        case types.Struct():
            return [None if each is None else () for each in column.to_list()]
        case _:  # Polars gives canonical values of the rest
            return column.to_list()


def columns_of(rows: Sequence[Row], schema: Sequence[tuple[str, types.Type]]) -> pl.DataFrame:
    """A frame of rows."""
    if not rows:
        return pl.DataFrame({name: series(name, (), type_) for name, type_ in schema})
    columns = zip(*rows, strict=True) if schema else ()
    return pl.DataFrame([series(name, column, type_) for (name, type_), column in zip(schema, columns, strict=True)])


def rows_of(frame: pl.DataFrame, schema: Sequence[tuple[str, types.Type]]) -> list[Row]:
    """The rows of a frame that has at least these columns."""
    return list(zip(*(values(frame[name], type_) for name, type_ in schema), strict=True))


def in_columns(make: Callable[[], pl.DataFrame | None]) -> pl.DataFrame | None:
    """The frame, or None where a record failed or Polars gave up: then the batch is done by rows."""
    try:
        return make()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


_CONVERTED = types.Struct | types.List | types.Map | types.Timestamp | types.Duration | types.Date
"""Types whose canonical values Polars does not take as items of a list."""


def _decimal(value: object) -> object:
    return value if isinstance(value, decimal.Decimal) else decimal.Decimal(str(value))


def _structs(name: str, values: Sequence[object], type_: types.Struct) -> pl.Series:
    hollow = (None,) * len(type_.fields)
    missing = [each is None for each in values]
    filled = [hollow if each is None else each for each in values]
    parts = zip(*filled, strict=True) if filled else (() for _ in type_.fields)
    columns = [series(field.name, part, field.type) for field, part in zip(type_.fields, parts, strict=True)]
    whole = pl.DataFrame(columns).to_struct(name)
    if not any(missing):
        return whole
    mask = pl.Series(missing)
    return pl.select(pl.when(mask).then(None).otherwise(whole).alias(name)).to_series()


def _lists(name: str, values: Sequence[object], item: types.Type) -> pl.Series:
    if isinstance(types.strip(item), types.Null | types.Decimal):
        return pl.Series(name, values, dtype=pl.List(dtype(item)))
    lists = cast("Sequence[list[object] | None]", values)
    flat = series("", list(chain.from_iterable(each for each in lists if each is not None)), item)
    offsets: list[int | None] = []
    end = 0
    for each in lists:
        offsets.append(None if each is None else end)
        end += 0 if each is None else len(each)
    arrow: Any = pa
    array = arrow.LargeListArray.from_arrays(arrow.array([*offsets, end], arrow.int64()), flat.to_arrow())
    return of_arrow(array, name).cast(pl.List(dtype(item)))


def _items(column: pl.Series, item: types.Type) -> list[object]:
    if not isinstance(types.strip(item), _CONVERTED | types.Decimal):
        return column.to_list()
    lengths = column.list.len().to_list()
    inner = column.filter(column.list.len().fill_null(0) > 0).explode()
    flat, start = values(inner, item), 0
    result: list[object] = []
    for length in lengths:
        result.append(None if length is None else flat[start : start + length])
        start += length or 0
    return result
