"""Ways through a syntax tree for whoever treats all its nodes alike: the parts of one, all of them, and one changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar, cast

from ghcm.language import ast

_N = TypeVar("_N", bound=ast.Node)


def parts(node: ast.Node) -> Iterator[ast.Node]:
    """The nodes right below one, in the order in which they are written."""
    waiting = _held(node)
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += reversed(cast("tuple[object, ...]", part))
        elif isinstance(part, ast.Node):
            yield part


def walk(node: ast.Node, *, past: type[ast.Node] | tuple[()] = ()) -> Iterator[ast.Node]:
    """The node and all below it, wholes first, in the order in which they are written; nothing of the kind `past`."""
    waiting: list[object] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += reversed(cast("tuple[object, ...]", part))
        elif isinstance(part, ast.Node) and not isinstance(part, past):
            yield part
            waiting += _held(part)


def _held(node: ast.Node) -> list[object]:
    """What stands in the fields of a node, the last one first."""
    kind: type = type(node)
    return [getattr(node, name) for name in _names(kind)]


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in reversed(fields(kind)) if each.name != "span")


def changed(node: _N, change: Callable[[object], object]) -> _N:
    """The node with `change` made of all that it holds, of tuples item by item; itself where nothing is another."""
    old = {each.name: getattr(node, each.name) for each in fields(node)}
    new = {name: _changed(held, change) for name, held in old.items()}
    others = {name: held for name, held in new.items() if held is not old[name]}
    return replace(cast("Any", node), **others) if others else node


def _changed(held: object, change: Callable[[object], object]) -> object:
    if not isinstance(held, tuple):
        return change(held)
    items = cast("tuple[object, ...]", held)
    made = tuple(_changed(each, change) for each in items)
    return items if all(new is old for new, old in zip(made, items, strict=True)) else made
