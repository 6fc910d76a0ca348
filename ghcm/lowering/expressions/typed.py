"""Expressions as written become typed ones: names, fields, operators, literals, conditions.

A mistake is reported and raised, and caught where other parts can still be checked, so that each gives one message.
What is known not to be null comes with the scope; conversions become explicit calls.
"""

from typing import assert_never

from ghcm import types
from ghcm.codes import Code
from ghcm.errors import Reported, both, every, suggest
from ghcm.expr import Call, Expr, If, Literal, MakeList, MakeStruct, Try, Var
from ghcm.functions import OPERATORS
from ghcm.language import ast
from ghcm.lowering import foreign_idioms
from ghcm.lowering.context import Context, Scope, let_value
from ghcm.lowering.expressions.applications import CALLABLE, apply, operation
from ghcm.lowering.expressions.conversion import alike, alike_or_report
from ghcm.lowering.expressions.enums import enum_named, member_of
from ghcm.lowering.expressions.functions import condition
from ghcm.lowering.expressions.matching import match_value
from ghcm.lowering.expressions.parts import EACH, WHOLE, as_known, contained, for_each, of_whole, part_of, picked
from ghcm.lowering.expressions.records import CHOICES, chosen_fields, record_value, updated
from ghcm.lowering.expressions.unions import is_record
from ghcm.lowering.narrowing import Outcome, known
from ghcm.lowering.types import has_null
from ghcm.source import Span
from ghcm.types import as_nullable, strip, tuple_of

METHODS = (*EACH, *WHOLE, *CHOICES, "try")
"""What is called in expressions besides functions."""


def typed(written: ast.Expr, scope: Scope) -> Expr:
    """The typed expression."""
    made = _typed(written, scope)
    scope.context.note(written.span, made.type)
    return made


def _typed(written: ast.Expr, scope: Scope) -> Expr:
    context = scope.context
    match written:
        case ast.Literal():
            return _literal(written, 1, context)
        case ast.Ref():
            return named(written, scope)
        case ast.Attribute():
            enum = enum_named(written.of, scope)
            if enum is not None:
                return member_of(written, enum, context)
            if isinstance(written.of, ast.Ref):
                _check_owner(written.of, written.name, scope)
            return part_of(scope.typed(written.of), written.name, written.name_span or written.span, scope)
        case ast.Apply():
            return _applied(written, scope)
        case ast.Unary(op="-", operand=ast.Literal() as literal):
            return _literal(literal, -1, context)
        case ast.Unary(op=op, operand=operand, span=span):
            return operation("neg" if op == "-" else "not", (scope.typed(operand),), span, context, op)
        case ast.Binary(op="and" | "or"):
            return _logic(written, scope)
        case ast.Binary(op="in" | "not in"):
            return contained(written, scope)
        case ast.Index() | ast.Slice():
            return picked(written, scope)
        case ast.Binary(op="is" | "is not"):
            return is_record(written, scope)
        case ast.Binary(op=op, left=left, right=right, span=span):
            return operation(OPERATORS[op], every(scope.typed, (left, right)), span, context, op)
        case ast.IsNull(operand=operand, negated=negated):
            return Call("is_not_null" if negated else "is_null", (scope.typed(operand),), types.Bool())
        case ast.IfElse():
            return _if_else(written, scope)
        case ast.Let():
            return let_value(written, scope)
        case ast.Update():
            return updated(written, scope)
        case ast.Match():
            return match_value(written, scope)
        case ast.TupleExpr(items=items):
            parts = every(scope.typed, items)
            return MakeStruct(parts, tuple_of(*(part.type for part in parts)))
        case ast.ListExpr(items=items):
            parts = every(scope.typed, items)
            if not parts:
                return MakeList((), types.List(types.Null()))
            parts, type_ = alike_or_report(parts, "the items of the list", "are", written.span, context)
            return MakeList(parts, types.List(type_))
        case ast.RecordExpr():
            return record_value(written, scope)
        case ast.Lambda(span=span):
            message, hint = "a function stands where a value is asked for", "Its body alone is the value."
            raise context.report(Code.BAD_LAMBDA, message, span, hint=hint)
        case _:
            assert_never(written)


def _applied(written: ast.Apply, scope: Scope) -> Expr:
    match written.function:
        case ast.Attribute(name=name) as of if name in EACH:
            return for_each(written, of, scope)
        case ast.Attribute(name=name) as of if name in WHOLE:
            return of_whole(written, of, scope)
        case ast.Attribute(name=name) as of if name in CHOICES:
            return chosen_fields(written, of, scope)
        case ast.Ref(name="try") | ast.Attribute(name="try"):
            return _try(written, scope)
        case _:
            return apply(written, scope)


