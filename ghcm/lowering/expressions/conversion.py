"""The conversions that the language makes by itself, as explicit expressions: int32 to int to float, an enum to string,
whole numbers and decimals to decimals of more digits, and a `?` more.

Literals take the type that is asked for as they are, texts that of a day or moment too. Nothing is ever narrowed here,
and nothing can fail when it runs.
"""

from collections.abc import Sequence

from ghcm import types
from ghcm.codes import Code
from ghcm.expr import Call, Each, Expr, ForEach, Get, If, Let, Literal, MakeList, MakeStruct, Var, complete
from ghcm.lowering.context import Context
from ghcm.lowering.expressions.decimals import decimal_constant, typed_call, written_decimal
from ghcm.lowering.expressions.unions import as_record, as_union
from ghcm.lowering.narrowing import path_of, to_known
from ghcm.source import Span
from ghcm.types import Type, as_nullable, is_nullable, nullable_like, strip
from ghcm.unification import accepts, unify
from ghcm.values.timestamps import read_time


def convert(expr: Expr, to: Type) -> Expr | None:
    """The expression as one of type `to` (or of that type with a `?` less); None where no conversion exists."""
    if isinstance(expr, Literal):
        literal = _literal(expr, to)
        if literal is not None:
            return literal
    match expr, strip(to):
        case ((MakeStruct() | Var() | Get() | Call()), types.Struct() as union) if _of_other(expr, union):
            return as_union(expr, union)
        case _, types.Struct() as record if not record.variants and (variant := _only(expr, record)) is not None:
            return as_record(expr, variant)
        case MakeStruct(values=values, type=types.Struct(names=names)), types.Struct() as struct if (
            names == struct.names
        ):
            made = complete(convert(value, field.type) for value, field in zip(values, struct.fields, strict=True))
            return None if made is None else MakeStruct(made, struct)
        case MakeList(items=items), types.List(item=item) as list_type:
            made = complete(convert(each, item) for each in items)
            return None if made is None else MakeList(made, list_type)
        case If(condition=condition, then=then, otherwise=otherwise), _:
            yes, no = convert(then, to), convert(otherwise, to)
            return None if yes is None or no is None else If(condition, yes, no, to)
        case Let(variable=variable, value=value, body=body), _:
            inner = convert(body, to)
            return None if inner is None else Let(variable, value, inner, inner.type)
        case ForEach(kind=Each.MAP, list=of, item=it, body=body), types.List(item=item) if not accepts(to, expr.type):
            each = None if is_nullable(of.type) and not is_nullable(to) else convert(body, item)
            if each is None:
                return None
            type_ = nullable_like(types.List(each.type), of.type)
            return ForEach(Each.MAP, of, it, each, type_)
        case _:  # no expression of a form of its own: it is as it is asked for, or a function makes it so
            return expr if accepts(to, expr.type) and _agree(to, expr.type) else _computed(expr, to)


def _of_other(expr: Expr, union: types.Struct) -> bool:
    """Whether a union is asked for and it is not that one already, of whichever of its records."""
    struct = strip(expr.type)
    if not union.variants:
        return False
    if not isinstance(struct, types.Struct) or struct.name != union.name or not struct.variants:
        return True
    return not set(struct.variants) <= set(union.variants)


def _only(expr: Expr, record: types.Struct) -> types.Variant | None:
    """The record that a union can only be, where it is this one."""
    union = expr.type
    if not isinstance(union, types.Struct) or len(union.variants) != 1 or path_of(expr) is None:
        return None
    return next((each for each in union.variants if each.name == record.name and each.record == record), None)


def _agree(to: Type, found: Type) -> bool:
    """Whether what has the form of a union is one, at any depth."""
    match strip(to), strip(found):
        case types.List(item=mine), types.List(item=other):
            return _agree(mine, other)
        case types.Struct(variants=mine, fields=fields), types.Struct(variants=other, fields=others):
            whole = not mine or (bool(other) and set(other) <= set(mine))
            return whole and all(_agree(one.type, two.type) for one, two in zip(fields, others, strict=True))
        case _:  # no part of other types is a union that could differ
            return True


def common_type(values: Sequence[Expr], unions: Sequence[types.Struct] = ()) -> Type | None:
    """The smallest type that all values convert to, or None. An empty list takes the type of the others, and so do
    constant texts that are values of an enum, days or moments. Several records are the one union that holds them all.
    """
    telling = [value for value in values if not (isinstance(value, MakeList) and not value.items)] or list(values[:1])
    holding = [each for each in unions if _holds(each, telling)]
    if len(holding) == 1:
        return as_nullable(holding[0]) if any(is_nullable(each.type) for each in telling) else holding[0]
    if any(isinstance(strip(value.type), types.Decimal) for value in telling):
        telling = [(written_decimal(each) or each) if isinstance(each, Literal) else each for each in telling]
    time = next((kind for each in telling if isinstance(kind := strip(each.type), types.Date | types.Timestamp)), None)
    if time is not None:
        telling = [each if text_of(each) is None else convert(each, time) or each for each in telling]
    found: Type | None = telling[0].type
    for value in telling[1:]:
        found = None if found is None else unify(found, value.type)
    if found is not None and strip(found) == types.String():
        plain = (strip(value.type) for value in telling)
        enum = next((each for each in plain if isinstance(each, types.Enumeration)), None)
        if enum and all(accepts(types.Nullable(enum), each.type) or _literal_of(each, enum) for each in telling):
            return nullable_like(enum, found)
    return found


