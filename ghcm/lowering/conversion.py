"""The conversions that the language makes by itself, as explicit expressions: int32 to int to float, an enum to string,
whole numbers and decimals to decimals of more digits, and a `?` more.

Literals take the type that is asked for as they are. Nothing is ever narrowed here, and nothing can fail when it runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from ghcm.expr import Call, Each, Expr, ForEach, Get, If, Let, Literal, MakeList, MakeStruct, Var
from ghcm.lowering.decimal_constants import decimal_constant, written_decimal
from ghcm.lowering.narrowing import path_of
from ghcm.lowering.variants import as_record, as_union
from ghcm.types import (
    INT_MAX,
    INT_MIN,
    Bool,
    Decimal,
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
    Variant,
    as_nullable,
    is_nullable,
    strip,
)
from ghcm.types.unification import accepts, unify


def convert(expr: Expr, to: Type) -> Expr | None:
    """The expression as one of type `to` (or of that type with a `?` less); None where no conversion exists."""
    if isinstance(expr, Literal):
        made = _literal(expr, to)
        if made is not None:
            return made
    match expr, strip(to):
        case ((MakeStruct() | Var() | Get() | Call()), Struct() as union) if union.variants and _of_other(expr, union):
            return as_union(expr, union)
        case _, Struct() as record if not record.variants and (variant := _only(expr, record)) is not None:
            return as_record(expr, variant)
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
            return expr if accepts(to, expr.type) and _agree(to, expr.type) else _computed(expr, to)


def _of_other(expr: Expr, union: Struct) -> bool:
    """Whether it is not that union already, of whichever of its records."""
    struct = strip(expr.type)
    if not isinstance(struct, Struct) or struct.name != union.name or not struct.variants:
        return True
    return not set(struct.variants) <= set(union.variants)


def _only(expr: Expr, record: Struct) -> Variant | None:
    """The record that a union can only be, where it is this one."""
    union = expr.type
    if not isinstance(union, Struct) or len(union.variants) != 1 or path_of(expr) is None:
        return None
    return next((each for each in union.variants if each.name == record.name and each.record == record), None)


def _agree(to: Type, found: Type) -> bool:
    """Whether what has the form of a union is one, at any depth."""
    match strip(to), strip(found):
        case List(item=mine), List(item=other):
            return _agree(mine, other)
        case Struct(variants=mine, fields=fields), Struct(variants=other, fields=others):
            whole = not mine or (bool(other) and set(other) <= set(mine))
            return whole and all(_agree(one.type, two.type) for one, two in zip(fields, others, strict=True))
        case _:
            return True


def common_type(values: Sequence[Expr], unions: Sequence[Struct] = ()) -> Type | None:
    """The smallest type that all values convert to, or None. An empty list takes the type of the others, and so do
    constant strings that are values of an enum. Several records are the one union that holds them all."""
    telling = [value for value in values if not (isinstance(value, MakeList) and not value.items)] or list(values[:1])
    holding = [each for each in unions if _holds(each, telling)]
    if len(holding) == 1:
        return as_nullable(holding[0]) if any(is_nullable(each.type) for each in telling) else holding[0]
    if any(isinstance(strip(value.type), Decimal) for value in telling):
        telling = [(written_decimal(each) or each) if isinstance(each, Literal) else each for each in telling]
    found: Type | None = telling[0].type
    for value in telling[1:]:
        found = None if found is None else unify(found, value.type)
    if found is not None and strip(found) == String():
        enum = next((strip(value.type) for value in telling if isinstance(strip(value.type), Enumeration)), None)
        if enum is not None and all(accepts(Nullable(enum), each.type) or _literal_of(each, enum) for each in telling):
            return as_nullable(enum) if is_nullable(found) else enum
    return found


def _holds(union: Struct, values: Sequence[Expr]) -> bool:
    """Whether values are different records of a union, or it itself; a bare null may be among them."""
    types = [strip(each.type) for each in values if not isinstance(each.type, Null)]
    structs = [each for each in types if isinstance(each, Struct)]
    mine = [
        each.variants or next(((one,) for one in union.variants if one.name == each.name and one.record == each), ())
        for each in structs
    ]
    several = len({each.name for each in structs}) > 1
    return several and len(structs) == len(types) and all(each and set(each) <= set(union.variants) for each in mine)


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
    if isinstance(wanted, Decimal) and not isinstance(literal.type, Bool):
        return decimal_constant(value, wanted)
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
        case Int32(), Decimal() as wanted if unify(strip(found), wanted) == wanted:
            return _decimal(_call("widen", expr, Int()), wanted)
        case ((Int() | Decimal()), Decimal() as wanted) if unify(strip(found), wanted) == wanted:
            return _decimal(expr, wanted)
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


def _decimal(expr: Expr, to: Decimal) -> Expr:
    return Call("to_decimal", (expr, Literal([], List(to))), as_nullable(to) if is_nullable(expr.type) else to)


def _alike(mine: Sequence[Field], other: Sequence[Field]) -> bool:
    return [part.name for part in mine] == [part.name for part in other]
