"""The texts of the table of functions as code: `{0}.startswith({1})`, with parentheses only where operands need them.

How tightly an argument must bind is read off the text itself, which is an expression of Python for rows and columns
alike. What stands in a slot is said by the form that asks; nothing is chosen here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from ghcm.expr import Call
from ghcm.types import Decimal, strip

ALL = -2
"""The index of a slot for all arguments."""
_SLOT = re.compile(r"\{(\*|\d*)(?:\.?([a-z]*))(?::([a-z]+))?(?:\|([^{}]*))?\}")


@dataclass(frozen=True, eq=False)
class Precedences:
    """How tightly the operators of a form bind: of what ends at a comma, of operands of comparisons, of operators."""

    inner: int
    atom: int
    compared: int
    comparison: int
    operators: Mapping[type[ast.AST], int]


@dataclass(frozen=True, slots=True)
class Slot:
    """What is filled in: of argument `index` (-1: of none), a property or a way to write it; how tightly it binds."""

    index: int
    of: str
    way: str
    default: str | None
    level: int


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text in parts, and how tightly the whole binds."""

    parts: tuple[str | Slot, ...]
    level: int

    def arguments(self) -> frozenset[int]:
        """The arguments whose values it mentions."""
        slots = (part for part in self.parts if isinstance(part, Slot))
        return frozenset(slot.index for slot in slots if slot.index >= 0 and not slot.of and slot.way != "zone")

    def filled(self, write: Callable[[Slot], str]) -> str:
        """The text with what stands in its slots."""
        return "".join(part if isinstance(part, str) else write(part) for part in self.parts)


@cache
def snippet(text: str, precedences: Precedences) -> Snippet:
    """The parts of a text of the table."""
    found = list(_SLOT.finditer(text))
    names = iter(found)

    def name(slot: re.Match[str]) -> str:
        number = found.index(next(names))
        return "" if slot[3] == "zone" else f"*_{number}" if slot[1] == "*" else f"_{number}"

    tree = ast.parse(_SLOT.sub(name, text), mode="eval")
    levels = {
        child.id: _needed(node, child, precedences)
        for node in ast.walk(tree)
        for child in ast.iter_child_nodes(node)
        if isinstance(child, ast.Name)
    }
    parts: list[str | Slot] = []
    end = 0
    for number, slot in enumerate(found):
        index = ALL if slot[1] == "*" else int(slot[1] or -1)
        level = levels.get(f"_{number}", precedences.inner)
        parts += [text[end : slot.start()], Slot(index, slot[2], slot[3] or "", slot[4], level)]
        end = slot.end()
    return Snippet((*parts, text[end:]), _level(tree.body, precedences))


def _level(node: ast.expr, precedences: Precedences) -> int:
    """How tightly an expression binds."""
    match node:
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.BoolOp(op=op):
            return precedences.operators[type(op)]
        case ast.Compare():
            return precedences.comparison
        case ast.IfExp():
            return precedences.inner
        case _:  # calls, attributes, subscripts, displays
            return precedences.atom


def _needed(parent: ast.AST, child: ast.expr, precedences: Precedences) -> int:
    """How tightly an operand must bind where it stands."""
    match parent:
        case ast.BinOp(op=op, left=left):
            level = precedences.operators[type(op)]
            return level if child is left else level + 1
        case ast.UnaryOp(op=op) | ast.BoolOp(op=op):
            return precedences.operators[type(op)]
        case ast.Compare():
            return precedences.compared
        case ast.IfExp(orelse=otherwise):
            return precedences.inner if child is otherwise else precedences.operators[ast.Or]
        case ast.Attribute() | ast.Call(func=ast.Name()) if getattr(parent, "func", child) is child:
            return precedences.atom
        case ast.Subscript(value=value) if child is value:
            return precedences.atom
        case _:  # between brackets and commas
            return precedences.inner


def digits(expr: Call, slot: Slot) -> str:
    """Precision or scale of the decimal that an argument is, or the result."""
    kind = strip(expr.type if slot.index < 0 else expr.arguments[slot.index].type)
    assert isinstance(kind, Decimal), f"{slot.of} of {kind}"
    return str(kind.scale if slot.of == "scale" else kind.precision)
