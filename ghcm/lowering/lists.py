"""Methods of lists that take a function: `xs.map(x => ...)`, `filter`, `any`, `all`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, assert_never

from ghcm.expr import Each, Expr, ForEach, Lambda
from ghcm.language import ast
from ghcm.lowering.codes import Code
from ghcm.lowering.context import Context, Scope, Value
from ghcm.lowering.narrowing import Outcome, known, narrow
from ghcm.types import Bool, List, Type, as_nullable, is_nullable, strip

__all__ = ["EACH", "Function", "for_each"]

Function: TypeAlias = Callable[[ast.Expr, Type, Scope, str, bool], Lambda | None]
"""The typed function of one value of a type; the last argument asks for a condition."""

EACH = {each.value: each for each in Each}
"""The methods by name."""


def for_each(
    written: ast.Apply, of: ast.Attribute, scope: Scope, context: Context, value: Value, function: Function
) -> Expr | None:
    """The typed call of such a method, or None after a report."""
    kind, span = EACH[of.name], of.name_span or of.span
    items = value(of.of, scope)
    if items is None:
        return None
    type_ = strip(items.type)
    if not isinstance(type_, List):
        message = f'"{of.name}" goes through the items of a list, and this is "{items.type}"'
        hint = f'"{of.name}" of a collection stands outside of this function, where there is one record.'
        context.report(Code.BAD_OPERANDS, message, span, hint=hint)
        return None
    if len(written.arguments) != 1 or written.arguments[0].name is not None:
        message = f'"{of.name}" takes one function'
        context.report(Code.BAD_LAMBDA, message, written.span, hint=f'It is written "list.{of.name}(x => ...)".')
        return None
    test = kind is not Each.MAP
    made = function(written.arguments[0].value, type_.item, scope, f'the function of "{of.name}"', test)
    return None if made is None else _typed(kind, items, type_, made)


def _typed(kind: Each, items: Expr, type_: List, function: Lambda) -> ForEach:
    (item,), body, nullable = function.parameters, function.body, is_nullable(items.type)
    match kind:
        case Each.MAP:
            made: Type = List(body.type)
        case Each.FILTER:
            made = List(narrow(type_.item, known(body, Outcome.TRUE), item.name))
        case Each.ANY | Each.ALL:
            made, nullable = Bool(), nullable or is_nullable(body.type)
        case _:
            assert_never(kind)
    return ForEach(kind, items, item, body, as_nullable(made) if nullable else made)
