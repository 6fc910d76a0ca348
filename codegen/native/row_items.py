"""Lambdas over lists, `let` and `try` as Python: comprehensions, and names that an expression keeps."""

from __future__ import annotations

from typing import Protocol, assert_never

from ghcm.codegen.expressions import can_fail
from ghcm.codegen.native.names import Names
from ghcm.codegen.native.row_functions import perhaps_null
from ghcm.codegen.native.row_text import ATOM, IF, OR, Code
from ghcm.expr import Each, Expr, ForEach, Let, Var
from ghcm.types import is_nullable


class Scope(Protocol):
    """What is asked of the expression around it."""

    names: Names

    def value(self, expr: Expr) -> Code:
        """The code of an expression."""
        ...

    def inside(self, variable: Var, code: Code, body: Expr) -> Code:
        """The code of an expression in which a name is bound."""
        ...

    def temporary(self, code: Code, wish: str = "t") -> tuple[str, str]:
        """Code that keeps the value and code that repeats it."""
        ...


def for_each(scope: Scope, expr: ForEach) -> Code:
    """A comprehension; null of a null list."""
    items = scope.value(expr.list)
    if perhaps_null(expr.list):
        first, again = scope.temporary(items, "items")
        return Code(f"None if {first} is None else {_loop(scope, expr, again).at(IF)}", IF)
    if ":=" in items.text:  # Python keeps no value inside what a comprehension goes through
        first, again = scope.temporary(items, "items")
        return Code(f"({first}, {_loop(scope, expr, again).inner})[1]")
    return _loop(scope, expr, items.at(OR))


def _loop(scope: Scope, expr: ForEach, items: str) -> Code:
    name = scope.names.new(expr.item.name)
    body = scope.inside(expr.item, Code(name, simple=True), expr.body)
    match expr.kind:
        case Each.MAP:
            return Code(f"[{body.inner} for {name} in {items}]")
        case Each.FILTER:
            return Code(f"[{name} for {name} in {items} if {body.at(OR)}]")
        case Each.ANY | Each.ALL:
            values = f"[{body.inner} for {name} in {items}]"
            plain = not is_nullable(expr.body.type)
            helper = expr.kind.value if plain else f"checked.{expr.kind.value}_of"
            return Code(f"{helper}({values})")
        case _:
            assert_never(expr.kind)


def let(scope: Scope, expr: Let) -> Code:
    """The body beside a value that is kept under a name: the second of the two is the result."""
    value = scope.value(expr.value)
    name = scope.names.new(expr.variable.name)
    body = scope.inside(expr.variable, Code(name, simple=True), expr.body)
    return Code(f"(({name} := {value.inner}), {body.inner})[1]")


def attempt(scope: Scope, body: Expr) -> Code:
    """The value, or None where it fails."""
    code = scope.value(body)
    return Code(f"checked.attempt(lambda: {code.inner})", ATOM) if can_fail(body) else code
