"""Expressions as written become typed ones: names, fields, operators, literals, conditions.

Each function gives None where it has reported a mistake, so that one mistake gives one message. What is known not to be
null comes with the scope; conversions become explicit calls.
"""

from __future__ import annotations

from typing import assert_never

from ghcm import types
from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.expr import Call, Expr, Get, If, Literal, MakeList, MakeStruct, Try, Var, complete, fresh
from ghcm.expr import Lambda as TypedLambda
from ghcm.functions import FUNCTIONS, OPERATORS
from ghcm.language import ast
from ghcm.lowering import foreign_idioms
from ghcm.lowering.context import Context, Scope, Value, let_value
from ghcm.lowering.expressions.applications import CALLABLE, apply, operation
from ghcm.lowering.expressions.conversion import alike, alike_or_report, to_known
from ghcm.lowering.expressions.enums import enum_named, member_of
from ghcm.lowering.expressions.functions import DEEPEST, too_deep, too_large
from ghcm.lowering.expressions.lists_and_maps import EACH, WHOLE, Function, contained, for_each, of_whole, picked
from ghcm.lowering.expressions.matching import match_value
from ghcm.lowering.expressions.records import CHOICES, chosen_fields, record_value, updated
from ghcm.lowering.expressions.unions import is_record, type_in_union
from ghcm.lowering.narrowing import Outcome, known, path_of
from ghcm.lowering.types import has_null
from ghcm.source import Span
from ghcm.types import Type, as_nullable, is_nullable, strip, tuple_of

METHODS = (*EACH, *WHOLE, *CHOICES, "try")
"""What is called in expressions besides functions."""


def typed(written: ast.Expr, scope: Scope, context: Context) -> Expr | None:
    """The typed expression, or None after a report."""
    made = _typed(written, scope, context)
    if made is not None:
        context.note(written.span, made.type)
    return made


def _typed(written: ast.Expr, scope: Scope, context: Context) -> Expr | None:
    value = _value_of(context)
    match written:
        case ast.Literal():
            return _literal(written, 1, context)
        case ast.Ref():
            return named(written, scope, context)
        case ast.Attribute():
            return _field(written, scope, context)
        case ast.Apply():
            return _applied(written, scope, context)
        case ast.Unary(op="-", operand=ast.Literal() as literal):
            return _literal(literal, -1, context)
        case ast.Unary(op=op, operand=operand, span=span):
            inner = typed(operand, scope, context)
            name = "neg" if op == "-" else "not"
            return None if inner is None else operation(name, (inner,), span, context, op)
        case ast.Binary(op="and" | "or"):
            return _logic(written, scope, context)
        case ast.Binary(op="in" | "not in"):
            return contained(written, scope, context, value)
        case ast.Index() | ast.Slice():
            return picked(written, scope, context, value, part_of)
        case ast.Binary(op="is" | "is not", left=left):
            union = typed(left, scope, context)
            return None if union is None else is_record(written, union, context)
        case ast.Binary(op=op, left=left, right=right, span=span):
            first, second = typed(left, scope, context), typed(right, scope, context)
            if first is None or second is None:
                return None
            return operation(OPERATORS[op], (first, second), span, context, op)
        case ast.IsNull(operand=operand, negated=negated):
            inner = typed(operand, scope, context)
            return None if inner is None else Call("is_not_null" if negated else "is_null", (inner,), types.Bool())
        case ast.IfElse():
            return _if_else(written, scope, context)
        case ast.Let():
            return let_value(written, scope, context, value)
        case ast.Update():
            return updated(written, scope, context, value)
        case ast.Match():
            return match_value(written, scope, context, value)
        case ast.TupleExpr(items=items):
            parts = complete(typed(item, scope, context) for item in items)
            return None if parts is None else MakeStruct(parts, tuple_of(*(part.type for part in parts)))
        case ast.ListExpr():
            return _list(written, scope, context)
        case ast.RecordExpr():
            return record_value(written, scope, context, value)
        case ast.Lambda(span=span):
            message, hint = "a function stands where a value is asked for", "Its body alone is the value."
            return context.report(Code.BAD_LAMBDA, message, span, hint=hint)
        case _:
            assert_never(written)


