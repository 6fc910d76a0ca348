"""Records in expressions: `Alarm { ts: f.ts }` against the record, `{ ts: f.ts }` as a record of its own, and records
made of others: `f with { bytes: 0 }`, `f.only(ts, src)`, `f.without(label)`, `json_to(text, Record)`.

Paths into the JSON are no part of a type, so that a call of `json_to` carries them as text beside the type.
"""

from __future__ import annotations

from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.expr import Call, Expr, Get, Literal, MakeStruct
from ghcm.language import ast
from ghcm.lowering.arguments import misspelt
from ghcm.lowering.context import Context, Scope, Value, let_bound
from ghcm.lowering.expressions.constants import how_written
from ghcm.lowering.expressions.conversion import convert
from ghcm.lowering.expressions.enums import hint_of_enum, report_constant
from ghcm.source import Span
from ghcm.spg.notation.types import print_type
from ghcm.types import Field, List, String, Struct, Type, as_nullable, is_nullable, strip
from ghcm.types.unification import unify
from ghcm.types.unions import has_union


def record_value(written: ast.RecordExpr, scope: Scope, context: Context, value: Value) -> Expr | None:
    """The struct that is made; every field is checked, so that all mistakes come at once."""
    given, complete = _given(written, scope, context, value)
    if written.name is None:
        if not complete:
            return None
        parts = {name: made for name, (made, _) in given.items() if made is not None}
        struct = Struct(tuple(Field(name, made.type) for name, made in parts.items()))
        return MakeStruct(tuple(parts.values()), struct)
    if written.name in context.records.unions:
        union = context.records.get(written.name)
        names = [each.name for each in union.variants] if union is not None else []
        message = f'"{written.name}" is a union, and one of its records makes one'
        hint = f"{names[0]} {{ ... }} is one." if names else ""
        return context.report(Code.BAD_UNION, message, written.span, hint=hint)
    if written.name not in context.records.names:
        hint = suggest(written.name, context.records.names)
        return context.report(Code.UNKNOWN_NAME, f'there is no record "{written.name}"', written.span, hint=hint)
    struct_type = context.records.get(written.name)
    return None if struct_type is None else _of_record(written, struct_type, given, complete, context)


_Given = dict[str, tuple[Expr | None, Span | None]]


def _given(written: ast.RecordExpr, scope: Scope, context: Context, value: Value) -> tuple[_Given, bool]:
    given: _Given = {}
    complete = True
    for name, part in written.fields:
        made = value(part, scope)
        complete = complete and made is not None
        if name.text in given:
            context.report(Code.FIELD_TWICE, f'field "{name.text}" is given twice', name.span)
            complete = False
        else:
            given[name.text] = (made, part.span or name.span)
    return given, complete


def _of_record(written: ast.RecordExpr, struct: Struct, given: _Given, complete: bool, context: Context) -> Expr | None:
    spans = {name.text: name.span for name, _ in written.fields}
    for name in given:
        if struct.get(name) is None:
            message = f'record "{struct.name}" has no field "{name}"'
            detail = f"Its fields are {', '.join(struct.names)}."
            hint = suggest(name, [other for other in struct.names if other not in given])
            context.report(Code.FIELD_UNKNOWN, message, spans[name], detail=detail, hint=hint)
            complete = False
    missing = [name for name in struct.names if name not in given]
    reported = misspelt([name for name in given if struct.get(name) is None], missing)
    complete = complete and not reported
    missing = [name for name in missing if name not in reported]
    if missing:
        context.report(
            Code.FIELD_MISSING,
            f'record "{struct.name}" is made without {", ".join(f"{name!r}" for name in missing)}'.replace("'", '"'),
            written.span,
            hint="A field that has no value is given null, where its type has a ?.",
        )
    values: list[Expr] = []
    for field in struct.fields:
        made, span = given.get(field.name, (None, None))
        if made is not None:
            fitting = fits(made, field.type, f'field "{field.name}" of "{struct.name}"', span, context)
            values += [] if fitting is None else [fitting]
    return MakeStruct(tuple(values), struct) if complete and len(values) == len(struct.fields) else None


def fits(
    expr: Expr, to: Type, what: str, span: Span | None, context: Context, code: Code = Code.WRONG_TYPE
) -> Expr | None:
    """The expression converted to what `what` asks for, or None after a report of the difference."""
    converted = convert(expr, to)
    if converted is not None:
        return converted
    if code is Code.WRONG_TYPE and report_constant(expr, to, span, context):
        return None
    if is_nullable(expr.type) and not is_nullable(to) and (expr.type == strip(expr.type) or _would_fit(expr, to)):
        message = f'{what} is "{to}" and cannot be null, but this may be'
        detail = f'Expected "{to}", found "{expr.type}".'
        hint = '"x ?? other" replaces null; behind filter(f => f.x is not null) it is known to be there.'
        return context.report(
            Code.MAY_BE_NULL if code is Code.WRONG_TYPE else code, message, span, detail=detail, hint=hint
        )
    else:
        hint = hint_of_enum(expr, to) or (how_written(to) if strip(expr.type) == String() else "")
        message = f'{what} is "{to}", but this is "{expr.type}"'
        return context.report(code, message, span, detail=_difference(to, expr.type), hint=hint)