def _try(written: ast.Apply, scope: Scope) -> Expr:
    """`try(x)`: null where x fails."""
    receiver = (written.function.of,) if isinstance(written.function, ast.Attribute) else ()
    tried = (*receiver, *(each.value for each in written.arguments if each.name is None))
    if len(tried) != 1 or len(written.arguments) + len(receiver) != 1:
        message = '"try" takes one value'
        raise scope.report(Code.BAD_OPERANDS, message, written.span, hint='It is written "try(to_int(x))".')
    body = scope.typed(tried[0])
    return body if isinstance(body, Literal) or has_null(body.type) else Try(body, as_nullable(body.type))


def _literal(literal: ast.Literal, sign: int, context: Context) -> Expr:
    value = literal.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        if sign < 0:
            raise context.report(Code.BAD_OPERANDS, f'"-" does not take "{literal.type}"', literal.span)
        return Literal(value, types.Null() if value is None else literal.type)
    number = value * sign
    if isinstance(number, int) and not -types.INT_MAX - 1 <= number <= types.INT_MAX:
        message = f'{number} is too large for a "{literal.type}" of 64 bits'
        raise context.report(Code.OUT_OF_RANGE, message, literal.span)
    return Literal(number, literal.type)


def _logic(written: ast.Binary, scope: Scope) -> Expr:
    """`and`, `or`: the right side knows that the left one has not decided."""
    what = f'side of "{written.op}"'
    undecided = Outcome.NOT_FALSE if written.op == "and" else Outcome.NOT_TRUE
    try:
        left = condition(written.left, scope, f"the left {what}")
    except Reported:
        condition(written.right, scope, f"the right {what}")
        raise
    right = condition(written.right, scope.knowing(known(left, undecided)), f"the right {what}")
    return operation(written.op, (left, right), written.span, scope.context, written.op)


def _if_else(written: ast.IfElse, scope: Scope) -> Expr:
    try:
        test = condition(written.condition, scope, "the condition")
    except Reported:
        every(scope.typed, (written.yes, written.no))
        raise
    yes, no = both(
        lambda: scope.knowing(known(test, Outcome.TRUE)).typed(written.yes),
        lambda: scope.knowing(known(test, Outcome.NOT_TRUE)).typed(written.no),
    )
    made = alike((yes, no), scope.context)
    if made is None:
        message = f'the two sides of "if" have no type in common: "{yes.type}" and "{no.type}"'
        raise scope.report(Code.BRANCHES_DIFFER, message, written.span)
    (then, otherwise), type_ = made
    return If(test, then, otherwise, type_)


_REASONABLE = 12
"""So many names a message lists."""


def named(written: ast.Ref, scope: Scope) -> Expr:
    """The value that a name stands for here."""
    name = written.name
    for names in (scope.variables, scope.parameters):
        if name in names:
            found = names[name]
            if found is None:
                raise Reported
            return as_known(found, scope)
    raise _no_value(name, written.span, scope)


def _check_owner(owner: ast.Ref, field: str, scope: Scope) -> None:
    """Report `r.n` where fields stand alone, as in the arguments of aggregates, and nothing is called `r`."""
    if field in scope.variables and owner.name not in scope.variables and owner.name not in scope.parameters:
        raise _no_value(owner.name, owner.span, scope, f'Fields stand alone here: write "{field}".')


def _no_value(name: str, span: Span | None, scope: Scope, said: str = "") -> Reported:
    kind = "collection" if name in scope.collections else scope.context.kinds.get(name, "")
    if kind:
        hint = {
            "collection": "Records of another collection come in by join(other, on = (l, r) => l.id == r.id).",
            "sink": f"{name}.read() gives its records as a collection.",
            "record": f"{name} {{ ... }} makes one.",
            "enum": f"{name}.value is one of its values.",
            "union": "One of its records makes one.",
        }.get(kind, "")
        message = f'"{name}" is {"an" if kind == "enum" else "a"} {kind} and no value'
        return scope.report(Code.NOT_A_VALUE, message, span, hint=hint)
    if name in CALLABLE:
        message = f'"{name}" is a function and is not called'
        return scope.report(Code.NOT_A_VALUE, message, span, hint=f'Write "{name}(...)".')
    names = scope.names
    detail = f"Known here: {', '.join(names)}." if 0 < len(names) <= _REASONABLE else ""
    owner = _column_owner(name, scope)
    meant = f'did you mean "{owner}.{name}"?' if owner else foreign_idioms.VALUES.get(name, "") or suggest(name, names)
    hint = said or meant
    return scope.report(Code.UNKNOWN_NAME, f'nothing is called "{name}" here', span, detail=detail, hint=hint)


def _column_owner(name: str, scope: Scope) -> str:
    """The lambda parameter that has a column of that name, which was perhaps meant."""
    for owner, expr in scope.variables.items():
        if isinstance(expr, Var):
            struct = strip(expr.type)
            if isinstance(struct, types.Struct) and struct.get(name):
                return owner
    return ""