def _applied(written: ast.Apply, scope: Scope, context: Context) -> Expr | None:
    """What is called: a method of lists or records, `try`, or a function."""
    value = _value_of(context)
    match written.function:
        case ast.Attribute(name=name) as of if name in EACH:
            return for_each(written, of, scope, context, value, _function_of(context))
        case ast.Attribute(name=name) as of if name in WHOLE:
            return of_whole(written, of, scope, context, value, _function_of(context))
        case ast.Attribute(name=name) as of if name in CHOICES:
            return chosen_fields(written, of, scope, context, value)
        case ast.Ref(name="try") | ast.Attribute(name="try"):
            return _try(written, scope, context)
        case _:
            return apply(written, scope, context, value)


def _value_of(context: Context) -> Value:
    """How the parts of an expression are typed."""

    def value(part: ast.Expr, inner: Scope) -> Expr | None:
        return typed(part, inner, context)

    return value


def condition(written: ast.Expr, scope: Scope, context: Context, what: str) -> Expr | None:
    """A typed expression that is true, false or null."""
    made = typed(written, scope, context)
    if made is None or strip(made.type) == types.Bool():
        return made
    hint = "A number is compared, for example with 0." if FUNCTIONS["abs"].rule((strip(made.type),)) else ""
    return context.report(Code.NOT_BOOL, f'{what} is "{made.type}" and not "bool"', written.span, hint=hint)


def lambda_of(
    written: ast.Expr, parameters: tuple[Type, ...], scope: Scope, context: Context, what: str, *, test: bool = False
) -> TypedLambda | None:
    """The typed function of parameters of these types; `test` asks for a condition as its body."""
    if not isinstance(written, ast.Lambda):
        example = "x => ..." if len(parameters) == 1 else "(a, b) => ..."
        context.report(Code.BAD_LAMBDA, f"{what} is not a function", written.span, hint=f'It is written "{example}".')
        return None
    if not _parameters_fit(written, parameters, scope, context, what):
        return None
    if too_deep(written.body):
        message = f"{what} nests deeper than {DEEPEST} levels"
        return context.report(Code.TOO_DEEP, message, written.span, hint="Several map(...) compute it in steps.")
    names = [parameter.text for parameter in written.parameters]
    taken = scope.taken
    variables = tuple(Var(fresh(name, taken), type_) for name, type_ in zip(names, parameters, strict=True))
    for parameter, type_ in zip(written.parameters, parameters, strict=True):
        context.note(parameter.span, type_)
    inner = scope.binding(dict(zip(names, variables, strict=True)))
    body = condition(written.body, inner, context, what) if test else typed(written.body, inner, context)
    if body is not None and context.functions and not taken and too_large(body):
        message = f"{what} is too large when the functions that it calls are written out"
        return context.report(Code.TOO_DEEP, message, written.span, hint="Several map(...) compute it in steps.")
    return None if body is None else TypedLambda(variables, body)


def _parameters_fit(written: ast.Lambda, wanted: tuple[Type, ...], scope: Scope, context: Context, what: str) -> bool:
    """Whether there are as many parameters as types, each under a name of its own; reported where not."""
    names = [parameter.text for parameter in written.parameters]
    if len(names) != len(wanted):
        takes = f"{len(wanted)} parameter{'s' if len(wanted) != 1 else ''}"
        message = f"{what} is a function of {takes}, and this one has {len(names)}"
        first = strip(wanted[0])
        pair = isinstance(first, types.Struct) and first.names[:2] == ("key", "value") and len(wanted) == 1
        hint = "A pair is one record: p => ... of p.key and p.value." if pair and len(names) == 2 else ""
        context.report(Code.BAD_LAMBDA, message, written.span, hint=hint)
        return False
    for index, parameter in enumerate(written.parameters):
        if parameter.text in names[:index]:
            message = f'parameter "{parameter.text}" stands here twice'
            context.report(Code.DECLARED_TWICE, message, parameter.span)
            return False
        if parameter.text in scope.parameters:
            message = f'"{parameter.text}" would hide the parameter of the unit of that name'
            context.report(Code.RESERVED, message, parameter.span)
            return False
    return True


