"""Sinks and msg caches as declared: connectors, modes, keys; and what their writers agree on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from posixpath import normpath
from typing import assert_never

from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.expr import Lambda
from ghcm.functions import comparable
from ghcm.language import ast
from ghcm.lowering.arguments import Given, match_arguments
from ghcm.lowering.context import Context, Scope, origin_of
from ghcm.lowering.drafting import SinkPlace
from ghcm.lowering.expressions import lambda_of
from ghcm.operators import OPERATORS, Argument
from ghcm.source import Span
from ghcm.spg.graph import Cache, Mode
from ghcm.spg.ops import Connector, Files, Format, Generate, Kafka, Memory, Parquet, Redis, Socket
from ghcm.support import NotYet
from ghcm.types import Struct, Type
from ghcm.types.unification import accepts, unify

_MODES = tuple(mode.value for mode in Mode)
_SINK = (
    Argument("mode", "name", required=False, positional=False, choices=_MODES),
    Argument("key", "lambda1", required=False, positional=False),
    Argument("record", "record", required=False, positional=False),
)
_FORMAT = Argument("format", "name", required=False, positional=False, choices=("json", "csv"))
SINKS = {
    "files": (Argument("path", "string"), _FORMAT, *_SINK),
    "kafka": (Argument("topic", "string"), *_SINK),
    "parquet": (Argument("path", "string"), *_SINK),
    "redis": (Argument("place", "string"), *_SINK),
}
_ALLOWED = {
    "files": (Mode.APPEND, Mode.REPLACE),
    "kafka": (Mode.APPEND,),
    "parquet": (Mode.APPEND, Mode.REPLACE),
    "redis": (Mode.UPSERT, Mode.REPLACE),
}
"""The modes of each connector; the first is meant where none is said."""

CONNECTORS = tuple(SINKS)
"""What a sink can be."""

CACHES = {"kafka": (Argument("topic", "string"),), "redis": (Argument("place", "string"),)}


@dataclass(frozen=True, slots=True)
class Write:
    """A place that writes to a sink, and the type of its records; None where that was reported."""

    element: Type | None
    span: Span | None


def sink_of(declaration: ast.SinkDecl, context: Context) -> SinkPlace | None:
    """The sink without its element, or None after a report."""
    found = _connector(declaration.connector, SINKS, f'sink "{declaration.name.text}"', context)
    if found is None:
        return None
    connector, given = found
    place = next(iter(given.values))
    where = given.string(place)
    said = given.expr("mode")
    mode = Mode(given.choice("mode", _MODES, _ALLOWED[connector][0].value))
    key = given.expr("key")
    if mode not in _ALLOWED[connector]:
        _refuse_mode(connector, mode, None if said is None else said.span, context)
    else:
        _check_key(connector, key, declaration, context)
    element = _declared(given, context)
    if isinstance(element, _Wrong) or where is None:
        return None
    if connector == "kafka":
        kafka = OPERATORS["kafka"].reference
        reason = kafka.reason if isinstance(kafka, NotYet) else ""
        context.report(
            Code.NOT_YET, 'a sink of "kafka" does not work yet', declaration.name.span, detail=f"It {reason}."
        )
    made = _made(connector, where, given.choice("format", ("json", "csv"), "json"))
    return SinkPlace(declaration.name.text, made, mode, key, element, declaration.name.span)


def cache_of(declaration: ast.CacheDecl, context: Context) -> Cache | None:
    """The msg cache, or None after a report."""
    found = _connector(declaration.connector, CACHES, f'cache "{declaration.name.text}"', context)
    if found is None:
        return None
    connector, given = found
    where = given.string(next(iter(given.values)))
    if where is None:
        return None
    return Cache(declaration.name.text, _made(connector, where, "json"), origin_of(declaration.name.span))


def check_places(sinks: Iterable[SinkPlace], context: Context) -> None:
    """Report sinks that share a place: each would replace, or read as its own, what the other has written."""
    first: dict[tuple[str, str], str] = {}
    for sink in sinks:
        place = _place(sink.connector)
        if place in first:
            context.report(
                Code.SAME_PLACE,
                f'sink "{sink.name}" has the place of sink "{first[place]}"',
                sink.span,
                detail="Each would take for its own what the other has written.",
                hint="Several pipelines may write to one sink.",
            )
        first.setdefault(place, sink.name)


def _place(connector: Connector) -> tuple[str, str]:
    match connector:
        case Files(path=path) | Parquet(path=path):
            return "files", normpath(path)
        case Redis(place=place):
            return "redis", place
        case Kafka(topic=topic):
            return "kafka", topic
        case Socket() | Memory() | Generate():
            raise AssertionError("these are sources only")
        case _:
            assert_never(connector)


def agreed(place: SinkPlace, writes: list[Write], context: Context) -> Type | None:
    """The type of a sink's records: the declared record, or what all writers fit; None after a report."""
    known = [write for write in writes if write.element is not None]
    if place.element is None and len(known) < len(writes):
        return None
    element = place.element
    for write in known:
        assert write.element is not None, "writes without a type were left out"
        wider = write.element if element is None else element if place.element else unify(element, write.element)
        fits = wider is not None and accepts(wider, write.element) and (element is None or accepts(wider, element))
        if not fits:
            _report_writers(place, element, write, context)
            return None
        element = wider
    return element


