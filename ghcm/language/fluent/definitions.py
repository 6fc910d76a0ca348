"""Classes and functions of the user as written: where their names, fields, parameters and assignments stand."""

from __future__ import annotations

import ast as python
from collections.abc import Iterator
from functools import lru_cache
from types import FrameType

from ghcm.language.fluent.places import at_line, source_of, span_of_node
from ghcm.source import Span

_Node = python.ClassDef | python.FunctionDef | python.AsyncFunctionDef


class Definition:
    """One class or function of a file. Every place is there, if only as the line on which the definition begins."""

    def __init__(self, filename: str, name: str, line: int) -> None:
        self._source = source_of(filename)
        self._line = line
        self._name = name
        self._node = _find(self._source.text, name, line)

    @property
    def name(self) -> Span:
        """Where its name stands behind `class` or `def`."""
        line = self._line if self._node is None else self._node.lineno
        whole = at_line(self._source, line)
        column = self._source.line(line).find(f" {self._name}")
        if column < 0:
            return whole
        start = self._source.offset(line, column + 2)
        return Span(self._source, start, start + len(self._name))

    @property
    def whole(self) -> Span:
        """From its first word to its end."""
        return self.name if self._node is None else span_of_node(self._source, self._node)

    def field(self, name: str) -> Span:
        """Where a field of a class is declared."""
        body = self._node.body if isinstance(self._node, python.ClassDef) else []
        targets = (each for each in body if isinstance(each, python.AnnAssign) and _is_name(each.target, name))
        return self._place(next(targets, None))

    def parameter(self, name: str) -> Span:
        """Where a parameter of a function stands, with its type."""
        arguments = self._node.args if isinstance(self._node, python.FunctionDef | python.AsyncFunctionDef) else None
        each = [] if arguments is None else [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return self._place(next((argument for argument in each if argument.arg == name), None))

    def assigned(self, name: str) -> Span | None:
        """Where a variable of a function is first given its value."""
        return next((span_of_node(self._source, target) for target in self._targets(name)), None)

    def _targets(self, name: str) -> Iterator[python.expr]:
        for node in python.walk(self._node) if self._node is not None else ():
            match node:
                case python.Assign(targets=targets):
                    yield from (each for target in targets for each in python.walk(target) if _is_name(each, name))  # type: ignore[misc]
                case python.AnnAssign(target=target) | python.NamedExpr(target=target) if _is_name(target, name):
                    yield target
                case _:
                    pass

    def _place(self, node: python.AST | None) -> Span:
        return self.name if node is None else span_of_node(self._source, node)


def definition(filename: str, name: str, line: int) -> Definition:
    """The class or function of that name that begins (or whose decorators begin) on a line."""
    return Definition(filename, name, line)


def assigned_name(frame: FrameType) -> tuple[str, Span] | None:
    """The variable that a frame assigns the call it is making to, and its place; None where that cannot be told."""
    from executing import Source as Executing

    node = Executing.executing(frame).node
    parent = getattr(node, "parent", None)
    match parent:
        case (
            python.Assign(targets=[python.Name(id=name) as target])
            | python.AnnAssign(target=python.Name(id=name) as target)
        ):
            return name, span_of_node(source_of(frame.f_code.co_filename), target)
        case _:
            return None


@lru_cache(maxsize=16)
def _parsed(text: str) -> python.Module | None:
    try:
        return python.parse(text)
    except SyntaxError:
        return None


def _find(text: str, name: str, line: int) -> _Node | None:
    tree = _parsed(text)
    for node in python.walk(tree) if tree is not None else ():
        if isinstance(node, _Node) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first <= line <= (node.end_lineno or node.lineno):
                return node
    return None


def _is_name(node: python.AST, name: str) -> bool:
    return isinstance(node, python.Name) and node.id == name
