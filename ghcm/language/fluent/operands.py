"""Where the parts of a call or an operator stand: the interpreter knows the whole, the user's text has the parts."""

from __future__ import annotations

import ast as python
from dataclasses import dataclass, field
from functools import lru_cache

from ghcm.language.fluent.places import span_of_node
from ghcm.source import Source, Span

_End = tuple[int, int]
_Whole = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Operands:
    """The places of a call's arguments and of the name that is called; the whole call where one is not known."""

    whole: Span
    name: Span
    positional: tuple[Span, ...] = ()
    named: dict[str, Span] = field(default_factory=dict[str, Span])

    def at(self, index: int) -> Span:
        """Where a positional argument stands."""
        return self.positional[index] if index < len(self.positional) else self.whole

    def of(self, name: str) -> Span:
        """Where the value of a named argument stands."""
        return self.named.get(name, self.whole)


def call_operands(span: Span) -> Operands:
    """The parts of the call that stands at `span`."""
    source = span.source
    node = _index(source.text).calls.get(_position(source, span.end))
    if node is None:
        return Operands(span, span)
    name = span_of_node(source, node.func)
    if isinstance(node.func, python.Attribute):
        name = Span(source, name.end - len(node.func.attr), name.end)
    plain = not any(isinstance(each, python.Starred) for each in node.args)
    positional = tuple(span_of_node(source, each) for each in node.args) if plain else ()
    named = {each.arg: span_of_node(source, each.value) for each in node.keywords if each.arg is not None}
    return Operands(span, name, positional, named)


def infix_operands(span: Span) -> tuple[Span, Span]:
    """The left and right side of the operator that stands at `span`."""
    source = span.source
    node = _index(source.text).infix.get((*_position(source, span.start), *_position(source, span.end)))
    match node:
        case python.BinOp(left=left, right=right) | python.Compare(left=left, comparators=[right]):
            return span_of_node(source, left), span_of_node(source, right)
        case _:
            return span, span


def lambda_parameters(span: Span) -> dict[str, Span]:
    """Where the parameters of the lambda that stands at `span` are named; none where there is no lambda."""
    source = span.source
    node = _index(source.text).lambdas.get((*_position(source, span.start), *_position(source, span.end)))
    if node is None:
        return {}
    return {each.arg: span_of_node(source, each) for each in (*node.args.posonlyargs, *node.args.args)}


@dataclass(frozen=True, slots=True)
class _Index:
    calls: dict[_End, python.Call] = field(default_factory=dict[_End, python.Call])
    """By where they end: a call over several lines begins, for the interpreter, at the name that is called."""
    infix: dict[_Whole, python.BinOp | python.Compare] = field(
        default_factory=dict[_Whole, python.BinOp | python.Compare]
    )
    lambdas: dict[_Whole, python.Lambda] = field(default_factory=dict[_Whole, python.Lambda])


@lru_cache(maxsize=16)
def _index(text: str) -> _Index:
    found = _Index()
    try:
        tree = python.parse(text)
    except SyntaxError:
        return found
    for node in python.walk(tree):
        match node:
            case python.Call():
                found.calls[(node.end_lineno or 0, node.end_col_offset or 0)] = node
            case python.BinOp() | python.Compare():
                found.infix[_whole(node)] = node
            case python.Lambda():
                found.lambdas[_whole(node)] = node
            case _:
                pass
    return found


def _whole(node: python.expr) -> _Whole:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _position(source: Source, offset: int) -> _End:
    """Line and column of an offset as Python's trees count them: columns in bytes from 0."""
    line, column = source.line_column(offset)
    return line, len(source.line(line)[: column - 1].encode())
