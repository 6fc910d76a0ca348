"""What the emitters of row code share: what they may ask of the expression around them, and pieces of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ghcm.codegen.native.row_text import ATOM, NOT, Code, Module
from ghcm.expr import Call, Expr, Literal
from ghcm.types import Type, is_nullable, strip
from ghcm.types.unification import unify


class Scope(Protocol):
    """What a function may ask of the expression around it."""

    module: Module

    def value(self, expr: Expr) -> Code:
        """The code of an expression."""
        ...

    def temporary(self, code: Code, wish: str = "t") -> tuple[str, str]:
        """Code that keeps the value and code that repeats it."""
        ...


def perhaps_null(expr: Expr) -> bool:
    """Whether a value has to be looked at: its type allows null, and it is not written there."""
    return is_nullable(expr.type) and not (isinstance(expr, Literal) and expr.value is not None)


Emit = Callable[[Scope, Call, list[Code]], Code]
"""The code of a call whose arguments, none of them null, have this code."""

Handled = Callable[[Scope, Call], Code]
"""The code of a call that minds nulls itself."""


def helper(name: str, *arguments: Code) -> Code:
    """A call of `<family>.<function>` in `ghcm.runtime.native.row_functions`."""
    return Code(f"row_{name}({', '.join(argument.inner for argument in arguments)})")


def infix(operator: str, level: int, left: Code, right: Code) -> Code:
    """`left operator right`."""
    return Code(f"{left.at(level)} {operator} {right.at(level + 1)}", level)


def kind_of(expr: Call) -> Type:
    """The type of the first argument without its `?`."""
    return strip(expr.arguments[0].type)


def joint_kind(expr: Call) -> Type:
    """The type that holds what the first two arguments may be, without its `?`: items that may be null in one of two
    lists have to be ordered by what nulls are.
    """
    left, right = (strip(each.type) for each in expr.arguments[:2])
    joint = unify(left, right)
    assert joint is not None, f"{left} and {right} are compared"
    return joint


def negated(code: Code) -> Code:
    """`not code`."""
    return Code(f"not {code.at(NOT)}", NOT)


def method(name: str) -> Emit:
    """A method of the first argument."""

    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        subject, *others = codes
        return Code(f"{subject.at(ATOM)}.{name}({', '.join(each.inner for each in others)})")

    return emit


def call_of(name: str) -> Emit:
    """A call of `<family>.<function>` whatever the types."""
    return lambda scope, expr, codes: helper(name, *codes)


def same(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    """The first argument itself."""
    return codes[0]