def _function_of(context: Context) -> Function:
    """How the functions of lists are typed."""

    def function(written: ast.Expr, type_: Type, scope: Scope, what: str, test: bool) -> TypedLambda | None:
        return lambda_of(written, (type_,), scope, context, what, test=test)

    return function


def _try(written: ast.Apply, scope: Scope, context: Context) -> Expr | None:
    """`try(x)`: null where x fails."""
    receiver = (written.function.of,) if isinstance(written.function, ast.Attribute) else ()
    tried = (*receiver, *(each.value for each in written.arguments if each.name is None))
    if len(tried) != 1 or len(written.arguments) + len(receiver) != 1:
        message = '"try" takes one value'
        return context.report(Code.BAD_OPERANDS, message, written.span, hint='It is written "try(to_int(x))".')
    body = typed(tried[0], scope, context)
    if body is None or isinstance(body, Literal) or has_null(body.type):
        return body
    return Try(body, as_nullable(body.type))


def _literal(literal: ast.Literal, sign: int, context: Context) -> Expr | None:
    value = literal.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        if sign < 0:
            return context.report(Code.BAD_OPERANDS, f'"-" does not take "{literal.type}"', literal.span)
        return Literal(value, types.Null() if value is None else literal.type)
    number = value * sign
    if isinstance(number, int) and not -types.INT_MAX - 1 <= number <= types.INT_MAX:
        context.report(Code.OUT_OF_RANGE, f'{number} is too large for a "{literal.type}" of 64 bits', literal.span)
        return None
    return Literal(number, literal.type)


def _field(written: ast.Attribute, scope: Scope, context: Context) -> Expr | None:
    enum = enum_named(written.of, scope, context)
    if enum is not None:
        return member_of(written, enum, context)
    of = typed(written.of, scope, context)
    return None if of is None else part_of(of, written.name, written.name_span or written.span, scope, context)


def _logic(written: ast.Binary, scope: Scope, context: Context) -> Expr | None:
    """`and`, `or`: the right side knows that the left one has not decided."""
    left = condition(written.left, scope, context, f'the left side of "{written.op}"')
    undecided = Outcome.NOT_FALSE if written.op == "and" else Outcome.NOT_TRUE
    right_scope = scope if left is None else scope.knowing(known(left, undecided))
    right = condition(written.right, right_scope, context, f'the right side of "{written.op}"')
    if left is None or right is None:
        return None
    return operation(written.op, (left, right), written.span, context, written.op)


def _if_else(written: ast.IfElse, scope: Scope, context: Context) -> Expr | None:
    test = condition(written.condition, scope, context, "the condition")
    yes = typed(written.yes, scope if test is None else scope.knowing(known(test, Outcome.TRUE)), context)
    no = typed(written.no, scope if test is None else scope.knowing(known(test, Outcome.NOT_TRUE)), context)
    if test is None or yes is None or no is None:
        return None
    made = alike((yes, no), context)
    if made is None:
        message = f'the two sides of "if" have no type in common: "{yes.type}" and "{no.type}"'
        return context.report(Code.BRANCHES_DIFFER, message, written.span)
    (then, otherwise), type_ = made
    return If(test, then, otherwise, type_)


def _list(written: ast.ListExpr, scope: Scope, context: Context) -> Expr | None:
    items = complete(typed(item, scope, context) for item in written.items)
    if items is None:
        return None
    if not items:
        return MakeList((), types.List(types.Null()))
    made = alike_or_report(items, "the items of the list", "are", written.span, context)
    return None if made is None else MakeList(made[0], types.List(made[1]))


_REASONABLE = 12
"""So many names a message lists."""


