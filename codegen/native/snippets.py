"""The texts of the table of functions as code: `{0}.startswith({1})`, with parentheses only where operands need them,
and what both forms write alike: literals of Python, time zones, regular expressions.

How tightly an argument must bind is read off the text itself, which is an expression of Python for rows and columns
alike. What stands in a slot is said by the form that asks; nothing is chosen here.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from ghcm.expr import Call
from ghcm.failing import constant
from ghcm.types import Decimal, Type, strip

# Python's precedences, loosest first.
IF, OR, AND, NOT, COMPARE, BITOR, BITXOR, BITAND, SUM, PRODUCT, UNARY, ATOM = range(12)
_OPERATORS: dict[type[ast.AST], int] = {
    ast.Or: OR,
    ast.And: AND,
    ast.Not: NOT,
    ast.BitOr: BITOR,
    ast.BitXor: BITXOR,
    ast.BitAnd: BITAND,
    **dict.fromkeys((ast.Add, ast.Sub), SUM),
    **dict.fromkeys((ast.Mult, ast.Div, ast.FloorDiv, ast.Mod), PRODUCT),
    **dict.fromkeys((ast.USub, ast.Invert), UNARY),
}

ALL = -2
"""The index of a slot for all arguments."""
_SLOT = re.compile(r"\{(\*|\d*)(?:\.?([a-z]*))(?::([a-z]+))?(?:\|([^{}]*))?\}")


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
def snippet(text: str) -> Snippet:
    """The parts of a text of the table."""
    found = list(_SLOT.finditer(text))
    names = iter(found)

    def name(slot: re.Match[str]) -> str:
        number = found.index(next(names))
        return "" if slot[3] == "zone" else f"*_{number}" if slot[1] == "*" else f"_{number}"

    tree = ast.parse(_SLOT.sub(name, text), mode="eval")
    levels = {
        child.id: _needed(node, child)
        for node in ast.walk(tree)
        for child in ast.iter_child_nodes(node)
        if isinstance(child, ast.Name)
    }
    parts: list[str | Slot] = []
    end = 0
    for number, slot in enumerate(found):
        index = ALL if slot[1] == "*" else int(slot[1] or -1)
        level = levels.get(f"_{number}", IF)
        parts += [text[end : slot.start()], Slot(index, slot[2], slot[3] or "", slot[4], level)]
        end = slot.end()
    return Snippet((*parts, text[end:]), _level(tree.body))


def _level(node: ast.expr) -> int:
    """How tightly an expression binds."""
    match node:
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.BoolOp(op=op):
            return _OPERATORS[type(op)]
        case ast.Compare():
            return COMPARE
        case ast.IfExp():
            return IF
        case _:  # calls, attributes, subscripts, displays
            return ATOM


def _needed(parent: ast.AST, child: ast.expr) -> int:
    """How tightly an operand must bind where it stands."""
    match parent:
        case ast.BinOp(op=op, left=left):
            level = _OPERATORS[type(op)]
            return level if child is left else level + 1
        case ast.UnaryOp(op=op) | ast.BoolOp(op=op):
            return _OPERATORS[type(op)]
        case ast.Compare():
            return BITOR
        case ast.IfExp(orelse=otherwise):
            return IF if child is otherwise else _OPERATORS[ast.Or]
        case ast.Attribute() | ast.Call(func=ast.Name()) if getattr(parent, "func", child) is child:
            return ATOM
        case ast.Subscript(value=value) if child is value:
            return ATOM
        case _:  # between brackets and commas
            return IF


def digits(expr: Call, slot: Slot) -> str:
    """Precision or scale of the decimal that an argument is, or the result."""
    kind = strip(expr.type if slot.index < 0 else expr.arguments[slot.index].type)
    assert isinstance(kind, Decimal), f"{slot.of} of {kind}"
    return str(kind.scale if slot.of == "scale" else kind.precision)


def kind_of(expr: Call) -> Type:
    """The type of the first argument without its `?`."""
    return strip(expr.arguments[0].type)


def quoted(value: str | bytes) -> str:
    """As Python writes it, in double quotes where that needs no more escapes."""
    text = repr(value)
    prefix, body = ("b", text[2:-1]) if isinstance(value, bytes) else ("", text[1:-1])
    return text if '"' in body or "\\'" in body else f'{prefix}"{body}"'


def zone(expr: Call, index: int) -> str:
    """A constant time zone as a further argument, unless it is UTC."""
    name = constant(expr.arguments[index]) if index < len(expr.arguments) else "UTC"
    return "" if name == "UTC" else f", {quoted(str(name))}"


# --- regular expressions ---------------------------------------------------------------------------------------------

_parser: Any = import_module("re._parser")


def python_pattern(expr: Call) -> str:
    """The constant pattern of the second argument as a literal for `re`."""
    return _raw(_with_end(_pattern(expr), r"\Z"))


def polars_pattern(expr: Call, *, whole: bool) -> str:
    """The constant pattern of the second argument as a literal for Polars, whose engine is Rust's."""
    text = _pattern(expr)
    return _raw(_with_end(f"^(?:{text})$" if whole else text, r"\z"))


def may_be_empty(expr: Call) -> bool:
    """Whether the pattern can match the empty text: then engines differ in which matches they list."""
    least, _ = _parser.parse(_with_end(_pattern(expr), r"\Z")).getwidth()
    return bool(least == 0)


def _pattern(expr: Call) -> str:
    text = constant(expr.arguments[1])
    assert isinstance(text, str), "the lowering takes constant patterns only"
    return text


def _raw(pattern: str) -> str:
    """The pattern as a raw string where it can be one."""
    plain = '"' not in pattern and not pattern.endswith("\\") and pattern.isprintable()
    return f'r"{pattern}"' if plain else quoted(pattern)


def _with_end(pattern: str, end: str) -> str:
    r"""The pattern with another sign for the end of the text: the lowering has spelt out classes and `.`, and groups
    capture nothing, so that nothing else is said differently.

    >>> _with_end(r"a\$[$]$", "END")
    'a\\$[$]END'
    """
    return _ENDS.sub(lambda part: end if part[0] == "$" else part[0], pattern)


_ENDS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\$", re.DOTALL)
"""Escapes, classes and ends: of these only the last are ends of the text."""
