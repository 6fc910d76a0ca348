"""`let`: a value that is computed once and has a name. A place or a constant needs none and stands for itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ghcm.codes import Code
from ghcm.expr import Expr, Let, Literal, Var, fresh
from ghcm.language import ast
from ghcm.lowering.context import Context, Scope, Value
from ghcm.lowering.narrowing import path_of, present


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
    return keeping(given, name, scope, lambda kept, inner: value(written.body, inner.binding({name: kept})))


def keeping(given: Expr, wish: str, scope: Scope, body: Callable[[Expr, Scope], Expr | None]) -> Expr | None:
    """What `body` makes of a value, which is computed once however often it is mentioned, and of the scope in which it
    is.
    """
    if isinstance(given, Literal) or path_of(given) is not None:
        return body(given, scope)
    variable = Var(fresh(wish, scope.taken), given.type)
    implied = {**scope.implied, variable.name: present(given)}
    made = body(variable, replace(scope, implied=implied, taken=scope.taken | {variable.name}))
    return None if made is None else Let(variable, given, made, made.type)
