"""Arrow's schemas into the fields of a record and back."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa

from ghcm import types
from ghcm.schemas.records import Unmapped, inside
from ghcm.unification import MAX_PRECISION

_PLAIN: dict[types.Type, pa.DataType] = {
    types.Bool(): pa.bool_(), types.Int(): pa.int64(), types.Int32(): pa.int32(), types.Float(): pa.float64(),
    types.String(): pa.string(), types.Bytes(): pa.binary(), types.Timestamp(): pa.timestamp("us", "UTC"),
    types.Date(): pa.date32(), types.Duration(): pa.duration("us"), types.Null(): pa.null(),
}  # fmt: skip


_STORED: dict[types.Type, pa.DataType] = {**_PLAIN, types.Duration(): pa.int64(), types.Null(): pa.string()}


def arrow_type(type_: types.Type, *, maps: bool = True, stored: bool = False) -> pa.DataType:
    """The Arrow type of values; with `maps` False a map is a list of `{key, value}`, as in frames. As `stored` in Delta
    tables (see `ghcm.tables.delta`) durations are integers and nulls without a type are strings.
    """
    match type_:
        case types.Nullable(of=of):
            return arrow_type(of, maps=maps, stored=stored)
        case types.List(item=item):
            return pa.list_(arrow_type(item, maps=maps, stored=stored))
        case types.Map(key=key, value=value):
            if not maps:
                return pa.list_(arrow_type(types.pair_of(key, value), maps=False))
            return pa.map_(arrow_type(key, stored=stored), arrow_type(value, stored=stored))
        case types.Struct(fields=fields):
            return pa.struct([(field.name, arrow_type(field.type, maps=maps, stored=stored)) for field in fields])
        case types.Decimal(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case types.Enumeration():
            return pa.string()
        case types.Null() if not maps:  # Arrow casts nothing to nulls without a type
            return pa.string()
        case _:  # a row of the table says it
            return (_STORED if stored else _PLAIN)[type_]


def arrow_field(name: str, type_: types.Type) -> pa.Field[Any]:
    """A column that says whether it holds nulls, and so do the columns, items and values in it; columns in it are named
    as they stand in the source."""
    return pa.field(name, _exact(types.strip(type_)), nullable=types.is_nullable(type_))


def _exact(type_: types.Type) -> pa.DataType:
    match type_:
        case types.List(item=item):
            return pa.list_(arrow_field("item", item))
        case types.Map(key=key, value=value):
            arrow: Any = pa
            return cast("pa.DataType", arrow.map_(_exact(key), arrow_field("value", value)))
        case types.Struct(fields=fields):
            return pa.struct([arrow_field(field.path or field.name, field.type) for field in fields])
        case _:  # a type that holds no others
            return arrow_type(type_)


def type_of(found: pa.DataType) -> types.Type:
    """The type whose values say what those of an Arrow type say, in a file too. Raises `Unmapped`.

    >>> str(type_of(pa.list_(pa.field("item", pa.uint16(), nullable=False))))
    'list<int>'
    """
    known: Any = found
    plain = _plain(known)
    if plain is not None:
        return plain
    if pa.types.is_decimal(known) and 0 <= known.scale <= known.precision <= MAX_PRECISION:
        return types.Decimal(known.precision, known.scale)
    if pa.types.is_dictionary(known):
        return type_of(known.value_type)
    if pa.types.is_list(known) or pa.types.is_large_list(known) or pa.types.is_fixed_size_list(known):
        return types.List(_of_field(known.value_field))
    if pa.types.is_map(known):
        return types.Map(type_of(known.key_type), _of_field(known.item_field))
    if pa.types.is_struct(known) and len(known):
        parts: list[Any] = list(known)
        return types.Struct(tuple(map(field_of, parts)))
    raise Unmapped(f"Arrow's {found} is no type of the language")


def field_of(field: Any) -> types.Field:
    """The field that a column of a schema, or a part of a struct, says. Raises `Unmapped`."""
    with inside(str(field.name)):
        return types.Field(str(field.name), _of_field(field))


def _of_field(field: Any) -> types.Type:
    type_ = type_of(field.type)
    return types.as_nullable(type_) if field.nullable else type_


def _plain(found: Any) -> types.Type | None:
    tests: list[tuple[bool, types.Type]] = [
        (pa.types.is_boolean(found), types.Bool()),
        (found == pa.int32(), types.Int32()),
        (pa.types.is_integer(found), types.Int()),
        (pa.types.is_floating(found), types.Float()),
        (pa.types.is_string(found) or pa.types.is_large_string(found) or found == pa.string_view(), types.String()),
        (
            pa.types.is_binary(found) or pa.types.is_large_binary(found) or pa.types.is_fixed_size_binary(found),
            types.Bytes(),
        ),
        (found == pa.binary_view(), types.Bytes()),
        (pa.types.is_timestamp(found), types.Timestamp()),
        (pa.types.is_date(found), types.Date()),
        (pa.types.is_duration(found), types.Duration()),
    ]
    return next((type_ for fits, type_ in tests if fits), None)
