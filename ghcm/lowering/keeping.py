"""`let`: a value that is computed once and has a name. A place or a constant needs none and stands for itself."""

from __future__ import annotations

from collections.abc import Callable

from ghcm.bindings import fresh
from ghcm.expr import Expr, Let, Literal, Var
from ghcm.language import ast
from ghcm.lowering.applications import Value
from ghcm.lowering.codes import Code
from ghcm.lowering.context import Context, Scope
from ghcm.lowering.narrowing import path_of

__all__ = ["keeping", "let_value"]


def let_value(written: ast.Let, scope: Scope, context: Context, value: Value) -> Expr | None:
    """The typed body of a `let`."""
    name = written.name.text
    if name in scope.parameters:
        message = f'"{name}" would hide the parameter of the unit of that name'
        context.report(Code.RESERVED, message, written.name.span)
        return None
    given = value(written.value, scope)
    if given is None:
        value(written.body, scope.binding({name: None}))
        return None
    return keeping(given, name, scope, lambda kept: value(written.body, scope.binding({name: kept})))


def keeping(given: Expr, wish: str, scope: Scope, body: Callable[[Expr], Expr | None]) -> Expr | None:
    """What `body` makes of a value, which is computed once however often it is mentioned."""
    if isinstance(given, Literal) or path_of(given) is not None:
        return body(given)
    variable = Var(fresh(wish, scope.bound), given.type)
    made = body(variable)
    return None if made is None else Let(variable, given, made, made.type)
