"""Enums in expressions: `Proto.tcp`, `to_enum(s, Proto)`, and what is said of a text that is no value of one."""

import json

from ghcm.codes import Code
from ghcm.errors import Reported, both, suggest
from ghcm.expr import Call, Expr, Literal
from ghcm.language import ast
from ghcm.lowering.context import Context, Scope
from ghcm.source import Span
from ghcm.types import Enumeration, List, String, Type, member_text, nullable_like, strip

_REASONABLE = 12
"""So many values a message lists."""


def enum_named(written: ast.Expr, scope: Scope) -> str | None:
    """The name of the enum that an expression says, where nothing nearer has that name."""
    match written:
        case ast.Ref(name=name) if name in scope.context.records.enums and name not in scope.names:
            return name
        case _:
            return None


def member_of(written: ast.Attribute, name: str, context: Context) -> Expr:
    """`Proto.tcp`: a value of an enum."""
    enum = context.records.enum(name)
    if written.name in enum.values:
        return Literal(written.name, enum)
    raise report_no_value(enum, written.name, written.name_span or written.span, context)


def report_no_value(enum: Enumeration, text: str, span: Span | None, context: Context) -> Reported:
    """Say that a text is no value of an enum."""
    shown = ", ".join(map(member_text, enum.values[:_REASONABLE]))
    further = ", ..." if len(enum.values) > _REASONABLE else ""
    message = f'"{text}" is no value of "{enum}"'
    detail = f"Its values are {shown}{further}."
    return context.report(Code.NO_MEMBER, message, span, detail=detail, hint=suggest(text, enum.values))


def hint_of_enum(expr: Expr, to: Type) -> str:
    """How a string becomes a value of the enum asked for."""
    enum = strip(to)
    if not isinstance(enum, Enumeration) or not isinstance(strip(expr.type), String):
        return ""
    shown = enum.name or f"[{', '.join(json.dumps(each, ensure_ascii=False) for each in enum.values)}]"
    return f"to_enum(s, {shown}) reads a string as one of its values."


def to_enum(operands: tuple[ast.Argument, ...], span: Span | None, scope: Scope) -> Expr:
    """`to_enum(s, Proto)` or `to_enum(s, ["tcp", "udp"])`."""
    if len(operands) != 2:
        raise scope.report(Code.BAD_OPERANDS, '"to_enum" takes a string and an enum', span, hint=_HOW)
    written, values = (each.value for each in operands)
    text, enum = both(lambda: scope.typed(written), lambda: _values(values, scope))
    if not isinstance(strip(text.type), String):
        raise scope.report(Code.BAD_OPERANDS, f'"to_enum" does not take "{text.type}"', written.span, hint=_HOW)
    return Call("to_enum", (text, Literal(list(enum.values), List(enum))), nullable_like(enum, text.type))


_HOW = "It is written to_enum(s, Enum): a string as a value of an enum."


def _values(written: ast.Expr, scope: Scope) -> Enumeration:
    """The enum that is named or whose values are listed."""
    name, records = enum_named(written, scope), scope.context.records
    if name is not None:
        return records.enum(name)
    match written:
        case ast.ListExpr(items=(_, *_) as items):
            texts = tuple(each.value for each in items if isinstance(each, ast.Literal) and isinstance(each.value, str))
            if len(texts) == len(items) == len(set(texts)):
                return Enumeration(texts)
        case ast.Ref(name=unknown):
            message, hint = f'there is no enum "{unknown}"', suggest(unknown, records.enums) or _HOW
            raise scope.report(Code.UNKNOWN_NAME, message, written.span, hint=hint)
        case _:
            pass
    message = "the values of an enum are different constant strings"
    raise scope.report(Code.NOT_CONSTANT, message, written.span, hint=_HOW)
