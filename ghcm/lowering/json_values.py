"""`json_to(text, Record)` and `json_to(text, [Record])`: JSON inside a column as records.

Where the fields stand in the JSON is no part of a type, so that the call carries it as text beside the type.
"""

from __future__ import annotations

from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.expr import Call, Expr, Literal
from ghcm.language import ast
from ghcm.lowering.context import Context, Scope, Value
from ghcm.source import Span
from ghcm.spg.notation.types import print_type
from ghcm.types import List, String, Struct, as_nullable, is_nullable, strip
from ghcm.types.unions import has_union

_HOW = "It is written json_to(text, Record), or json_to(text, [Record]) for a list of them."


def json_to(
    operands: tuple[ast.Argument, ...], span: Span | None, scope: Scope, context: Context, value: Value
) -> Expr | None:
    """The call, or None after a report."""
    if len(operands) != 2:
        context.report(Code.BAD_OPERANDS, '"json_to" takes a text and a record', span, hint=_HOW)
        return None
    text, type_ = value(operands[0].value, scope), _type(operands[1].value, scope, context)
    if text is None or type_ is None:
        return None
    if not isinstance(strip(text.type), String):
        message = f'"json_to" does not take "{text.type}"'
        context.report(Code.BAD_OPERANDS, message, operands[0].value.span, hint=_HOW)
        return None
    if has_union(type_):
        message = f'"json_to" makes no "{type_}", which holds a union'
        context.report(Code.BAD_UNION, message, operands[1].value.span, hint="A source reads unions.")
        return None
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
            context.report(Code.UNKNOWN_NAME, f'there is no record "{name}"', written.span, hint=hint)
        case _:
            context.report(Code.BAD_OPERANDS, '"json_to" takes the name of a record', written.span, hint=_HOW)
    return None
