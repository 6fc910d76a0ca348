"""Arrow tables: rows of files into records, frames as they stand in Parquet, and what other programs have written into
frames.

Where the types of a batch are those of the record anyway, its columns are taken as they are.
"""

from __future__ import annotations

from typing import Any, cast

import polars as pl
import pyarrow as pa

from ghcm import types
from ghcm.errors import GhcmError
from ghcm.formats.records import object_reader, union_check
from ghcm.formats.tables import table_rows
from ghcm.runtime.data.arrow import of_arrow
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row, dtype, values
from ghcm.runtime.formats.chunks import BadRecord, Letters
from ghcm.schemas.arrow import arrow_type
from ghcm.types import Field, Struct, Type, is_nullable, strip
from ghcm.values.timestamps import FIRST_DAY, FIRST_MICROS, LAST_DAY, LAST_MICROS


class Tables:
    """Rows of one file after the other into records. `offset` and `number`: rows used so far."""

    def __init__(self, schema: Struct, file: str, partition: str, *, number: int = 0) -> None:
        self.offset = self.number = number
        self._schema = schema
        self._looked_at = bool(schema.cases) or union_check(schema) is not None
        self._file = file
        self._partition = partition
        self._read = object_reader(schema)

    def add(self, data: pa.RecordBatch, letters: Letters) -> Batch:
        """The records of a batch of rows."""
        first, self.number = self.number + 1, self.number + data.num_rows
        self.offset = self.number
        columns = [None] if self._looked_at else [_plain_column(data, field) for field in self._schema.fields]
        if all(column is not None for column in columns):
            frame = pl.DataFrame([column for column in columns if column is not None])
            return Batch.from_frame(self._schema, frame, partition=self._partition)
        rows: list[Row] = []
        for number, (row, text, error) in enumerate(table_rows(data, self._read), first):
            if row is None:
                letters(BadRecord, f"{self._file}:{number}: {error}", text or "")
            else:
                rows.append(row)
        return Batch.from_rows(self._schema, rows, partition=self._partition)


def _plain_column(data: Any, field: Field) -> pl.Series | None:
    """The column of a field of which all values are some of the record, as Arrow turns them into its type without loss;
    None where they have to be looked at one by one.
    """
    name = field.path or field.name
    if name not in data.schema.names:
        return (
            None
            if "." in name
            else pl.repeat(None, data.num_rows, dtype=dtype(field.type), eager=True).alias(field.name)
        )
    column: Any = data.column(name)
    if (column.null_count and not is_nullable(field.type)) or not _may_be(column.type, field.type):
        return None
    wanted = arrow_type(field.type, maps=False)
    try:
        plain = column if column.type in (wanted, pa.large_string()) else column.cast(wanted)
        plain.validate(full=True)  # what stands in files as a text need not be one
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # one of them does not fit, or Arrow cannot tell
        return None
    if lacks(plain, field.type):
        return None
    values = of_arrow(plain, field.name).cast(dtype(field.type))
    return values if are_all(values, field.type) else None


def are_all(values: pl.Series, type_: Type) -> bool:
    """Whether what a column holds are values of the type, which has its form."""
    match strip(type_):
        case types.Timestamp():
            return _within(values.to_physical(), (FIRST_MICROS, LAST_MICROS))
        case types.Date():
            return _within(values.to_physical(), (FIRST_DAY, LAST_DAY))
        case types.Enumeration(values=allowed):
            return values.drop_nulls().is_in(list(allowed)).all()
        case types.List(item=item):
            return are_all(values.explode(), item)
        case types.Map(key=key, value=held):
            pairs = values.explode().struct
            keys = values.list.eval(pl.element().struct.field("key")).list
            once = (keys.n_unique() == keys.len()).all()
            return once and are_all(pairs.field("key"), key) and are_all(pairs.field("value"), held)
        case types.Struct(fields=fields):
            return all(are_all(values.struct.field(each.name), each.type) for each in fields)
        case _:  # of the other types every value is one
            return True


def _within(values: pl.Series, limits: tuple[int, int]) -> bool:
    least, greatest = values.min(), values.max()
    return least is None or (cast("int", least) >= limits[0] and cast("int", greatest) <= limits[1])


