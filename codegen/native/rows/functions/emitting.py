"""What the emitters of row code share: what they may ask of the expression around them, and the texts of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ghcm.codegen.expressions import call_can_fail, constant
from ghcm.codegen.native.patterns import python_pattern
from ghcm.codegen.native.rows.text import PRECEDENCES, Code, Module, quoted
from ghcm.codegen.native.texts import Slot, digits, snippet
from ghcm.expr import Call, Expr, Literal
from ghcm.functions import FUNCTIONS, chosen
from ghcm.types import Type, is_nullable, strip


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


def written(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    """A call as the table of functions writes it in Python."""
    kind, count = kind_of(expr), len(expr.arguments)
    text = chosen(FUNCTIONS[expr.function].python, kind, count, safe=not call_can_fail(expr))
    assert isinstance(text, str), f"no text of {expr.function} of {kind}"
    if text == "{0}":
        return codes[0]
    found = snippet(text, PRECEDENCES)

    def write(slot: Slot) -> str:
        if slot.way == "zone":
            return zone(expr, slot.index)
        if slot.of == "pattern":
            return compiled(scope, expr)
        if slot.of:
            return digits(expr, slot)
        if slot.index >= count:
            return slot.default or ""
        return codes[slot.index].at(slot.level)

    return Code(found.filled(write), found.level)


def zone(expr: Call, index: int) -> str:
    """A constant time zone as a further argument, unless it is UTC."""
    name = constant(expr.arguments[index]) if index < len(expr.arguments) else "UTC"
    return "" if name == "UTC" else f", {quoted(str(name))}"


def compiled(scope: Scope, expr: Call) -> str:
    """The name of the compiled pattern of the second argument, which is a constant of the module."""
    text = constant(expr.arguments[1])
    assert isinstance(text, str), "the lowering takes constant patterns only"
    return scope.module.constant("_pattern", f"re.compile({_raw(python_pattern(text))}, re.ASCII)")


def _raw(pattern: str) -> str:
    """The pattern as a raw string where it can be one."""
    plain = '"' not in pattern and not pattern.endswith("\\") and pattern.isprintable()
    return f'r"{pattern}"' if plain else quoted(pattern)


def helper(name: str, *arguments: Code) -> Code:
    """A call of `<module>.<function>` in `ghcm.runtime.native.row_functions`."""
    return Code(f"row_{name}({', '.join(argument.inner for argument in arguments)})")


def kind_of(expr: Call) -> Type:
    """The type of the first argument without its `?`."""
    return strip(expr.arguments[0].type)
