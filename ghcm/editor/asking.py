"""What one argument of an operator or of a sink asks for, where that is one of a few words.

Arguments that take any expression ask for nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping

from ghcm.aggregates import AGGREGATES
from ghcm.editor.names import Node
from ghcm.language import ast
from ghcm.lowering.declarations.sinks import CACHE_ARGUMENTS, SINK_ARGUMENTS
from ghcm.lowering.operators.times import WINDOWS
from ghcm.operators import OPERATORS, Argument

_RECORDS = (ast.RecordDecl, ast.UnionDecl)


def connectors_of(declaration: object) -> Mapping[str, tuple[Argument, ...]]:
    """What a sink or a msg cache can be, with the arguments; nothing for any other declaration."""
    match declaration:
        case ast.SinkDecl():
            return SINK_ARGUMENTS
        case ast.CacheDecl():
            return CACHE_ARGUMENTS
        case _:
            return {}


def arguments_of(call: ast.Apply, connectors: Mapping[str, tuple[Argument, ...]]) -> tuple[Argument, ...]:
    """The arguments that are declared for what is called; none for functions."""
    if not isinstance(call.function, ast.Attribute | ast.Ref):
        return ()
    name = call.function.name
    return connectors[name] if name in connectors else OPERATORS[name].arguments if name in OPERATORS else ()


def asked(call: ast.Apply, node: Node, declared: tuple[Argument, ...]) -> Argument | None:
    """The argument of which `node`, or a call of it, is the value; None where it is none that is declared."""
    place = 0
    for given in call.arguments:
        if given.value is node or (isinstance(given.value, ast.Apply) and given.value.function is node):
            if given.name is None:
                by_place = [each for each in declared if each.positional]
                return by_place[min(place, len(by_place) - 1)] if by_place[place:] or _repeated(by_place) else None
            others = (each for each in declared if each.repeated)
            return next((each for each in declared if each.name == given.name), next(others, None))
        place += given.name is None
    return None


def _repeated(arguments: list[Argument]) -> bool:
    return bool(arguments) and arguments[-1].repeated


def words_of(argument: Argument, declared: Mapping[str, ast.Declaration]) -> tuple[str, ...]:
    """All that can stand there; nothing where it may be any expression."""
    match argument.kind:
        case "window":
            return tuple(WINDOWS)
        case "aggregate":
            return tuple(rule.function.value for rule in AGGREGATES.values())
        case "sink":
            return tuple(name for name, each in declared.items() if isinstance(each, ast.SinkDecl))
        case "record":
            return tuple(name for name, each in declared.items() if isinstance(each, _RECORDS))
        case _:
            return argument.choices
