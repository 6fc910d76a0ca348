"""The leaves of a traced tree: names, also those known only later, constants, and the texts of values.

A `Later` stands in the tree where the name of a sink, unit, record or pipeline will stand; `resolve` puts the names (or
a whole expression) in. In f-strings and `str(x)` a value leaves a mark in the text, and marks become parts of an
expression again: one that Python changes or that never comes back (because the text was compared, cut or printed) is a
mistake, as it would have been lost without a word.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import count
from math import copysign, isfinite
from typing import Protocol, TypeAlias, TypeVar, cast, runtime_checkable

from ghcm.codes import Code
from ghcm.language import ast, trees
from ghcm.language.fluent.positions import mistake, report
from ghcm.language.fluent.python_words import WHY
from ghcm.language.literals import RESERVED
from ghcm.source import Span
from ghcm.types import INT_MAX, INT_MIN, Duration, Float, Int, String

_N = TypeVar("_N", bound=ast.Node)
_orders = count()


def next_order() -> int:
    """A number that is greater than all before: declarations stand in the order in which Python made them."""
    return next(_orders)


class Later(str):
    """Text to be replaced by the name of `target`."""

    target: object

    @classmethod
    def of(cls, target: object) -> Later:
        """The stand-in for the name of an object."""
        made = cls(f"<{type(target).__name__}>")
        made.target = target
        return made


class FieldsOf(str):
    """The key under which a record of Python's stands whose fields another one takes; each is different."""

    @classmethod
    def another(cls) -> FieldsOf:
        """A key that no other record has."""
        return cls(f"fields {next_order()}")


def later(target: object, span: Span | None) -> ast.Ref:
    """A reference to an object whose name is not known yet."""
    return ast.Ref(Later.of(target), span=span)


def targets(node: ast.Node) -> list[object]:
    """The objects that a tree refers to, in order, as often as it does."""
    return [held.target for each in trees.walk(node) for held in trees.held(each) if isinstance(held, Later)]


Naming: TypeAlias = "Callable[[object, Span | None], str | ast.Expr]"
"""The name of an object, or the expression that stands for it, in which others are still to be named."""


def resolve(node: _N, naming: Naming) -> _N:
    """The tree with each `Later` replaced by its name. `ProgramError` if it is too deep, as chains of operators never
    are: they are followed by a loop.
    """
    try:
        return cast(_N, _resolve(node, naming))
    except RecursionError:
        hint = "keep a part of it in a variable of its own: kept = x.filter(...)"
        message = "a pipeline of this program is longer than can be followed"
        raise mistake(Code.TOO_DEEP.value, message, node.span, hint=hint) from None


def _resolve(node: object, naming: Naming) -> object:
    calls: list[tuple[ast.Apply, ast.Attribute]] = []
    while True:
        match node:
            case ast.Apply(function=ast.Attribute(of=of) as function):
                calls.append((node, function))
                node = of
            case ast.Ref(name=Later() as name, span=span):
                found = naming(name.target, span)
                if isinstance(found, str):
                    node = ast.Ref(found, span=_narrowed(span, found))
                    break
                node = found
            case _:
                break
    made = _below(node, naming)
    for call, function in reversed(calls):
        named = replace(function, of=cast("ast.Expr", made))
        arguments = tuple([cast("ast.Argument", _below(each, naming)) for each in call.arguments])
        result = cast("ast.TypeExpr | None", _below(call.result, naming))
        made = replace(call, function=named, arguments=arguments, result=result)
    return made


def _below(node: object, naming: Naming) -> object:
    if isinstance(node, Later):
        return naming(node.target, None)
    return trees.changed(node, _resolve, naming) if isinstance(node, ast.Node) else node


def _narrowed(span: Span | None, name: str) -> Span | None:
    """The name alone, where only the position of what it begins is known."""
    if span is not None and span.source.text.startswith(name, span.start):
        return Span(span.source, span.start, span.start + len(name))
    return span


_OPEN, _CLOSE = "\ue0f0", "\ue0f1"
_MARK = re.compile(f"{_OPEN}gHcM([0-9]+){_CLOSE}")
_HINT = 'write the functions of the language: x.to_string().upper(), x == "a"'


@dataclass(slots=True)
class _Marked:
    expr: ast.Expr
    span: Span
    seen: bool = False


_marked: dict[int, _Marked] = {}
_numbers = count()


def next_mark() -> int:
    """A number that no mark before has, and every later one exceeds."""
    return next(_numbers)


def mark(expr: ast.Expr, span: Span) -> str:
    """Text that stands for the text of a value."""
    number = next(_numbers)
    _marked[number] = _Marked(expr, span)
    return f"{_OPEN}gHcM{number}{_CLOSE}"


