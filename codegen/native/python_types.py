"""Types as the calls of `ghcm.runtime.native.python` that carry their values to users' functions and back."""

from __future__ import annotations

import json
from keyword import iskeyword
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


def python_text(type_: Type) -> str:
    """The exchange of a type as Python text.

    >>> python_text(Nullable(List(Int())))
    'python.Optional(python.Items(python.INT))'
    """
    match type_:
        case Nullable(of=of):
            return f"python.Optional({python_text(of)})"
        case List(item=item):
            return f"python.Items({python_text(item)})"
        case Map(key=key, value=value):
            return f"python.Mapped({python_text(key)}, {python_text(value)})"
        case Struct(fields=fields):
            parts = [f"{_text(part.name)}: {python_text(part.type)}" for part in fields]
            plain = [f"{part.name}={python_text(part.type)}" for part in fields]
            name = _text(type_.name or "Record")
            simple = all(map(_is_name, type_.names))
            return (
                f"python.Record({name}, {', '.join(plain)})"
                if simple
                else f"python.Record({name}, **{{{', '.join(parts)}}})"
            )
        case Null():
            return "python.Optional(python.BOOL)"
        case Bool():
            return "python.BOOL"
        case Int():
            return "python.INT"
        case Int32():
            return "python.INT32"
        case Float():
            return "python.FLOAT"
        case Decimal():
            return "python.DECIMAL"
        case String():
            return "python.STRING"
        case Enumeration(values=values):
            return f"python.OneOf({', '.join(map(_text, values))})"
        case Bytes():
            return "python.BYTES"
        case Timestamp():
            return "python.TIMESTAMP"
        case Date():
            return "python.DATE"
        case Duration():
            return "python.DURATION"
        case _:
            assert_never(type_)


def _is_name(text: str) -> bool:
    """Whether Python takes it for the name of an argument, and as it is: it changes some letters outside of ASCII."""
    return text.isascii() and text.isidentifier() and not iskeyword(text)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
