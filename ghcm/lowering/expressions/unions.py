"""Unions in expressions: `e is Login`, fields of a record that a union may be, its records as unions and back, and the
check of what comes from outside.
"""

from functools import reduce

from ghcm import types
from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.expr import Call, Each, Expr, ForEach, Get, If, Let, Literal, MakeStruct, Var
from ghcm.language import ast
from ghcm.lowering.context import Context, Scope
from ghcm.lowering.narrowing import left_of, path_of, to_known
from ghcm.source import Span
from ghcm.types import Type, field_in, is_nullable, nullable_like, strip

_BOOL = types.Bool()
_TRUE = Literal(True, _BOOL)


def as_union_type(type_: Type) -> types.Struct | None:
    """The union that values are of, null aside; None of other values."""
    union = strip(type_)
    return union if isinstance(union, types.Struct) and union.variants else None


def variant_named(name: str, union: types.Struct, span: Span | None, context: Context) -> types.Variant:
    """The record of that name of a union."""
    found = next((each for each in union.variants if each.name == name), None)
    if found is None:
        names = [each.name for each in union.variants]
        message = f'"{union.name}" is never "{name}" here'
        detail = f"It is {', '.join(names)}."
        raise context.report(Code.BAD_UNION, message, span, detail=detail, hint=suggest(name, names))
    return found


def tag_is(of: Expr, variant: types.Variant) -> Expr:
    """Whether a union is this record; null for null."""
    union = strip(of.type)
    assert isinstance(union, types.Struct)
    tag = union.fields[0]
    read = Get(of, tag.name, nullable_like(tag.type, of.type))
    return Call("eq", (read, Literal(variant.text, tag.type)), nullable_like(_BOOL, of.type))


def is_record(written: ast.Binary, scope: Scope) -> Expr:
    """`e is Login`, `e is not Login`."""
    of = scope.typed(written.left)
    union = as_union_type(of.type)
    hint = "x is null, x is not null and e is Record are written so."
    if union is None:
        message = f'"{written.op}" asks which record a union is, but this is "{of.type}"'
        raise scope.report(Code.BAD_UNION, message, written.span, hint=hint)
    if not isinstance(written.right, ast.Ref):
        message = f'behind "{written.op}" stands the name of a record of "{union.name}"'
        raise scope.report(Code.BAD_UNION, message, written.right.span, hint=hint)
    test = tag_is(of, variant_named(written.right.name, union, written.right.span, scope.context))
    return test if written.op == "is" else Call("not", (test,), test.type)


def type_in_union(of: Expr, union: types.Struct, name: str, span: Span | None, scope: Scope) -> Type:
    """The type of a field of a union, which all records have that it may be here."""
    left = left_of(union.variants, path_of(of), scope.facts) or union.variants
    if name == union.fields[0].name:
        return union.fields[0].type
    found, held = field_in(name, left), union.get(name)
    if found is not None:
        return found if held is None or is_nullable(held.type) else strip(found)
    names = list(dict.fromkeys(each for variant in union.variants for each in variant.record.names))
    owners = [each.name for each in left if each.record.get(name)]
    others = ", ".join(each.name for each in left if each.name not in owners)
    if not owners:
        kind = left[0].name if len(left) == 1 else str(union.name)
        raise scope.report(Code.NO_FIELD, f'"{kind}" has no field "{name}"', span, hint=suggest(name, names))
    message = f'"{name}" is a field of {" and ".join(owners)}, and this "{union.name}" may be another record'
    hint = f"match e {{ {owners[0]} x => x.{name}, _ => ... }}, or behind filter(e => e is {owners[0]})."
    raise scope.report(Code.BAD_UNION, message, span, detail=f"{others} has no such field.", hint=hint)


def as_record(union: Expr, variant: types.Variant) -> Expr:
    """A union that is known to be this record, as the record."""
    struct = union.type
    assert isinstance(struct, types.Struct)
    values: list[Expr] = []
    for field in variant.record.fields:
        held = struct.get(field.name)
        assert held is not None, "a union has the fields of its records"
        read = Get(union, field.name, held.type)
        values.append(to_known(read) if is_nullable(held.type) and not is_nullable(field.type) else read)
    return MakeStruct(tuple(values), variant.record)


def as_union(expr: Expr, union: types.Struct) -> Expr | None:
    """A record as the union that it may be; None where it is none of its records."""
    struct = expr.type
    if not isinstance(struct, types.Struct) or struct.variants:
        return None
    variant = next((each for each in union.variants if each.name == struct.name and each.record == struct), None)
    if variant is None:
        return None
    if not isinstance(expr, MakeStruct) and path_of(expr) is None:
        record = Var("record", struct)
        made = as_union(record, union)
        return None if made is None else Let(record, expr, made, union)
    parts = {
        field.name: expr.values[index] if isinstance(expr, MakeStruct) else Get(expr, field.name, field.type)
        for index, field in enumerate(struct.fields)
    }
    tag = Literal(variant.text, union.fields[0].type)
    return MakeStruct((tag, *(parts.get(each.name) or Literal(None, each.type) for each in union.fields[1:])), union)


# --- what comes from outside -----------------------------------------------------------------------------------------


def conforms(value: Expr) -> Expr | None:
    """True; fails where a union in the value lacks a field of the record that it is. None where there is no union."""
    match value.type:
        case types.Nullable(of=of):
            inner = conforms(Call("known", (value,), of))
            return None if inner is None else If(Call("is_null", (value,), _BOOL), _TRUE, inner, _BOOL)
        case types.List(item=item):
            each = Var("each", item)
            inner = conforms(each)
            return None if inner is None else ForEach(Each.ALL, value, each, inner, _BOOL)
        case types.Struct(fields=fields) as struct:
            checks = [_has_fields(value, struct, variant) for variant in struct.variants]
            checks += [conforms(Get(value, field.name, field.type)) for field in fields]
            found = [each for each in checks if each is not None]
            return _all_of(found) if found else None
        case _:  # other types hold no union
            return None


def _has_fields(value: Expr, union: types.Struct, variant: types.Variant) -> Expr | None:
    checks: list[Expr] = []
    for field in variant.record.fields:
        held = union.get(field.name)
        if held is not None and is_nullable(held.type) and not is_nullable(field.type):
            there = Call("is_not_null", (Get(value, field.name, held.type),), _BOOL)
            missing = f'field "{field.name}" of "{variant.name}" is missing'
            checks.append(Call("ensure", (there, Literal(missing, types.String())), _BOOL))
    return If(tag_is(value, variant), _all_of(checks), _TRUE, _BOOL) if checks else None


def _all_of(checks: list[Expr]) -> Expr:
    return reduce(lambda rest, check: Call("and", (check, rest), _BOOL), reversed(checks))
