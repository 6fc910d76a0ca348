"""How values of a type go out to users' Python functions and come back, made from the type while a program runs.

Generated code writes the same out for functions by row (`ghcm.codegen.native.rows.text`).
"""

from __future__ import annotations

from typing import assert_never

from ghcm.runtime.native import python
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


def exchange_of(type_: Type) -> python.Exchange:
    """The exchange of a type."""
    match type_:
        case Nullable(of=of):
            return python.Optional(exchange_of(of))
        case List(item=item):
            return python.Items(exchange_of(item))
        case Map(key=key, value=value):
            return python.Mapped(exchange_of(key), exchange_of(value))
        case Struct(fields=fields):
            parts = {field.name: exchange_of(field.type) for field in fields}
            return python.Record(type_.name or "Record", **parts)
        case Null():
            return python.Optional(python.BOOL)
        case Bool():
            return python.BOOL
        case Int():
            return python.INT
        case Int32():
            return python.INT32
        case Float():
            return python.FLOAT
        case Decimal():
            return python.DECIMAL
        case String() | Enumeration():
            return python.STRING
        case Bytes():
            return python.BYTES
        case Timestamp():
            return python.TIMESTAMP
        case Date():
            return python.DATE
        case Duration():
            return python.DURATION
        case _:
            assert_never(type_)
