"""Records made of others: `f with { bytes: 0 }`, `f.only(ts, src)`, `f.without(label)`."""

from __future__ import annotations

from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.expr import Expr, Get, MakeStruct
from ghcm.language import ast
from ghcm.lowering.context import Context, Scope, Value
from ghcm.lowering.keeping import keeping
from ghcm.lowering.records import fits
from ghcm.source import Span
from ghcm.types import Field, Struct, is_nullable, strip

CHOICES = ("only", "without")
"""The methods that choose fields of a record by name."""


def updated(written: ast.Update, scope: Scope, context: Context, value: Value) -> Expr | None:
    """The record with other values in some fields, of the same type; all mistakes are reported."""
    of = value(written.of, scope)
    given = [(name, value(part, scope), part.span) for name, part in written.fields]
    struct = None if of is None else _record(of, "with", written.of.span, context)
    if of is None or struct is None:
        return None
    made: dict[str, Expr] = {}
    for name, part, span in given:
        field = struct.get(name.text)
        if field is None:
            _unknown(name.text, struct, name.span, context)
        elif name.text in made:
            context.report(Code.FIELD_TWICE, f'field "{name.text}" is given twice', name.span)
        elif part is not None:
            fitting = fits(part, field.type, f'field "{name.text}"', span, context)
            made |= {} if fitting is None else {name.text: fitting}
    if len(made) < len(given):
        return None

    def rebuilt(record: Expr, _: Scope) -> Expr:
        parts = (made.get(each.name) or Get(record, each.name, each.type) for each in struct.fields)
        return MakeStruct(tuple(parts), struct)

    return keeping(of, "record", scope, rebuilt)


def chosen_fields(written: ast.Apply, of: ast.Attribute, scope: Scope, context: Context, value: Value) -> Expr | None:
    """The record of the fields that `only` names, in that order, or that `without` leaves."""
    record = value(of.of, scope)
    struct = None if record is None else _record(record, of.name, of.name_span, context)
    if record is None or struct is None:
        return None
    names: list[str] = []
    for argument in written.arguments:
        name = argument.value
        if not isinstance(name, ast.Ref) or argument.name is not None:
            hint = f'It is written "r.{of.name}(a, b)".'
            context.report(Code.BAD_OPERANDS, f'"{of.name}" takes names of fields', argument.span, hint=hint)
            return None
        if struct.get(name.name) is None:
            _unknown(name.name, struct, name.span, context)
            return None
        if name.name in names:
            context.report(Code.FIELD_TWICE, f'field "{name.name}" is named twice', name.span)
            return None
        names.append(name.name)
    kept = names if of.name == "only" else [name for name in struct.names if name not in names]
    if not kept:
        context.report(Code.BAD_OPERANDS, f'"{of.name}" leaves no field', written.span)
        return None
    fields = [struct.fields[struct.index(name)] for name in kept]
    type_ = Struct(tuple(Field(each.name, each.type) for each in fields))

    def parts(it: Expr, _: Scope) -> Expr:
        return MakeStruct(tuple(Get(it, each.name, each.type) for each in fields), type_)

    return keeping(record, "record", scope, parts)


def _record(of: Expr, what: str, span: Span | None, context: Context) -> Struct | None:
    struct = strip(of.type)
    if not isinstance(struct, Struct):
        context.report(Code.NO_FIELD, f'"{what}" is of records, and this is "{of.type}"', span)
        return None
    if struct.variants:
        message = f'"{what}" is of records, and "{struct}" is one of {", ".join(each.name for each in struct.variants)}'
        hint = f"match e {{ {struct.variants[0].name} x => ... }} has the record, of which another is made."
        context.report(Code.BAD_UNION, message, span, hint=hint)
        return None
    if is_nullable(of.type):
        hint = "if r is null then null else ... gives null for it."
        context.report(Code.MAY_BE_NULL, f'"{what}" is of records, and this one may be null', span, hint=hint)
        return None
    return struct


def _unknown(name: str, struct: Struct, span: Span | None, context: Context) -> None:
    whose = f'"{struct}"' if struct.name else "the record"
    detail = f"It has {', '.join(struct.names)}."
    hint = suggest(name, struct.names)
    context.report(Code.NO_FIELD, f'{whose} has no field "{name}"', span, detail=detail, hint=hint)
