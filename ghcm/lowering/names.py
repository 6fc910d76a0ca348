"""The names that a program declares: one space for records, enums, unions, msg caches, sinks and units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from ghcm.errors import Diagnostics, suggest
from ghcm.language import ast
from ghcm.lowering.applications import CALLABLE
from ghcm.lowering.codes import Code
from ghcm.lowering.context import Context
from ghcm.lowering.definitions import define
from ghcm.lowering.expressions import METHODS, typed
from ghcm.lowering.notes import Notes
from ghcm.lowering.types import BUILT_IN, Records
from ghcm.operators import OPERATORS

__all__ = ["Declared", "declare", "writers"]

_KEPT = frozenset((*CALLABLE, *METHODS, *OPERATORS))
"""What is called and is no function of the program."""

_OWN_RECORDS = {
    "Line": "It is the record of text sources: {text, file, number}.",
    "Window": "It is the record of windows: {start, end}.",
}
_OTHER_NAME = "Choose another name."


@dataclass(frozen=True, slots=True)
class Declared:
    """What is declared, by name and in order; of two declarations of one name the first counts."""

    context: Context
    caches: Mapping[str, ast.CacheDecl]
    sinks: Mapping[str, ast.SinkDecl]
    units: Mapping[str, ast.UnitDecl]


def declare(
    program: ast.Program, diagnostics: Diagnostics, notes: Notes | None = None, *, for_reference: bool = False
) -> Declared:
    """Gather the declarations and resolve records; names taken twice or kept by the language are reported."""
    kinds: dict[str, str] = {}
    records: dict[str, ast.RecordDecl] = {}
    enums: dict[str, ast.EnumDecl] = {}
    unions: dict[str, ast.UnionDecl] = {}
    caches: dict[str, ast.CacheDecl] = {}
    sinks: dict[str, ast.SinkDecl] = {}
    units: dict[str, ast.UnitDecl] = {}
    functions: dict[str, ast.FunctionDecl] = {}
    for declaration in program.declarations:
        name = declaration.name.text
        if name in kinds:
            message = f'"{name}" is declared twice'
            hint = f"The first is a {kinds[name]}."
            diagnostics.error(Code.DECLARED_TWICE.value, message, declaration.name.span, hint=hint)
            continue
        if name in BUILT_IN or (isinstance(declaration, ast.FunctionDecl) and name in _KEPT):
            message = f'"{name}" is a name that the language keeps for itself'
            detail = _OWN_RECORDS.get(name, "")
            diagnostics.error(Code.RESERVED.value, message, declaration.name.span, detail=detail, hint=_OTHER_NAME)
            continue
        match declaration:
            case ast.RecordDecl():
                kinds[name], records[name] = "record", declaration
            case ast.EnumDecl():
                kinds[name], enums[name] = "enum", declaration
            case ast.UnionDecl():
                kinds[name], unions[name] = "union", declaration
            case ast.CacheDecl():
                kinds[name], caches[name] = "msg cache", declaration
            case ast.SinkDecl():
                kinds[name], sinks[name] = "sink", declaration
            case ast.FunctionDecl():
                kinds[name], functions[name] = "function", declaration
            case ast.UnitDecl():
                kinds[name], units[name] = "unit", declaration
    known = Records(records, diagnostics, enums, unions)
    context = Context(diagnostics, known, kinds, notes, for_reference=for_reference)
    for name in enums:
        context.records.enum(name)
    for name in (*records, *unions):
        context.records.get(name)
    define(functions, context, typed)
    _check_caches(units, caches, context)
    return Declared(context, caches, sinks, units)


def writers(units: Mapping[str, ast.UnitDecl]) -> dict[str, list[str]]:
    """The names handed to `.to(...)` as written, each with the units that do so in order."""
    found: dict[str, list[str]] = {}
    for unit, declaration in units.items():
        for sink in _written(declaration.body):
            found.setdefault(sink, []).append(unit)
    return found


def _written(body: object) -> dict[str, None]:
    found: dict[str, None] = {}
    for node in _walk(body):
        match node:
            case ast.Apply(function=ast.Attribute(name="to"), arguments=(ast.Argument(value=ast.Ref(name=name)),)):
                found[name] = None
            case _:
                pass
    return found


def _check_caches(units: Mapping[str, ast.UnitDecl], caches: Mapping[str, ast.CacheDecl], context: Context) -> None:
    for unit in units.values():
        if unit.cache is None:
            continue
        if not unit.responsive:
            message = f'unit "{unit.name.text}" has a msg cache, and nobody calls it'
            hint = f'A unit that is called is written "responsive {unit.kind} {unit.name.text}".'
            context.report(Code.NOT_RESPONSIVE, message, unit.cache.span, hint=hint)
        if unit.cache.text not in caches:
            kind = context.kinds.get(unit.cache.text, "")
            hint = f'"{unit.cache.text}" is a {kind}.' if kind else suggest(unit.cache.text, caches)
            message = f'there is no msg cache "{unit.cache.text}"'
            context.report(Code.UNKNOWN_NAME, message, unit.cache.span, hint=hint)


def _walk(node: object) -> Iterator[object]:
    """The nodes of a tree in the order in which they are written, without functions: in these nothing is written to."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(reversed(cast("tuple[object, ...]", part)))
        elif ast.is_tree(part) and not isinstance(part, ast.Lambda):
            yield part
            waiting.extend(getattr(part, name) for name in reversed(ast.PARTS[type(part)]))
