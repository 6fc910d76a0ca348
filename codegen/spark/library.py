"""The helpers that a job calls: taken from the templates of `spark/`, only those that the job needs.

A helper needs what its text names. Helpers keep their order in the templates, so that a job reads the same
way each time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ghcm.codegen.templating import render

__all__ = ["helpers_for", "imports_for"]

_BLOCKS = ("main", "job", "groups", "sources", "python", "tables", "redis", "policies", "expressions", "types")


@dataclass(frozen=True, slots=True)
class _Helper:
    """One definition of a template: the names it binds, its text, the names in it, and the heading of its block."""

    names: tuple[str, ...]
    text: str
    needs: frozenset[str]
    heading: str


def helpers_for(code: str) -> str:
    """The helpers that this code calls, and those that they call."""
    wanted = _closure(_names(ast.parse(code)))
    text, heading = "", ""
    for helper in _helpers():
        if wanted & set(helper.names):
            text += f"\n\n{helper.heading}\n\n\n" if helper.heading != heading else "\n\n"
            text, heading = text + helper.text + "\n", helper.heading
    return text.strip("\n") + "\n"


def imports_for(code: str) -> str:
    """The import statements for the names that this code uses."""
    used = _names(ast.parse(code))
    lines: list[str] = []
    for node in ast.parse(render("spark/imports.py.j2")).body:
        match node:
            case ast.Import(names=names):
                lines += [f"import {each.name}" for each in names if each.name in used]
            case ast.ImportFrom(module=module, names=names):
                kept = [_alias(each) for each in names if (each.asname or each.name) in used or module == "__future__"]
                lines += [f"from {module} import {', '.join(kept)}"] if kept else []
            case _:
                continue
    return _in_sections(lines)


def _alias(name: ast.alias) -> str:
    return f"{name.name} as {name.asname}" if name.asname else name.name


def _in_sections(lines: list[str]) -> str:
    """The future first, then the standard library, then pyspark, an empty line between."""
    sections = [
        [line for line in lines if "__future__" in line],
        [line for line in lines if "__future__" not in line and "pyspark" not in line],
        [line for line in lines if "pyspark" in line],
    ]
    return "\n\n".join("\n".join(section) for section in sections if section)


def _closure(names: frozenset[str]) -> frozenset[str]:
    wanted, waiting = frozenset[str](), names
    while waiting:
        wanted |= waiting
        found = (helper.needs for helper in _helpers() if wanted & set(helper.names))
        waiting = frozenset[str]().union(*found) - wanted
    return wanted


@cache
def _helpers() -> tuple[_Helper, ...]:
    return tuple(helper for block in _BLOCKS for helper in _read(render(f"spark/{block}.py.j2")))


def _read(text: str) -> Iterator[_Helper]:
    """The definitions of a template; a docstring behind a constant belongs to it."""
    lines = text.split("\n")
    heading = lines[0]
    for node in ast.parse(text).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                start = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                names: tuple[str, ...] = (name,)
            case ast.Assign(targets=targets):
                start, names = node.lineno, tuple(each.id for each in targets if isinstance(each, ast.Name))
            case _:
                continue
        body = "\n".join(lines[start - 1 : node.end_lineno])
        yield _Helper(names, body + _documentation(lines, node.end_lineno or 0), _names(node), heading)


def _documentation(lines: list[str], end: int) -> str:
    following = lines[end] if end < len(lines) else ""
    return f"\n{following}" if following.startswith('"""') else ""


def _names(node: ast.AST) -> frozenset[str]:
    return frozenset(each.id for each in ast.walk(node) if isinstance(each, ast.Name))
