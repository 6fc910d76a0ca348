"""Unions in expressions: `e is Login`, fields of a record that a union may be, its records as unions and back, and the
check of what comes from outside.
"""

from __future__ import annotations

from ghcm import types
from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.expr import Call, Each, Expr, ForEach, Get, If, Let, Literal, MakeStruct, Var
from ghcm.language import ast
from ghcm.lowering.context import Context, Scope
from ghcm.lowering.narrowing import left_of, path_of
from ghcm.source import Span
from ghcm.types import Type, as_nullable, is_nullable, strip
from ghcm.types.unions import field_in


def variant_named(name: str, type_: Type, span: Span | None, context: Context) -> types.Variant | None:
    """The record of that name of a union; None after a report."""
    union = strip(type_)
    assert isinstance(union, types.Struct)
    found = next((each for each in union.variants if each.name == name), None)
    if found is None:
        names = [each.name for each in union.variants]
        message = f'"{union.name}" is never "{name}" here'
        detail = f"It is {', '.join(names)}."
        context.report(Code.BAD_UNION, message, span, detail=detail, hint=suggest(name, names))
    return found


def tag_is(of: Expr, variant: types.Variant) -> Expr:
    """Whether a union is this record; null for null."""
    union = strip(of.type)
    assert isinstance(union, types.Struct)
    tag = union.fields[0]
    nullable = is_nullable(of.type)
    read = Get(of, tag.name, as_nullable(tag.type) if nullable else tag.type)
    return Call(
        "eq", (read, Literal(variant.text, tag.type)), types.Nullable(types.Bool()) if nullable else types.Bool()
    )


def is_record(written: ast.Binary, of: Expr, context: Context) -> Expr | None:
    """`e is Login`, `e is not Login`."""
    union = strip(of.type)
    hint = "x is null, x is not null and e is Record are written so."
    if not isinstance(union, types.Struct) or not union.variants:
        message = f'"{written.op}" asks which record a union is, but this is "{of.type}"'
        return context.report(Code.BAD_UNION, message, written.span, hint=hint)
    if not isinstance(written.right, ast.Ref):
        message = f'behind "{written.op}" stands the name of a record of "{union.name}"'
        return context.report(Code.BAD_UNION, message, written.right.span, hint=hint)
    variant = variant_named(written.right.name, of.type, written.right.span, context)
    if variant is None:
        return None
    test = tag_is(of, variant)
    return test if written.op == "is" else Call("not", (test,), test.type)


def type_in_union(of: Expr, name: str, span: Span | None, scope: Scope, context: Context) -> Type | None:
    """The type of a field of a union, which all records have that it may be here; None after a report."""
    union = strip(of.type)
    assert isinstance(union, types.Struct)
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
        return context.report(Code.NO_FIELD, f'"{kind}" has no field "{name}"', span, hint=suggest(name, names))
    message = f'"{name}" is a field of {" and ".join(owners)}, and this "{union.name}" may be another record'
    hint = f"match e {{ {owners[0]} x => x.{name}, _ => ... }}, or behind filter(e => e is {owners[0]})."
    return context.report(Code.BAD_UNION, message, span, detail=f"{others} has no such field.", hint=hint)


def as_record(union: Expr, variant: types.Variant) -> Expr:
    """A union that is known to be this record, as the record."""
    struct = union.type
    assert isinstance(struct, types.Struct)
    values: list[Expr] = []
    for field in variant.record.fields:
        held = struct.get(field.name)
        assert held is not None, "a union has the fields of its records"
        read = Get(union, field.name, held.type)
        known = is_nullable(held.type) and not is_nullable(field.type)
        values.append(Call("known", (read,), strip(held.type)) if known else read)
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
            return None if inner is None else _unless(Call("is_null", (value,), types.Bool()), inner)
        case types.List(item=item):
            each = Var("each", item)
            inner = conforms(each)
            return None if inner is None else ForEach(Each.ALL, value, each, inner, types.Bool())
        case types.Struct(fields=fields) as struct:
            checks = [_has_fields(value, struct, variant) for variant in struct.variants]
            checks += [conforms(Get(value, field.name, field.type)) for field in fields]
            found = [each for each in checks if each is not None]
            for check in reversed(found[:-1]):
                found[-1] = Call("and", (check, found[-1]), types.Bool())
            return found[-1] if found else None
        case _:  # other types hold no union
            return None


def _has_fields(value: Expr, union: types.Struct, variant: types.Variant) -> Expr | None:
    """That nothing is missing where the union is this record."""
    checks: list[Expr] = []
    for field in variant.record.fields:
        held = union.get(field.name)
        if held is not None and is_nullable(held.type) and not is_nullable(field.type):
            there = Call("is_not_null", (Get(value, field.name, held.type),), types.Bool())
            missing = f'field "{field.name}" of "{variant.name}" is missing'
            checks.append(Call("ensure", (there, Literal(missing, types.String())), types.Bool()))
    if not checks:
        return None
    for check in reversed(checks[:-1]):
        checks[-1] = Call("and", (check, checks[-1]), types.Bool())
    return If(tag_is(value, variant), checks[-1], Literal(True, types.Bool()), types.Bool())


def _unless(absent: Expr, check: Expr) -> Expr:
    return If(absent, Literal(True, types.Bool()), check, types.Bool())