def alike(values: Sequence[Expr], context: Context) -> tuple[tuple[Expr, ...], Type] | None:
    """The values as those of the one type that they all convert to, and that type; None where there is none."""
    type_ = common_type(values, context.records.known_unions)
    made = None if type_ is None else complete(convert(each, type_) for each in values)
    return None if type_ is None or made is None else (made, type_)


def alike_or_report(
    values: Sequence[Expr], what: str, verb: str, span: Span | None, context: Context
) -> tuple[tuple[Expr, ...], Type]:
    """As `alike`; where there is no such type, that is reported."""
    made = alike(values, context)
    if made is None:
        found = ", ".join(dict.fromkeys(f'"{each.type}"' for each in values))
        message = f"{what} have no type in common"
        raise context.report(Code.BRANCHES_DIFFER, message, span, detail=f"They {verb} {found}.")
    return made


def _holds(union: types.Struct, values: Sequence[Expr]) -> bool:
    """Whether values are different records of a union, or it itself; a bare null may be among them."""
    found = [strip(each.type) for each in values if not isinstance(each.type, types.Null)]
    structs = [each for each in found if isinstance(each, types.Struct)]
    mine = [
        each.variants or next(((one,) for one in union.variants if one.name == each.name and one.record == each), ())
        for each in structs
    ]
    several = len({each.name for each in structs}) > 1
    return several and len(structs) == len(found) and all(each and set(each) <= set(union.variants) for each in mine)


def text_of(expr: Expr) -> str | None:
    """A constant text; None for any other expression."""
    plain = isinstance(expr, Literal) and isinstance(strip(expr.type), types.String)
    return expr.value if plain and isinstance(expr, Literal) and isinstance(expr.value, str) else None


def _literal_of(expr: Expr, enum: Type) -> bool:
    return isinstance(expr, Literal) and isinstance(expr.value, str) and _literal(expr, enum) is not None


def _literal(literal: Literal, to: Type) -> Expr | None:
    value, wanted = literal.value, strip(to)
    if value is None:
        return Literal(None, to) if isinstance(to, types.Nullable) else None
    if isinstance(wanted, types.Enumeration):
        return Literal(value, wanted) if value in wanted.values else None
    if isinstance(literal.type, types.Enumeration) and isinstance(wanted, types.String):
        return Literal(value, wanted)
    if isinstance(value, str) and isinstance(wanted, types.Date | types.Timestamp):
        read = read_time(value, wanted)
        return None if read is None else Literal(read, wanted)
    if isinstance(wanted, types.Decimal) and not isinstance(literal.type, types.Bool):
        return decimal_constant(value, wanted)
    if not isinstance(value, int) or not isinstance(literal.type, types.Int | types.Int32):
        return None
    match wanted:
        case types.Float():
            return Literal(float(value), wanted)
        case types.Int32() if -(2**31) <= value < 2**31:
            return Literal(value, wanted)
        case types.Int() if types.INT_MIN <= value <= types.INT_MAX:
            return Literal(value, wanted)
        case _:  # the language converts nothing else by itself
            return None


def _computed(expr: Expr, to: Type) -> Expr | None:
    """A conversion that calls a function, of a value that is no literal."""
    found = expr.type
    if isinstance(found, types.Null) or (is_nullable(found) and not is_nullable(to)):
        return None
    match strip(found), strip(to):
        case types.Int32(), types.Int():
            return _call("widen", expr, types.Int())
        case types.Int32(), types.Float():
            return _call("to_float", _call("widen", expr, types.Int()), types.Float())
        case types.Int(), types.Float():
            return _call("to_float", expr, types.Float())
        case types.Int32(), types.Decimal() as wanted if unify(strip(found), wanted) == wanted:
            return typed_call("to_decimal", _call("widen", expr, types.Int()), wanted)
        case ((types.Int() | types.Decimal()), types.Decimal() as wanted) if unify(strip(found), wanted) == wanted:
            return typed_call("to_decimal", expr, wanted)
        case types.Enumeration(), types.String():
            return _call("to_string", expr, types.String())
        case types.Struct() as mine, types.Struct() as wanted if mine.names == wanted.names:
            return _struct(expr, mine, wanted)
        case _:  # the language converts nothing else by itself
            return None


def _struct(expr: Expr, found: types.Struct, wanted: types.Struct) -> Expr | None:
    known = to_known(expr) if is_nullable(expr.type) else expr
    pairs = zip(found.fields, wanted.fields, strict=True)
    values = complete(convert(Get(known, mine.name, mine.type), other.type) for mine, other in pairs)
    if values is None:
        return None
    made = MakeStruct(values, wanted)
    if not is_nullable(expr.type):
        return made
    nullable = as_nullable(wanted)
    return If(Call("is_null", (expr,), types.Bool()), Literal(None, nullable), made, nullable)


def _call(function: str, argument: Expr, result: Type) -> Expr:
    return Call(function, (argument,), nullable_like(result, argument.type))
