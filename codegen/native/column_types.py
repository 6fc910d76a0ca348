"""Types as Polars data types in generated text."""

from __future__ import annotations

from typing import assert_never

from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Enumeration,
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
)


def dtype_text(type_: Type) -> str:
    """The data type that holds values of a type, as `ghcm.runtime.data.columns.dtype` makes it.

    >>> dtype_text(Nullable(List(Int())))
    'pl.List(pl.Int64)'
    """
    match type_:
        case Nullable(of=of):
            return dtype_text(of)
        case List(item=item):
            return f"pl.List({dtype_text(item)})"
        case Map(key=key, value=value):
            return f'pl.List(pl.Struct({{"key": {dtype_text(key)}, "value": {dtype_text(value)}}}))'
        case Struct(fields=fields):
            parts = [f'"{part.name}": {dtype_text(part.type)}' for part in fields]
            return f"pl.Struct({{{', '.join(parts)}}})"
        case Decimal(precision=precision, scale=scale):
            return f"pl.Decimal({precision}, {scale})"
        case Bool():
            return "pl.Boolean"
        case Int():
            return "pl.Int64"
        case Int32():
            return "pl.Int32"
        case Float():
            return "pl.Float64"
        case String() | Enumeration():
            return "pl.String"
        case Bytes():
            return "pl.Binary"
        case Timestamp():
            return "columns.TIMESTAMP"
        case Date():
            return "pl.Date"
        case Duration():
            return "columns.DURATION"
        case Null():
            return "pl.Null"
        case _:
            assert_never(type_)