def is_exact(found: Any, type_: Type) -> bool:
    """Whether every value of the Arrow type is one of the type, but for what `are_all` looks at."""
    match strip(type_):
        case types.Int():
            return bool(pa.types.is_integer(found) and not pa.types.is_uint64(found))
        case types.Int32():
            return found in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16())
        case types.Float():
            return found in (pa.float32(), pa.float64())
        case types.String() | types.Enumeration():
            return found in (pa.string(), pa.large_string())
        case types.Bool():
            return bool(pa.types.is_boolean(found))
        case types.Bytes():
            return found in (pa.binary(), pa.large_binary())
        case types.Timestamp():
            return bool(pa.types.is_timestamp(found) and found.unit == "us")
        case types.Date():
            return bool(pa.types.is_date32(found))
        case types.Duration():
            return bool(found == pa.duration("us"))
        case types.Decimal(precision=precision, scale=scale):
            return bool(found == pa.decimal128(precision, scale))
        case types.List(item=item):
            return bool(pa.types.is_list(found)) and is_exact(found.value_type, item)
        case types.Map(key=key, value=held):
            return bool(pa.types.is_map(found)) and is_exact(found.key_type, key) and is_exact(found.item_type, held)
        case types.Struct(fields=fields) if fields and all(each.path in (None, each.name) for each in fields):
            same = bool(pa.types.is_struct(found)) and [part.name for part in found] == [each.name for each in fields]
            return same and all(is_exact(found.field(each.name).type, each.type) for each in fields)
        case _:  # the other types are read value by value
            return False


def _may_be(found: Any, type_: Type) -> bool:
    """Whether all values of the Arrow type are some of the type, but for those that `are_all` finds, or that Arrow does
    not cast.
    """
    match strip(type_):
        case types.Int() | types.Int32():
            return bool(pa.types.is_integer(found))
        case types.String() | types.Enumeration() if pa.types.is_dictionary(found):
            return is_exact(found.value_type, type_)
        case types.Timestamp():
            return bool(pa.types.is_timestamp(found))
        case types.Decimal():
            return bool(pa.types.is_decimal(found))
        case types.List(item=item):
            return bool(pa.types.is_list(found)) and _may_be(found.value_type, item)
        case _:  # of the others those that are cast are exact
            return is_exact(found, type_)


def to_arrow(frame: pl.DataFrame, columns: Struct, *, stored: bool = False) -> pa.Table:
    """The columns of the frame as an Arrow table; `stored`: of the types that Delta tables hold."""
    arrays = [_to_array(frame[field.name], field.type, stored) for field in columns.fields]
    fields = [(field.name, arrow_type(field.type, stored=stored)) for field in columns.fields]
    return pa.table(arrays, schema=pa.schema(fields))


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
        if lacks(plain, field.type):
            detail = f'"{field.name}" is {field.type}: what may be null in it is written with a ?.'
            raise _unfit(source, field.name, detail, "has nulls inside column")
        column_series = cast("pl.Series", pl.from_arrow(plain))  # pyright: ignore[reportUnknownMemberType]
        series.append(column_series.cast(dtype(field.type)).alias(field.name))
    return pl.DataFrame(series)


def lacks(column: Any, type_: Type) -> bool:
    """Whether a part of the values is null that may not be; maps are lists of their entries."""
    plain = strip(type_)
    if not isinstance(plain, types.List | types.Map | types.Struct):  # a type that holds no others
        return False
    import pyarrow.compute as pc  # large, and few programs need it

    compute: Any = pc  # whose stubs know no types here
    parts: list[tuple[Any, Type]]
    match plain:
        case types.List(item=item):
            parts = [(compute.list_flatten(column), item)]
        case types.Map(key=key, value=held):
            entries = compute.list_flatten(column)
            parts = [(compute.struct_field(entries, 0), key), (compute.struct_field(entries, 1), held)]
        case types.Struct(fields=fields):
            present = column.drop_null()
            parts = [(compute.struct_field(present, index), field.type) for index, field in enumerate(fields)]
    return any((part.null_count and not is_nullable(each)) or lacks(part, each) for part, each in parts)


def _to_array(series: pl.Series, type_: Type, stored: bool) -> pa.Array[Any]:
    if _has_map(type_):  # Arrow casts maps to lists, but not back
        return pa.array([_plain(value, type_) for value in values(series, type_)], arrow_type(type_, stored=stored))
    array = cast("Any", series).to_arrow()
    wanted = arrow_type(type_, stored=stored)
    found: pa.Array[Any] = array if array.type == wanted else array.cast(wanted)
    return found


def _has_map(type_: Type) -> bool:
    match strip(type_):
        case types.Map():
            return True
        case types.List(item=item):
            return _has_map(item)
        case types.Struct(fields=fields):
            return any(_has_map(field.type) for field in fields)
        case _:  # a type that holds no others
            return False


def _plain(value: object, type_: Type) -> object:
    """A canonical value as pyarrow takes it."""
    if value is None:
        return None
    match strip(type_):
        case types.Map(key=key, value=held):
            pairs = cast("dict[object, object]", value).items()
            return [(_plain(name, key), _plain(part, held)) for name, part in pairs]
        case types.List(item=item):
            return [_plain(part, item) for part in cast("list[object]", value)]
        case types.Struct(fields=fields):
            parts = cast("tuple[object, ...]", value)
            return {field.name: _plain(part, field.type) for field, part in zip(fields, parts, strict=True)}
        case _:  # a type that holds no others
            return value


def _unfit(source: str, column: str, detail: str, what: str) -> GhcmError:
    return GhcmError(f'"{source}" {what} "{column}"', code="GHCM-733", detail=detail)