def _would_fit(expr: Expr, to: Type) -> bool:
    return unify(strip(expr.type), to) == to


def _difference(to: Type, found: Type) -> str:
    """What exactly differs between two records, where both are."""
    union = strip(to)
    if isinstance(union, Struct) and union.variants:
        return f"A value of it is one of {', '.join(each.name for each in union.variants)}."
    if not isinstance(to, Struct) or not isinstance(found, Struct):
        return ""
    if set(to.names) == set(found.names) and to.names != found.names:
        return f"The order of the fields differs: {', '.join(to.names)} against {', '.join(found.names)}."
    parts = [
        *(f'"{name}" is missing' for name in to.names if found.get(name) is None),
        *(f'"{name}" is one too many' for name in found.names if to.get(name) is None),
        *(
            f'"{mine.name}" is "{other.type}" and not "{mine.type}"'
            for mine in to.fields
            if (other := found.get(mine.name)) is not None and other.type != mine.type
        ),
    ]
    return f"{', '.join(parts)}." if parts else ""


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

    return let_bound(of, "record", scope, rebuilt)


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
            return context.report(Code.BAD_OPERANDS, f'"{of.name}" takes names of fields', argument.span, hint=hint)
        if struct.get(name.name) is None:
            _unknown(name.name, struct, name.span, context)
            return None
        if name.name in names:
            return context.report(Code.FIELD_TWICE, f'field "{name.name}" is named twice', name.span)
        names.append(name.name)
    kept = names if of.name == "only" else [name for name in struct.names if name not in names]
    if not kept:
        return context.report(Code.BAD_OPERANDS, f'"{of.name}" leaves no field', written.span)
    fields = [struct.fields[struct.index(name)] for name in kept]
    type_ = Struct(tuple(Field(each.name, each.type) for each in fields))

    def parts(it: Expr, _: Scope) -> Expr:
        return MakeStruct(tuple(Get(it, each.name, each.type) for each in fields), type_)

    return let_bound(record, "record", scope, parts)


def _record(of: Expr, what: str, span: Span | None, context: Context) -> Struct | None:
    struct = strip(of.type)
    if not isinstance(struct, Struct):
        return context.report(Code.NO_FIELD, f'"{what}" is of records, and this is "{of.type}"', span)
    if struct.variants:
        message = f'"{what}" is of records, and "{struct}" is one of {", ".join(each.name for each in struct.variants)}'
        hint = f"match e {{ {struct.variants[0].name} x => ... }} has the record, of which another is made."
        return context.report(Code.BAD_UNION, message, span, hint=hint)
    if is_nullable(of.type):
        hint = "if r is null then null else ... gives null for it."
        return context.report(Code.MAY_BE_NULL, f'"{what}" is of records, and this one may be null', span, hint=hint)
    return struct


def _unknown(name: str, struct: Struct, span: Span | None, context: Context) -> None:
    whose = f'"{struct}"' if struct.name else "the record"
    detail = f"It has {', '.join(struct.names)}."
    hint = suggest(name, struct.names)
    context.report(Code.NO_FIELD, f'{whose} has no field "{name}"', span, detail=detail, hint=hint)


_HOW = "It is written json_to(text, Record), or json_to(text, [Record]) for a list of them."


def json_to(
    operands: tuple[ast.Argument, ...], span: Span | None, scope: Scope, context: Context, value: Value
) -> Expr | None:
    """The call, or None after a report."""
    if len(operands) != 2:
        return context.report(Code.BAD_OPERANDS, '"json_to" takes a text and a record', span, hint=_HOW)
    text, type_ = value(operands[0].value, scope), _type(operands[1].value, scope, context)
    if text is None or type_ is None:
        return None
    if not isinstance(strip(text.type), String):
        message = f'"json_to" does not take "{text.type}"'
        return context.report(Code.BAD_OPERANDS, message, operands[0].value.span, hint=_HOW)
    if has_union(type_):
        message = f'"json_to" makes no "{type_}", which holds a union'
        return context.report(Code.BAD_UNION, message, operands[1].value.span, hint="A source reads unions.")
    witness, spelt = Literal([], List(type_)), Literal(print_type(type_), String())
    return Call("json_to", (text, witness, spelt), as_nullable(type_) if is_nullable(text.type) else type_)


def _type(written: ast.Expr, scope: Scope, context: Context) -> Struct | List | None:
    """The record that is named, or the list of it; None after a report."""
    match written:
        case ast.Ref(name=name) if name in context.records.names and name not in scope.names:
            return context.records.get(name)
        case ast.ListExpr(items=(ast.Ref() as one,)):
            record = _type(one, scope, context)
            return None if record is None else List(record)
        case ast.Ref(name=name) if name not in scope.names:
            hint = suggest(name, context.records.names) or _HOW
            return context.report(Code.UNKNOWN_NAME, f'there is no record "{name}"', written.span, hint=hint)
        case _:
            return context.report(Code.BAD_OPERANDS, '"json_to" takes the name of a record', written.span, hint=_HOW)