def text_of(text: str, span: Span) -> ast.Expr:
    """A text as an expression: a constant, or its parts joined. Raises `ProgramError` for a mark that was changed."""
    parts: list[ast.Expr] = []
    for index, piece in enumerate(_MARK.split(text)):
        if index % 2:
            found = _marked.get(int(piece))
            if found is None:
                raise mistake("GHCM-130", "the text of a value is used outside of its function", span)
            found.seen = True
            function = ast.Attribute(found.expr, "to_string", found.span, span=found.span)
            parts.append(ast.Apply(function, (), span=found.span))
        elif _OPEN in piece or _CLOSE in piece:
            raise mistake("GHCM-130", "Python changed the text of a value", span, detail=WHY, hint=_HINT)
        elif piece or text == "":
            parts.append(ast.Literal(piece, String(), span=span))
    whole = parts[0]
    for part in parts[1:]:
        whole = ast.Binary("+", whole, part, span=span)
    return whole


def check_marks(since: int) -> None:
    """Report the marks since that number that did not come back, and forget all of them."""
    for number in [each for each in _marked if each > since]:
        lost = _marked.pop(number)
        if not lost.seen:
            report("GHCM-130", "Python used the text of a value itself", lost.span, detail=WHY, hint=_HINT)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@runtime_checkable
class Written(Protocol):
    """What knows the tree that stands for it: a traced value, a pipeline, a sink, a unit, a record."""

    def __ghcm_expr__(self, span: Span) -> ast.Expr:
        """The tree; `span` is where it is used."""
        ...


def plain(name: str) -> str:
    """A name without the underscore that keeps it apart from a word of Python.

    >>> plain("as_"), plain("from_"), plain("id_")
    ('as', 'from', 'id_')
    """
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


def name_of(name: str, span: Span) -> ast.Name:
    """A name that is declared; refused where the text language could not say it."""
    text = plain(name)
    if text in RESERVED:
        raise mistake("GHCM-108", f'"{text}" is a reserved word', span, hint="choose another name")
    if not (text.isidentifier() and text.isascii()):
        raise mistake("GHCM-101", f'"{text}" is no name', span, hint="names are of ASCII letters, digits and _")
    return ast.Name(text, span=span)


def fields_of(value: object, span: Span) -> ast.Expr | None:
    """The names of fields that stand for a function, `"user"` or `("user", "day")`; None where it is no such thing."""
    names = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    refs = tuple(ast.Ref(each, span=span) for each in names if isinstance(each, str) and each.isidentifier())
    if not refs or len(refs) < len(names):
        return None
    return ast.TupleExpr(refs, span=span) if isinstance(value, tuple) else refs[0]


def micros_of(length: timedelta) -> int:
    """The canonical value of a duration."""
    return length // timedelta(microseconds=1)


def duration_of(micros: int, span: Span) -> ast.Expr:
    """A constant duration."""
    return _signed(ast.Literal(abs(micros), Duration(), span=span), negative=micros < 0)


def int_of(value: int, span: Span) -> ast.Expr:
    """A constant whole number."""
    if not INT_MIN <= value <= INT_MAX:
        raise mistake("GHCM-104", "the number does not fit into 64 bits", span)
    return _signed(ast.Literal(abs(int(value)), Int(), span=span), negative=value < 0)


def float_of(value: float, span: Span) -> ast.Expr:
    """A constant float."""
    if not isfinite(value):
        hint = f'write fn.to_float("{value}")'
        raise mistake("GHCM-104", f"the language has no constant for {value}", span, hint=hint)
    return _signed(ast.Literal(abs(float(value)), Float(), span=span), negative=copysign(1, value) < 0)


def _signed(literal: ast.Literal, *, negative: bool) -> ast.Expr:
    return ast.Unary("-", literal, span=literal.span) if negative else literal


def decimal_of(value: Decimal, span: Span) -> ast.Expr:
    """A constant decimal, with the digits that it has."""
    text = f"{value:f}"
    digits = text.lstrip("-").replace(".", "").lstrip("0")
    scale = len(text.partition(".")[2])
    precision = max(len(digits), scale, 1)
    return _call(
        "to_decimal", span, ast.Literal(text, String(), span=span), int_of(precision, span), int_of(scale, span)
    )


def timestamp_of(value: datetime, span: Span) -> ast.Expr:
    """A constant timestamp."""
    if value.tzinfo is None:
        hint = "write datetime(..., tzinfo=UTC)"
        raise mistake("GHCM-132", "this moment has no time zone", span, detail="Timestamps are UTC.", hint=hint)
    return _call("from_micros", span, int_of(micros_of(value - _EPOCH), span))


def date_of(value: date, span: Span) -> ast.Expr:
    """A constant date."""
    return _call("date_of", span, *(int_of(each, span) for each in (value.year, value.month, value.day)))


def _call(function: str, span: Span, *operands: ast.Expr) -> ast.Expr:
    return ast.Apply(ast.Ref(function, span=span), tuple(ast.Argument(each, span=span) for each in operands), span=span)