def named(written: ast.Ref, scope: Scope, context: Context) -> Expr | None:
    """The value that a name stands for here, or None after a report."""
    name = written.name
    for names in (scope.variables, scope.parameters):
        if name in names:
            found = names[name]
            return None if found is None else _as_known(found, scope)
    _report_no_value(name, written.span, scope, context)
    return None


def _report_no_value(name: str, span: Span | None, scope: Scope, context: Context) -> None:
    kind = "collection" if name in scope.collections else context.kinds.get(name, "")
    if kind:
        hint = {
            "collection": "Records of another collection come in by join.",
            "sink": f"{name}.read() gives its records as a collection.",
            "record": f"{name} {{ ... }} makes one.",
            "enum": f"{name}.value is one of its values.",
            "union": "One of its records makes one.",
        }.get(kind, "")
        message = f'"{name}" is {"an" if kind == "enum" else "a"} {kind} and no value'
        context.report(Code.NOT_A_VALUE, message, span, hint=hint)
        return
    if name in CALLABLE:
        message = f'"{name}" is a function and is not called'
        context.report(Code.NOT_A_VALUE, message, span, hint=f'Write "{name}(...)".')
        return
    names = scope.names
    detail = f"Known here: {', '.join(names)}." if 0 < len(names) <= _REASONABLE else ""
    columns = _column_owner(name, scope)
    hint = (
        f'did you mean "{columns}.{name}"?' if columns else foreign_idioms.VALUES.get(name, "") or suggest(name, names)
    )
    context.report(Code.UNKNOWN_NAME, f'nothing is called "{name}" here', span, detail=detail, hint=hint)


def _column_owner(name: str, scope: Scope) -> str:
    """The lambda parameter that has a column of that name, which was perhaps meant."""
    for owner, expr in scope.variables.items():
        if isinstance(expr, Var):
            struct = strip(expr.type)
            if isinstance(struct, types.Struct) and struct.get(name):
                return owner
    return ""


def part_of(of: Expr, name: str, span: Span | None, scope: Scope, context: Context) -> Expr | None:
    """The field of that name, or None after a report."""
    struct = strip(of.type)
    if not isinstance(struct, types.Struct):
        called = name in CALLABLE and FUNCTIONS[CALLABLE[name]].method
        hint = f'A function is called: ".{name}()".' if called else ""
        if isinstance(struct, types.Map):
            hint = f'The value of a key is written ["{name}"].'
        return context.report(Code.NO_FIELD, f'cannot take "{name}" of "{of.type}": it has no fields', span, hint=hint)
    field = struct.get(name)
    if field is None:
        whose = f'"{struct}"' if struct.name else "the record"
        message = f'{whose} has no field "{name}"'
        detail = f"It has {', '.join(struct.names)}."
        return context.report(Code.NO_FIELD, message, span, detail=detail, hint=suggest(name, struct.names))
    if isinstance(of, MakeStruct) and all(path_of(each) is not None for each in of.values):
        return _as_known(of.values[struct.index(name)], scope)
    if struct.variants:
        return _of_union(of, field, span, scope, context)
    type_ = as_nullable(field.type) if is_nullable(of.type) else field.type
    return _as_known(Get(of, field.name, type_), scope)


def _of_union(of: Expr, field: types.Field, span: Span | None, scope: Scope, context: Context) -> Expr | None:
    """The field of a union, without its `?` where every record that it may be has it."""
    found = type_in_union(of, field.name, span, scope, context)
    if found is None:
        return None
    read = Get(of, field.name, as_nullable(field.type) if is_nullable(of.type) else field.type)
    certain = is_nullable(read.type) and not is_nullable(found) and not is_nullable(of.type)
    return to_known(read) if certain else _as_known(read, scope)


def _as_known(expr: Expr, scope: Scope) -> Expr:
    """The value that is read, without its `?` where it is known to be there."""
    return to_known(expr) if isinstance(expr.type, types.Nullable) and path_of(expr) in scope.facts else expr
