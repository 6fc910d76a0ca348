"""Arrow's schemas into the fields of a record and back."""

from __future__ import annotations

from typing import Any, assert_never, cast

import pyarrow as pa

from ghcm.schemas.records import Unmapped, inside
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Enumeration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Map,
    Null,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
    as_nullable,
    is_nullable,
    pair_of,
    strip,
)
from ghcm.types.unification import MAX_PRECISION


def arrow_type(type_: Type, *, maps: bool = True) -> pa.DataType:
    """The Arrow type that Parquet files hold; with `maps` False a map is a list of `{key, value}`, as in frames."""
    match type_:
        case Nullable(of=of):
            return arrow_type(of, maps=maps)
        case List(item=item):
            return pa.list_(arrow_type(item, maps=maps))
        case Map(key=key, value=value):
            if not maps:
                return pa.list_(arrow_type(pair_of(key, value), maps=False))
            return pa.map_(arrow_type(key), arrow_type(value))
        case Struct(fields=fields):
            return pa.struct([(field.name, arrow_type(field.type, maps=maps)) for field in fields])
        case Decimal(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case Bool():
            return pa.bool_()
        case Int():
            return pa.int64()
        case Int32():
            return pa.int32()
        case Float():
            return pa.float64()
        case String() | Enumeration():
            return pa.string()
        case Bytes():
            return pa.binary()
        case Timestamp():
            return pa.timestamp("us", "UTC")
        case Date():
            return pa.date32()
        case Duration():
            return pa.duration("us")
        case Null():
            return pa.null()
        case _:
            assert_never(type_)


def arrow_field(name: str, type_: Type) -> pa.Field[Any]:
    """A column that says whether it holds nulls, and so do the columns, items and values in it; columns in it are named
    as they stand in the source."""
    return pa.field(name, _exact(strip(type_)), nullable=is_nullable(type_))


def _exact(type_: Type) -> pa.DataType:
    match type_:
        case List(item=item):
            return pa.list_(arrow_field("item", item))
        case Map(key=key, value=value):
            arrow: Any = pa
            return cast("pa.DataType", arrow.map_(_exact(key), arrow_field("value", value)))
        case Struct(fields=fields):
            return pa.struct([arrow_field(field.path or field.name, field.type) for field in fields])
        case _:  # a type that holds no others
            return arrow_type(type_)


def type_of(found: pa.DataType) -> Type:
    """The type whose values say what those of an Arrow type say, in a file too. Raises `Unmapped`.

    >>> str(type_of(pa.list_(pa.field("item", pa.uint16(), nullable=False))))
    'list<int>'
    """
    known: Any = found
    plain = _plain(known)
    if plain is not None:
        return plain
    if pa.types.is_decimal(known) and 0 <= known.scale <= known.precision <= MAX_PRECISION:
        return Decimal(known.precision, known.scale)
    if pa.types.is_dictionary(known):
        return type_of(known.value_type)
    if pa.types.is_list(known) or pa.types.is_large_list(known) or pa.types.is_fixed_size_list(known):
        return List(_of_field(known.value_field))
    if pa.types.is_map(known):
        return Map(type_of(known.key_type), _of_field(known.item_field))
    if pa.types.is_struct(known) and len(known):
        parts: list[Any] = list(known)
        return Struct(tuple(map(_named, parts)))
    raise Unmapped(f"Arrow's {found} is no type of the language")


def _named(field: Any) -> Field:
    try:
        return Field(str(field.name), _of_field(field))
    except Unmapped as error:
        raise inside(str(field.name), error) from None


def _of_field(field: Any) -> Type:
    type_ = type_of(field.type)
    return as_nullable(type_) if field.nullable else type_


def _plain(found: Any) -> Type | None:
    types = pa.types
    tests: list[tuple[bool, Type]] = [
        (types.is_boolean(found), Bool()),
        (found == pa.int32(), Int32()),
        (types.is_integer(found), Int()),
        (types.is_floating(found), Float()),
        (types.is_string(found) or types.is_large_string(found) or found == pa.string_view(), String()),
        (types.is_binary(found) or types.is_large_binary(found) or types.is_fixed_size_binary(found), Bytes()),
        (found == pa.binary_view(), Bytes()),
        (types.is_timestamp(found), Timestamp()),
        (types.is_date(found), Date()),
        (types.is_duration(found), Duration()),
    ]
    return next((type_ for fits, type_ in tests if fits), None)
