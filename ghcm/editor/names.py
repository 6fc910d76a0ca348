"""What a name in a program stands for: the place that declares it, and the names that can be used at a place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, TypeAlias, cast

from ghcm.language import ast
from ghcm.lowering import Notes
from ghcm.source import Span
from ghcm.types import Collection, Struct, strip

Node: TypeAlias = Any
"""A node of the syntax tree."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names that can be used at a place, each with where it is declared."""

    variables: dict[str, Span | None]
    collections: dict[str, Span | None]
    parameters: dict[str, Span | None]
    declared: dict[str, ast.Declaration]


def path_to(tree: Node, offset: int) -> tuple[Node, ...]:
    """The nodes around an offset of the tree's source, from the outermost."""
    found: list[Node] = []
    node: Node | None = tree
    while node is not None:
        found.append(node)
        node = next((each for each in _parts(node) if _holds(each, offset)), None)
    return tuple(found)


def names_at(path: tuple[Node, ...], program: ast.Program) -> Names:
    """The names in sight of the innermost node of a path."""
    variables: dict[str, Span | None] = {}
    collections: dict[str, Span | None] = {}
    parameters: dict[str, Span | None] = {}
    for node in path:
        match node:
            case ast.UnitDecl(parameters=given, body=body):
                parameters = {each.name.text: each.name.span for each in given}
                collections = {each.name.text: each.name.span for each in body if isinstance(each, ast.Assign)}
            case ast.Lambda(parameters=names):
                variables |= {each.text: each.span for each in names}
            case _:
                pass
    declared = {each.name.text: each for each in reversed(program.declarations)}
    return Names(variables, collections, parameters, declared)


def definition(path: tuple[Node, ...], program: ast.Program, notes: Notes) -> Span | None:
    """Where the innermost name of a path is declared."""
    names = names_at(path, program)
    node = path[-1]
    match node:
        case ast.Ref(name=name):
            return _named(name, names)
        case ast.NamedType(name=name) | ast.RecordExpr(name=str(name)):
            found = names.declared.get(name)
            return found.name.span if found else None
        case ast.Attribute(of=of, name=name):
            return _member(of, name, names, notes)
        case ast.Name(text=text) if len(path) > 1:
            return _given(path[-2], text, names)
        case _:
            return None


def struct_of(type_: object) -> Struct | None:
    """The fields that a value, or a record of a collection, has."""
    plain = strip(type_.element if isinstance(type_, Collection) else type_)  # type: ignore[arg-type]
    return plain if isinstance(plain, Struct) else None


def _named(name: str, names: Names) -> Span | None:
    for known in (names.variables, names.collections, names.parameters):
        if name in known:
            return known[name]
    found = names.declared.get(name)
    return found.name.span if found else None


def _member(of: Node, name: str, names: Names, notes: Notes) -> Span | None:
    """A field of a record, a table of a unit, or a value of an enum."""
    if isinstance(of, ast.Ref):
        unit = names.declared.get(of.name)
        if isinstance(unit, ast.EnumDecl):
            return next((each.span for each in unit.values if each.text == name), None)
        if isinstance(unit, ast.UnitDecl):
            return next(
                (each.name.span for each in unit.body if isinstance(each, ast.Assign) and each.name.text == name), None
            )
    struct = struct_of(notes.of(of.span))
    return None if struct is None else _field(names.declared.get(struct.name or ""), name)


def _given(around: Node, text: str, names: Names) -> Span | None:
    match around:
        case ast.UnitDecl(cache=ast.Name(text=cache)) if cache == text:
            return _named(text, names)
        case ast.RecordExpr(name=str(record)):
            return _field(names.declared.get(record), text)
        case _:
            return None


def _field(record: ast.Declaration | None, name: str) -> Span | None:
    if not isinstance(record, ast.RecordDecl):
        return None
    return next((each.name.span for each in record.fields if each.name.text == name), None)


def _parts(node: Node) -> Iterator[Node]:
    """The direct parts of a node that have a place."""
    for field in fields(node):
        yield from _placed(getattr(node, field.name))


def _placed(value: Node) -> Iterator[Node]:
    if isinstance(value, tuple):
        for each in cast("tuple[object, ...]", value):
            yield from _placed(each)
    elif ast.is_tree(value):
        yield value


def _holds(node: Node, offset: int) -> bool:
    span = getattr(node, "span", None)
    if span is None:
        return any(_holds(each, offset) for each in _parts(node))
    return bool(span.start <= offset <= span.end)
