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
from ghcm.functions import FAMILIES

_BLOCKS = (
    *("main", "job", "refused", "groups", "iterations", "files", "sources", "json", "csv", "zeek", "arrow"),
    *("python", "batches", "tables", "redis", "policies"),
    *(f"functions/{family}" for family in FAMILIES),
    *("functions/time_numbers", "functions/time_texts"),
    *("expressions", "types"),
)


@dataclass(frozen=True, slots=True)
class _Helper:
    """One definition of a template: the names it binds, its text, the names in it, and the heading of its block."""

    names: tuple[str, ...]
    text: str
    needs: frozenset[str]
    heading: str


@dataclass(frozen=True, slots=True)
class Library:
    """What a job takes from the library: import statements and helpers, as text."""

    imports: str
    helpers: str


def library_for(code: str) -> Library:
    """The helpers that this code calls and those that they call, with the imports that all of it needs."""
    own = _names(ast.parse(code))
    chosen = _chosen(own)
    used = own.union(*(helper.needs for helper in chosen))
    return Library(_in_sections([line for each in _imports() for line in _kept(each, used)]), _text(chosen))


def names_taken() -> frozenset[str]:
    """The names of all helpers and of what stands in every job, which no record's constant may take."""
    own = frozenset({"PROGRAM", "UNIT", "SETTINGS", "PARAMETERS", "EnumType"})
    return own.union(*(helper.names for helper in _helpers()))


def _text(helpers: tuple[_Helper, ...]) -> str:
    text, heading = "", ""
    for helper in helpers:
        text += f"\n\n{helper.heading}\n\n\n" if helper.heading != heading else "\n\n"
        text, heading = text + helper.text + "\n", helper.heading
    return text.strip("\n") + "\n"


@cache
def _imports() -> tuple[ast.Import | ast.ImportFrom, ...]:
    body = ast.parse(render("spark/imports.py.j2")).body
    return tuple(node for node in body if isinstance(node, ast.Import | ast.ImportFrom))


def _kept(statement: ast.Import | ast.ImportFrom, used: frozenset[str]) -> list[str]:
    """The statement with only the names that are used; nothing where there are none."""
    match statement:
        case ast.Import(names=names):
            return [f"import {each.name}" for each in names if each.name in used]
        case ast.ImportFrom(module=module, names=names):
            kept = [_alias(each) for each in names if (each.asname or each.name) in used or module == "__future__"]
            return [f"from {module} import {', '.join(kept)}"] if kept else []


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


def _chosen(names: frozenset[str]) -> tuple[_Helper, ...]:
    """The helpers behind these names and all that they need, in the order of the library."""
    bound = _bound()
    wanted: set[int] = set()
    waiting = [bound[name] for name in names if name in bound]
    while waiting:
        place = waiting.pop()
        if place not in wanted:
            wanted.add(place)
            waiting += [bound[name] for name in _helpers()[place].needs if name in bound]
    return tuple(_helpers()[place] for place in sorted(wanted))


@cache
def _bound() -> dict[str, int]:
    return {name: place for place, helper in enumerate(_helpers()) for name in helper.names}


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
