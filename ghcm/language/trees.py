"""Ways through a syntax tree for whoever treats all its nodes alike: the parts of one, all of them, and one changed."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache
from operator import is_
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

from ghcm.language import ast

_N = TypeVar("_N", bound=ast.Node)
_P = ParamSpec("_P")
_Items: TypeAlias = tuple[object, ...]


def parts(node: ast.Node) -> Iterator[ast.Node]:
    """The nodes right below one, in the order in which they are written."""
    waiting = held(node)
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += reversed(cast(_Items, part))
        elif isinstance(part, ast.Node):
            yield part


def walk(node: ast.Node, *, past: type[ast.Node] | tuple[()] = ()) -> Iterator[ast.Node]:
    """The node and all below it, wholes first, in the order in which they are written; nothing of the kind `past`."""
    waiting: list[object] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += reversed(cast(_Items, part))
        elif isinstance(part, ast.Node) and not isinstance(part, past):
            yield part
            waiting += held(part)


def held(node: ast.Node) -> list[object]:
    """What stands in the fields of a node, the last one first."""
    kind: type = type(node)
    return [getattr(node, name) for name in _names(kind)]


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in reversed(fields(kind)) if each.name != "span")


def changed(node: _N, change: Callable[Concatenate[object, _P], object], *args: _P.args, **kwargs: _P.kwargs) -> _N:
    """The node with `change` made of all that it holds, of tuples item by item; itself where nothing is another.
    Long pipelines are deep: loops and no comprehensions, which would be frames between a node and its parts.
    """
    kind: type = type(node)
    others: dict[str, object] = {}
    for name in reversed(_names(kind)):
        part = getattr(node, name)
        several = isinstance(part, tuple)
        made = _items(cast(_Items, part), change, *args, **kwargs) if several else change(part, *args, **kwargs)
        if made is not part:
            others[name] = made
    return replace(cast("Any", node), **others) if others else node


def _items(
    items: _Items, change: Callable[Concatenate[object, _P], object], *args: _P.args, **kwargs: _P.kwargs
) -> _Items:
    made: list[object] = []
    for each in items:
        several = isinstance(each, tuple)
        made.append(_items(cast(_Items, each), change, *args, **kwargs) if several else change(each, *args, **kwargs))
    return items if all(map(is_, made, items)) else tuple(made)
