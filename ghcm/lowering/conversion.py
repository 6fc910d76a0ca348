"""The conversions that the language makes by itself, as explicit expressions: int32 to int to float, an enum to string,
and a `?` more.

Literals take the type that is asked for as they are. Nothing is ever narrowed here, and nothing can fail when it runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from ghcm.expr import Call, Each, Expr, ForEach, Get, If, Let, Literal, MakeList, MakeStruct
from ghcm.types import (
    INT_MAX,
    INT_MIN,
    Bool,
    Enumeration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Null,
    Nullable,
    String,
    Struct,
    Type,
    accepts,
    as_nullable,
    is_nullable,
    strip,
    unify,
)

__all__ = ["common_type", "convert", "to_known"]


def convert(expr: Expr, to: Type) -> Expr | None:
    """The expression as one of type `to` (or of that type with a `?` less); None where no conversion exists."""
    if isinstance(expr, Literal):
        made = _literal(expr, to)
        if made is not None:
            return made
    match expr, strip(to):
        case MakeStruct(values=values, type=Struct(fields=found)), Struct(fields=wanted) as struct if _alike(
            found, wanted
        ):
            parts = [convert(value, field.type) for value, field in zip(values, wanted, strict=True)]
            made_parts = tuple(part for part in parts if part is not None)
            return MakeStruct(made_parts, struct) if len(made_parts) == len(parts) else None
        case MakeList(items=items), List(item=item) as list_type:
            parts = [convert(each, item) for each in items]
            made_parts = tuple(part for part in parts if part is not None)
            return MakeList(made_parts, list_type) if len(made_parts) == len(parts) else None
        case If(condition=condition, then=then, otherwise=otherwise), _:
            yes, no = convert(then, to), convert(otherwise, to)
            return None if yes is None or no is None else If(condition, yes, no, to)
        case Let(variable=variable, value=value, body=body), _:
            inner = convert(body, to)
            return None if inner is None else Let(variable, value, inner, inner.type)
        case ForEach(kind=Each.MAP, list=of, item=variable, body=body), List(item=item) if not accepts(to, expr.type):
            each = None if is_nullable(of.type) and not is_nullable(to) else convert(body, item)
            if each is None:
                return None
            type_ = as_nullable(List(each.type)) if is_nullable(of.type) else List(each.type)
            return ForEach(Each.MAP, of, variable, each, type_)
        case _:
            return expr if accepts(to, expr.type) else _computed(expr, to)


def common_type(values: Sequence[Expr]) -> Type | None:
    """The smallest type that all values convert to, or None. An empty list takes the type of the others, and so do
    constant strings that are values of an enum."""
    telling = [value for value in values if not (isinstance(value, MakeList) and not value.items)] or list(values[:1])
    found: Type | None = telling[0].type
    for value in telling[1:]:
        found = None if found is None else unify(found, value.type)
    if found is not None and strip(found) == String():
        enum = next((strip(value.type) for value in telling if isinstance(strip(value.type), Enumeration)), None)
        if enum is not None and all(accepts(Nullable(enum), each.type) or _literal_of(each, enum) for each in telling):
            return as_nullable(enum) if is_nullable(found) else enum
    return found


def _literal_of(expr: Expr, enum: Type) -> bool:
    """Whether it is a constant that is a value of an enum."""
    return isinstance(expr, Literal) and isinstance(expr.value, str) and _literal(expr, enum) is not None


def to_known(expr: Expr) -> Expr:
    """The nullable expression as the value that it is known to be."""
    return Call("known", (expr,), strip(expr.type))


def _literal(literal: Literal, to: Type) -> Expr | None:
    value, wanted = literal.value, strip(to)
    if value is None:
        return Literal(None, to) if isinstance(to, Nullable) else None
    if isinstance(wanted, Enumeration):
        return Literal(value, wanted) if value in wanted.values else None
    if isinstance(literal.type, Enumeration) and isinstance(wanted, String):
        return Literal(value, wanted)
    if not isinstance(value, int) or isinstance(literal.type, Bool) or not isinstance(literal.type, Int | Int32):
        return None
    match wanted:
        case Float():
            return Literal(float(value), wanted)
        case Int32() if -(2**31) <= value < 2**31:
            return Literal(value, wanted)
        case Int() if INT_MIN <= value <= INT_MAX:
            return Literal(value, wanted)
        case _:
            return None


def _computed(expr: Expr, to: Type) -> Expr | None:
    """A conversion that calls a function, of a value that is no literal."""
    found = expr.type
    if isinstance(found, Null) or (is_nullable(found) and not is_nullable(to)):
        return None
    match strip(found), strip(to):
        case Int32(), Int():
            return _call("widen", expr, Int())
        case Int32(), Float():
            return _call("to_float", _call("widen", expr, Int()), Float())
        case Int(), Float():
            return _call("to_float", expr, Float())
        case Enumeration(), String():
            return _call("to_string", expr, String())
        case Struct() as mine, Struct() as wanted if _alike(mine.fields, wanted.fields):
            return _struct(expr, mine, wanted)
        case _:
            return None


def _struct(expr: Expr, found: Struct, wanted: Struct) -> Expr | None:
    known = to_known(expr) if is_nullable(expr.type) else expr
    parts = [
        convert(Get(known, mine.name, mine.type), other.type)
        for mine, other in zip(found.fields, wanted.fields, strict=True)
    ]
    values = tuple(part for part in parts if part is not None)
    if len(values) != len(parts):
        return None
    made = MakeStruct(values, wanted)
    if not is_nullable(expr.type):
        return made
    nullable = as_nullable(wanted)
    return If(Call("is_null", (expr,), Bool()), Literal(None, nullable), made, nullable)


def _call(function: str, argument: Expr, result: Type) -> Expr:
    return Call(function, (argument,), as_nullable(result) if is_nullable(argument.type) else result)


def _alike(mine: Sequence[Field], other: Sequence[Field]) -> bool:
    return [part.name for part in mine] == [part.name for part in other]
