"""Record literals: `Alarm { ts: f.ts }` against the record, and `{ ts: f.ts }` as a record of its own."""

from __future__ import annotations

from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.expr import Expr, MakeStruct
from ghcm.language import ast
from ghcm.lowering.arguments import misspelt
from ghcm.lowering.constants import how_written
from ghcm.lowering.context import Context, Scope, Value
from ghcm.lowering.conversion import convert
from ghcm.lowering.enums import hint_of_enum, report_constant
from ghcm.source import Span
from ghcm.types import Field, String, Struct, Type, is_nullable, strip
from ghcm.types.unification import unify


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
        context.report(Code.BAD_UNION, message, written.span, hint=hint)
        return None
    if written.name not in context.records.names:
        context.report(
            Code.UNKNOWN_NAME,
            f'there is no record "{written.name}"',
            written.span,
            hint=suggest(written.name, context.records.names),
        )
        return None
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
            context.report(
                Code.FIELD_UNKNOWN,
                f'record "{struct.name}" has no field "{name}"',
                spans[name],
                detail=f"Its fields are {', '.join(struct.names)}.",
                hint=suggest(name, [other for other in struct.names if other not in given]),
            )
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
        context.report(
            Code.MAY_BE_NULL if code is Code.WRONG_TYPE else code,
            f'{what} is "{to}" and cannot be null, but this may be',
            span,
            detail=f'Expected "{to}", found "{expr.type}".',
            hint='"x ?? other" replaces null; behind filter(f => f.x is not null) it is known to be there.',
        )
    else:
        hint = hint_of_enum(expr, to) or (how_written(to) if strip(expr.type) == String() else "")
        message = f'{what} is "{to}", but this is "{expr.type}"'
        context.report(code, message, span, detail=_difference(to, expr.type), hint=hint)
    return None


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
