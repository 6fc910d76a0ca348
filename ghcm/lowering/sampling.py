"""Samples: which records of a type are in a part of them, as a predicate that every engine evaluates alike.

A record is in the sample where the MD5 of the seed and of its fields as text is small enough. So equal records are in
it or out of it together, and no run or engine chooses others. Lists count by their length; maps, decimals and the
window do not count.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghcm.expr import Call, Expr, Get, Lambda, Literal, Var
from ghcm.functions import FUNCTIONS, resolve
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
    as_nullable,
    is_nullable,
    strip,
)

_DIGITS = 16


def sampled(element: Type, fraction: float, seed: int, *, windowed: bool) -> Lambda | None:
    """The predicate for records of that type; None where nothing tells one from another."""
    record = Var("record", element)
    fields = element.fields if windowed and isinstance(element, Struct) else ()
    parts: list[Expr] = [Get(record, each.name, each.type) for each in fields if each.name != "window"]
    texts = [text for part in parts or [record] for text in _texts(part)]
    if not texts:
        return None
    whole: Expr = Literal(f"{seed}", String())
    for text in texts:
        whole = _call("add", _call("add", whole, Literal(",", String())), text)
    return Lambda((record,), _call("lt", _call("md5", whole), Literal(_bound(fraction), String())))


def _bound(fraction: float) -> str:
    """The hexadecimal digits below which so large a part of all hashes stands."""
    bound = int(fraction * 16**_DIGITS)
    return f"{bound:0{_DIGITS}x}" if bound < 16**_DIGITS else "g"


def _texts(of: Expr) -> Iterator[Expr]:
    """The texts of what a value is made of."""
    text: Expr
    match strip(of.type):
        case Struct(fields=fields):
            for field in fields:
                type_ = as_nullable(field.type) if is_nullable(of.type) else field.type
                yield from _texts(Get(of, field.name, type_))
            return
        case Null() | Nullable() | Map() | Decimal():
            return
        case String():
            text = of
        case Float():
            text = _call("to_string", _call("add", of, Literal(0.0, Float())))
        case Timestamp() | Duration():
            text = _call("to_string", _call("to_micros", of))
        case List():
            text = _call("to_string", _call("length", of))
        case Bytes():
            text = _call("to_hex", of)
        case Bool() | Int() | Int32() | Date() | Enumeration():
            text = _call("to_string", of)
    yield _call("coalesce", text, Literal("null", String())) if is_nullable(text.type) else text


def _call(name: str, *arguments: Expr) -> Expr:
    found = resolve(FUNCTIONS[name], tuple(each.type for each in arguments))
    assert found is not None and found.parameters == tuple(each.type for each in arguments), name
    return Call(name, arguments, found.result)
