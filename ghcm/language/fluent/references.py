"""Names that are known only later: of sinks, units, records and pipelines, in trees that are built before.

A `Later` stands in the tree where the name will stand; `resolve` puts the names (or a whole expression) in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from itertools import count
from typing import TypeVar, cast

from ghcm.language import ast
from ghcm.source import Span

_N = TypeVar("_N")
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


def later(target: object, span: Span | None) -> ast.Ref:
    """A reference to an object whose name is not known yet."""
    return ast.Ref(Later.of(target), span)


def targets(node: object) -> list[object]:
    """The objects that a tree refers to, in order, as often as it does."""
    found: list[object] = []
    _walk(node, lambda name: found.append(name.target))
    return found


def _walk(node: object, visit: Callable[[Later], None]) -> None:
    match node:
        case Later():
            visit(node)
        case tuple():
            for each in cast("tuple[object, ...]", node):
                _walk(each, visit)
        case _ if ast.is_tree(node):
            for field in fields(node):
                _walk(getattr(node, field.name), visit)
        case _:
            pass


def resolve(node: _N, naming: Callable[[object, Span | None], str | ast.Expr]) -> _N:
    """The tree with every `Later` replaced; `naming` gives a name, or for a reference a whole expression."""
    return cast(_N, _resolve(node, naming))


def _resolve(node: object, naming: Callable[[object, Span | None], str | ast.Expr]) -> object:
    match node:
        case Later():
            return naming(node.target, None)
        case ast.Ref(name=Later() as name, span=span):
            found = naming(name.target, span)
            return ast.Ref(found, _narrowed(span, found)) if isinstance(found, str) else found
        case tuple():
            parts = cast("tuple[object, ...]", node)
            return tuple(_resolve(each, naming) for each in parts)
        case _ if ast.is_tree(node):
            tree = node
            old = {field.name: getattr(node, field.name) for field in fields(tree)}
            new = {name: _resolve(value, naming) for name, value in old.items()}
            changed = {name: value for name, value in new.items() if value is not old[name] and value != old[name]}
            return replace(tree, **changed) if changed else node
        case _:
            return node


def _narrowed(span: Span | None, name: str) -> Span | None:
    """The name alone, where the place of what it begins is all that is known."""
    if span is not None and span.source.text.startswith(name, span.start):
        return Span(span.source, span.start, span.start + len(name))
    return span