def key_of(place: SinkPlace, element: Type, context: Context) -> Lambda | None:
    """The typed key of a sink's records; None where there is none, or after a report."""
    if place.key is None:
        return None
    key = lambda_of(place.key, (element,), Scope(), context, f'the key of sink "{place.name}"')
    if key is not None and not comparable(key.body.type):
        context.report(Code.NOT_COMPARABLE, f'"{key.body.type}" cannot be a key', place.key.span)
        return None
    return key


def _connector(
    written: ast.Expr, known: Mapping[str, tuple[Argument, ...]], what: str, context: Context
) -> tuple[str, Given] | None:
    match written:
        case ast.Apply(function=ast.Ref(name=name)) if name in known:
            given = match_arguments(name, known[name], written, context)
            return None if given is None else (name, given)
        case ast.Apply(function=ast.Ref(name=name, span=span)):
            pass
        case _:
            name, span = "", written.span
    context.report(
        Code.NO_CONNECTOR,
        f'{what} cannot be "{name}"' if name else f"{what} is no connector",
        span,
        detail=f"It may be {' or '.join(known)}.",
        hint=suggest(name, known),
    )
    return None


def _refuse_mode(connector: str, mode: Mode, span: Span | None, context: Context) -> None:
    why = {
        "redis": "Redis keeps one record per key, and has nothing to append to.",
        "kafka": "A topic only grows.",
    }.get(connector, "Files hold no keys by which a record could be found again.")
    allowed = " or ".join(mode.value for mode in _ALLOWED[connector])
    message = f'a sink of "{connector}" cannot have mode {mode.value}'
    context.report(Code.WRONG_MODE, message, span, detail=why, hint=f"Its mode is {allowed}.")


def _check_key(connector: str, key: ast.Expr | None, declaration: ast.SinkDecl, context: Context) -> None:
    name = declaration.name.text
    if connector == "redis" and key is None:
        message = f'sink "{name}" needs a key: a place in Redis holds one record per key'
        hint = "For example key = r => r.key."
        context.report(Code.KEY_NEEDED, message, declaration.connector.span, hint=hint)
    if connector != "redis" and key is not None:
        message = f'a key has no use in sink "{name}" of "{connector}"'
        context.report(Code.KEY_NEEDED, message, key.span, hint="A sink of redis finds records by key.")


@dataclass(frozen=True, slots=True)
class _Wrong:
    """A declared record that was reported."""


def _declared(given: Given, context: Context) -> Struct | _Wrong | None:
    written = given.expr("record")
    if written is None:
        return None
    if not isinstance(written, ast.Ref):
        given.wrong("record", "the name of a record", written.span)
        return _Wrong()
    names = (*context.records.names, *context.records.unions)
    if written.name not in names:
        message = f'there is no record "{written.name}"'
        context.report(Code.UNKNOWN_NAME, message, written.span, hint=suggest(written.name, names))
        return _Wrong()
    return context.records.get(written.name) or _Wrong()


def _made(connector: str, where: str, format_: str) -> Connector:
    match connector:
        case "files":
            return Files(where, Format(format_))
        case "parquet":
            return Parquet(where)
        case "kafka":
            return Kafka(where, Format(format_))
        case _:
            return Redis(where)


def _report_writers(place: SinkPlace, element: Type | None, write: Write, context: Context) -> None:
    others = "its record is" if place.element is not None else "another writer gives"
    context.report(
        Code.WRITERS_DIFFER,
        f'sink "{place.name}" cannot take these records',
        write.span,
        detail=f'These are "{_spelt(write.element)}", and {others} "{_spelt(element)}".',
        hint="map(...) makes them alike.",
    )


def _spelt(type_: Type | None) -> str:
    """The type with its fields, because two records of one name may differ in what is known not to be null."""
    if isinstance(type_, Struct):
        return "{" + ", ".join(map(str, type_.fields)) + "}"
    return str(type_)
