"""The names that a program declares: one space for records, enums, unions, msg caches, sinks and units."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar, assert_never

from ghcm.codes import Code
from ghcm.errors import Diagnostics, attempt, suggest
from ghcm.language import ast, trees
from ghcm.lowering.context import Context, Notes
from ghcm.lowering.expressions.aggregates import check_declared, of_aggregates
from ghcm.lowering.expressions.applications import CALLABLE
from ghcm.lowering.expressions.functions import define
from ghcm.lowering.expressions.typed import METHODS, typed
from ghcm.lowering.pipeline_functions import check, is_of_collections
from ghcm.lowering.types import BUILT_IN, Records
from ghcm.operators import OPERATORS
from ghcm.support import MOST_INSTANCES, RUNS

_D = TypeVar("_D", bound=ast.Declaration)

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


def declare(program: ast.Program, diagnostics: Diagnostics, notes: Notes | None = None) -> Declared:
    """Gather the declarations and resolve records; names taken twice or kept by the language are reported."""
    declared = _accepted(program.declarations, diagnostics)
    records, enums, unions = _of(ast.RecordDecl, declared), _of(ast.EnumDecl, declared), _of(ast.UnionDecl, declared)
    caches, units = _of(ast.CacheDecl, declared), _of(ast.UnitDecl, declared)
    kinds = {name: _kind(declaration) for name, declaration in declared.items()}
    known = Records(records, diagnostics, enums, unions)
    functions = _of(ast.FunctionDecl, declared)
    pipelines = {name: each for name, each in functions.items() if is_of_collections(each)}
    others = {name: each for name, each in functions.items() if name not in pipelines}
    aggregates = of_aggregates(others)
    context = Context(diagnostics, known, kinds, typed, notes, pipelines=pipelines, aggregates=aggregates)
    for name in enums:
        attempt(known.enum, name)
    for name in (*records, *unions):
        attempt(known.get, name)
    define({name: each for name, each in others.items() if name not in aggregates}, context)
    for each in aggregates.values():
        attempt(check_declared, each, context)
    check(pipelines, context)
    _check_caches(units, caches, context)
    _check_engines(units, context)
    _check_parallelism(units.values(), context)
    return Declared(context, caches, _of(ast.SinkDecl, declared), units)


def _accepted(declarations: Iterable[ast.Declaration], diagnostics: Diagnostics) -> dict[str, ast.Declaration]:
    """The declarations whose names are free, by name and in order; the others are reported."""
    found: dict[str, ast.Declaration] = {}
    for declaration in declarations:
        name, span = declaration.name.text, declaration.name.span
        if name in found:
            hint = f"The first is a {_kind(found[name])}."
            diagnostics.error(Code.DECLARED_TWICE.value, f'"{name}" is declared twice', span, hint=hint)
        elif name in BUILT_IN or (isinstance(declaration, ast.FunctionDecl) and name in _KEPT):
            message = f'"{name}" is a name that the language keeps for itself'
            detail = _OWN_RECORDS.get(name, "")
            diagnostics.error(Code.RESERVED.value, message, span, detail=detail, hint=_OTHER_NAME)
        else:
            found[name] = declaration
    return found


def _of(kind: type[_D], declared: Mapping[str, ast.Declaration]) -> dict[str, _D]:
    return {name: declaration for name, declaration in declared.items() if isinstance(declaration, kind)}


def _kind(declaration: ast.Declaration) -> str:
    """What a declaration declares, in a word for messages."""
    match declaration:
        case ast.RecordDecl():
            return "record"
        case ast.EnumDecl():
            return "enum"
        case ast.UnionDecl():
            return "union"
        case ast.CacheDecl():
            return "msg cache"
        case ast.SinkDecl():
            return "sink"
        case ast.FunctionDecl():
            return "function"
        case ast.UnitDecl():
            return "unit"
        case _:
            assert_never(declaration)


def _check_engines(units: Mapping[str, ast.UnitDecl], context: Context) -> None:
    known = sorted({name for names in RUNS.values() for name in names})
    for unit in units.values():
        if unit.engine is None or unit.engine.text in ("auto", *RUNS[unit.kind]):
            continue
        asked = unit.engine.text
        hint = f"There are {', '.join(known)}, and auto leaves it to GHCM."
        if asked in known:
            message = f'a {unit.kind} unit does not run on "{asked}"'
            context.report(Code.NEVER, message, unit.engine.span, detail="It is for units that end.", hint=hint)
        else:
            message = f'there is no engine "{asked}"'
            context.report(Code.UNKNOWN_NAME, message, unit.engine.span, hint=suggest(asked, known) or hint)


def _check_parallelism(units: Iterable[ast.UnitDecl], context: Context) -> None:
    for unit in units:
        if unit.parallelism is None:
            continue
        count, span = unit.parallelism.value, unit.parallelism.span
        assert isinstance(count, int), "both front ends see to that"
        if unit.responsive or unit.kind != "stream":
            kind = f"{'responsive ' if unit.responsive else ''}{unit.kind}"
            detail = "Instances are of the tasks of a stream that runs by itself."
            hint = "Leave it out." if unit.kind == "stream" else "Leave it out: engine = spark divides large input."
            context.report(Code.NEVER, f"a {kind} unit has no parallelism", span, detail=detail, hint=hint)
        elif not 1 <= count <= MOST_INSTANCES:
            wrong = "less than 1" if count < 1 else f"more than {MOST_INSTANCES}"
            hint = f"Write a number from 1 to {MOST_INSTANCES}."
            context.report(Code.OUT_OF_RANGE, f'"parallelism" of "{unit.name.text}" is {wrong}', span, hint=hint)


def writers(units: Mapping[str, ast.UnitDecl]) -> dict[str, list[str]]:
    """The names handed to `.to(...)` as written, each with the units that do so in order."""
    found: dict[str, list[str]] = {}
    for unit, declaration in units.items():
        for sink in dict.fromkeys(_written(declaration)):
            found.setdefault(sink, []).append(unit)
    return found


def _written(declaration: ast.UnitDecl) -> Iterator[str]:
    """The sinks that a unit writes to; in functions nothing is written to."""
    for node in trees.walk(declaration, past=ast.Lambda):
        match node:
            case ast.Apply(function=ast.Attribute(name="to"), arguments=(ast.Argument(value=ast.Ref(name=name)),)):
                yield name
            case _:
                pass


def _check_caches(units: Mapping[str, ast.UnitDecl], caches: Mapping[str, ast.CacheDecl], context: Context) -> None:
    for unit in units.values():
        if unit.cache is None:
            continue
        if not unit.responsive:
            message = f'unit "{unit.name.text}" has a msg cache, and nobody calls it'
            hint = f'A unit that is called is written "responsive {unit.kind} {unit.name.text}".'
            context.report(Code.NOT_RESPONSIVE, message, unit.cache.span, hint=hint)
        if unit.cache.text not in caches:
            hint = context.hint_for(unit.cache.text, caches)
            message = f'there is no msg cache "{unit.cache.text}"'
            context.report(Code.UNKNOWN_NAME, message, unit.cache.span, hint=hint)
