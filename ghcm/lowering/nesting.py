"""How deep an expression may nest: as deep as every engine can follow."""

from __future__ import annotations

from typing import cast

from ghcm.language import ast

DEEPEST = 100
"""Levels of one expression. Python reads up to 200 brackets within brackets, and generated code has them."""


def too_deep(written: ast.Expr) -> bool:
    """Whether an expression nests deeper than `DEEPEST`; it is looked at without recursion.

    >>> too_deep(ast.Unary("not", ast.Ref("x")))
    False
    """
    level: list[object] = [written]
    for _ in range(DEEPEST):
        level = [part for node in level for part in _parts(node)]
        if not level:
            return False
    return True


def _parts(node: object) -> list[object]:
    """The nodes of the tree right below one; tuples of them are looked through."""
    found: list[object] = []
    waiting: list[object] = [getattr(node, name) for name in ast.PARTS[type(node)]]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += cast("tuple[object, ...]", part)
        elif ast.is_tree(part):
            found.append(part)
    return found
