"""Sinks and msg caches as declared: connectors, modes, keys; and what their writers agree on."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from posixpath import normpath
from typing import cast

from ghcm import types
from ghcm.codes import Code
from ghcm.errors import Reported, attempt, sound, suggest
from ghcm.expr import Get, Lambda
from ghcm.formats.messages import PARTS, value_of
from ghcm.functions import comparable
from ghcm.language import ast
from ghcm.lowering.arguments import Given, match_arguments
from ghcm.lowering.context import Context, Scope, origin_of
from ghcm.lowering.declarations.redis_forms import FORM_ARGUMENTS, key_in_form, sink_in_form
from ghcm.lowering.drafts import SinkDraft
from ghcm.lowering.expressions.functions import lambda_of
from ghcm.operators import Argument
from ghcm.source import Span
from ghcm.spg.connectors import Connector, Format, Kafka, Mode, Parquet, Redis
from ghcm.spg.graph import Cache, key_columns
from ghcm.spg.sinks import CACHES, SINKS, AsSink
from ghcm.stores import no_place
from ghcm.types import Collection, Shape, String, Struct, Type, is_nullable, parts, strip
from ghcm.unification import accepts, unify

_DIVIDING = types.String | types.Enumeration | types.Int | types.Int32 | types.Date | types.Bool
"""The types of columns that divide the files of a table."""

_MODES = tuple(mode.value for mode in Mode)
_DELIVERY = Argument("delivery", "name", required=False, positional=False, choices=("exactly_once", "at_least_once"))


def _arguments(word: str, sink: AsSink) -> tuple[Argument, ...]:
    formats = Argument("format", "name", required=False, positional=False, choices=sink.formats)
    return (
        *(Argument(name, "string") for name in (sink.argument, *sink.further) if name),
        *([formats] if len(sink.formats) > 1 else []),
        *([_DELIVERY] if sink.topic or word == "redis" else []),
        *([Argument("headers", "lambda1", required=False, positional=False)] if sink.topic else []),
        Argument("mode", "name", required=False, positional=False, choices=_MODES),
        Argument("key", "lambda1", required=False, positional=False),
        *([Argument("partition", "lambda1", required=False, positional=False)] if word == "parquet" else []),
        Argument("record", "record", required=False, positional=False),
        *(FORM_ARGUMENTS if word == "redis" else ()),
    )


SINK_ARGUMENTS = {word: _arguments(word, sink) for word, sink in SINKS.items()}
"""The arguments of what a sink can be."""

CACHE_ARGUMENTS = {word: (Argument(cache.argument, "string"),) for word, cache in CACHES.items()}


@dataclass(frozen=True, slots=True)
class Write:
    """A task that writes to a sink, and the type of its records; None where that was reported."""

    element: Type | None
    span: Span | None


def sink_of(declaration: ast.SinkDecl, context: Context) -> SinkDraft:
    """The sink without its element."""
    word, given = _connector(declaration.connector, SINK_ARGUMENTS, f'sink "{declaration.name.text}"', context)
    if any(given.expr(each.name) is not None for each in FORM_ARGUMENTS):
        element = None if given.expr("record") is None else _record(given, context)
        return _delivered(sink_in_form(declaration, given, element, context), given, context)
    facts = SINKS[word]
    names: list[str | None] = [""]
    if facts.argument:
        names = [given.topic(facts.argument) if facts.topic else given.string(facts.argument)]
    names += [given.string(each) for each in facts.further]
    mode = Mode(given.choice("mode", facts.modes[0].value))
    key = given.expr("key")
    if mode not in facts.modes:
        _refuse_mode(word, mode, given.span("mode"), context)
    else:
        _check_key(word, mode, key, declaration, context)
    element = None if given.expr("record") is None else _record(given, context)
    name, *further = [sound(each) for each in names]
    make = cast("Callable[..., Connector]", facts.make)
    made = make(name, Format(given.choice("format", facts.formats[0])), *further)
    if made.address[0] == "files" and (why := no_place(name, "written")) is not None:
        context.report(Code.NO_CONNECTOR, why[0], given.span(facts.argument), detail=why[1])
    partition, headers = given.expr("partition"), given.expr("headers")
    draft = SinkDraft(declaration.name.text, made, mode, key, element, declaration.name.span)
    return _delivered(replace(draft, partition=partition, headers=headers), given, context)


def _delivered(draft: SinkDraft, given: Given, context: Context) -> SinkDraft:
    """The sink with what its readers are promised."""
    made = draft.connector
    if not isinstance(made, Kafka | Redis):
        return draft
    delivery = given.choice("delivery", made.delivery)
    if isinstance(made, Redis) and delivery == "at_least_once" and draft.mode is Mode.REPLACE:
        message = f'what sink "{draft.name}" holds is replaced as a whole, and cannot be seen at once'
        hint = "mode = upsert shows each record when it comes."
        raise context.report(Code.WRONG_MODE, message, given.span("delivery"), hint=hint)
    return replace(draft, connector=replace(made, delivery=delivery))


def cache_of(declaration: ast.CacheDecl, context: Context) -> Cache:
    """The msg cache."""
    word, given = _connector(declaration.connector, CACHE_ARGUMENTS, f'cache "{declaration.name.text}"', context)
    make = cast("Callable[[str, Format], Connector]", CACHES[word].make)
    made = make(sound(given.string(CACHES[word].argument)), Format("json"))
    return Cache(declaration.name.text, made, origin_of(declaration.name.span))


def check_addresses(sinks: Iterable[SinkDraft], context: Context) -> None:
    """Report sinks that share an address: each would replace, or read as its own, what the other has written."""
    first: dict[tuple[str, str], str] = {}
    for sink in sinks:
        kind, name = sink.connector.address
        if kind == "discard":
            continue
        address = kind, normpath(name) if kind == "files" else name
        if address in first:
            message = f'sink "{sink.name}" has the place of sink "{first[address]}"'
            detail = "Each would take for its own what the other has written."
            hint = "Several pipelines may write to one sink."
            context.report(Code.SAME_ADDRESS, message, sink.span, detail=detail, hint=hint)
        first.setdefault(address, sink.name)


def agreed(sink: SinkDraft, writes: list[Write], context: Context) -> Type:
    """The type of a sink's records: the declared record, or what all writers fit."""
    element, known = sink.element, [(write, write.element) for write in writes if write.element is not None]
    if element is None and len(known) < len(writes):
        raise Reported
    for write, written in known:
        wider = written if element is None else element if sink.element else unify(element, written)
        fits = wider is not None and accepts(wider, written) and (element is None or accepts(wider, element))
        if not fits:
            others = "its record is" if sink.element is not None else "another writer gives"
            message = f'sink "{sink.name}" cannot take these records'
            detail = f'These are "{_spelt(written)}", and {others} "{_spelt(element)}".'
            hint = "map(...) makes them alike."
            raise context.report(Code.WRITERS_DIFFER, message, write.span, detail=detail, hint=hint)
        element = wider
    if element is None:
        raise Reported
    return element


def key_of(sink: SinkDraft, element: Type, context: Context) -> Lambda | None:
    """The typed key of a sink's records; None where there is none, or after a report."""
    if sink.key is None:
        return None
    if isinstance(sink.connector, Redis) and sink.connector.form is not None:
        return attempt(key_in_form, sink, sink.connector, element, context)
    key = attempt(lambda_of, sink.key, (element,), Scope(context), f'the key of sink "{sink.name}"')
    if key is not None and not comparable(key.body.type):
        context.report(Code.NOT_COMPARABLE, f'"{key.body.type}" cannot be a key', sink.key.span)
        return None
    facts = SINKS[sink.connector.word]
    if key is not None and facts.table and not key_columns(key):
        detail = "A table finds its records by columns of plain values, as they stand."
        hint = "map(...) can add a column; several are a key together: key = r => (r.day, r.host)."
        message = f'the key of sink "{sink.name}" is no column'
        context.report(Code.KEY_NEEDED, message, sink.key.span, detail=detail, hint=hint)
    elif key is not None and facts.table and not facts.nulls and any(map(is_nullable, parts(key.body.type))):
        message = f'the key of sink "{sink.name}" may be null'
        detail = f"What finds the rows of {facts.table} is never null."
        hint = "filter(r => r.key is not null) leaves such records out; coalesce(r.key, ...) gives them a value."
        context.report(Code.KEY_NEEDED, message, sink.key.span, detail=detail, hint=hint)
    return key


def with_columns(sink: SinkDraft, element: Type, context: Context) -> Connector:
    """The connector of a sink with the columns that divide its files, or hold the headers of its messages."""
    match sink.connector:
        case Parquet() as files if sink.partition is not None:
            return _divided(sink, files, sink.partition, element, context)
        case Kafka() as topic if sink.headers is not None:
            return _with_headers(sink, topic, sink.headers, element, context)
        case connector:
            return connector


def _with_headers(sink: SinkDraft, topic: Kafka, headers: ast.Expr, element: Type, context: Context) -> Connector:
    of = attempt(lambda_of, headers, (element,), Scope(context), f'the headers of sink "{sink.name}"')
    if of is None:
        return topic
    (record,), body, part = of.parameters, of.body, PARTS["headers"]
    columns = Collection(Shape.STREAM, element, True).columns
    message = f'the messages of sink "{sink.name}" cannot have these headers'
    if not isinstance(body, Get) or body.of != record or not part.holds(strip(body.type)):
        detail = f'Headers are a column as it stands, {part.types}, and this is "{body.type}".'
        context.report(Code.BAD_PLACE, message, headers.span, detail=detail, hint="map(...) can add one.")
        return topic
    if len(columns.names) == 1:
        detail = "A message has a value besides its headers, and there is no other column."
        context.report(Code.BAD_PLACE, message, headers.span, detail=detail)
    return replace(topic, fields=(("headers", body.field),))


def _divided(sink: SinkDraft, files: Parquet, partition: ast.Expr, element: Type, context: Context) -> Connector:
    by = attempt(lambda_of, partition, (element,), Scope(context), f'the partition of sink "{sink.name}"')
    if by is None:
        return files
    names, columns = key_columns(by), Collection(Shape.STREAM, element, True).columns
    fit = [field.name for field in columns.fields if isinstance(strip(field.type), _DIVIDING)]
    message = f'the files of sink "{sink.name}" cannot be divided so'
    if not names or not {*names} <= {*fit}:
        detail = "Files are divided by columns of texts, enums, whole numbers, dates and truth values, as they stand."
        hint = "map(...) can add one, a day and not a moment; several are one below the other: r => (r.day, r.host)."
        context.report(Code.BAD_PLACE, message, partition.span, detail=detail, hint=hint)
    elif len({*names}) < len(names) or len(names) == len(columns.names):
        detail = "Files hold the columns that do not divide them, and there is one at least; a column divides once."
        context.report(Code.BAD_PLACE, message, partition.span, detail=detail)
    return replace(files, partition=names)


def check_text(sink: SinkDraft, connector: Connector, element: Type, context: Context) -> None:
    """Report records that are to be texts and are not."""
    if not isinstance(connector, Kafka) or connector.format.name != "text":
        return
    columns = value_of(connector.fields, Collection(Shape.STREAM, element, True).columns)
    if [type(field.type) for field in columns.fields] != [String]:
        message = f'sink "{sink.name}" cannot write these records as text'
        detail = f'A message is the one text of a record, never null, and these are "{_spelt(element)}".'
        hint = "map(r => r.text) leaves a text; format = json and format = csv have several fields."
        context.report(Code.WRITERS_DIFFER, message, sink.span, detail=detail, hint=hint)


def check_names(sink: SinkDraft, element: Type, context: Context) -> None:
    """Report columns, of structs too, that a table would take for one."""
    structs = [each for each in parts(element) if isinstance(each, Struct)]
    table = SINKS[sink.connector.word].table
    for struct in structs if table else []:
        first: dict[str, str] = {}
        for name in struct.names:
            other = first.setdefault(name.lower(), name)
            if other != name:
                message = f'sink "{sink.name}" cannot have columns "{other}" and "{name}"'
                detail = f"{table[0].upper()}{table[1:]} does not tell names apart that differ in case alone."
                context.report(Code.WRITERS_DIFFER, message, sink.span, detail=detail, hint="map(...) renames them.")


def _connector(
    written: ast.Expr, known: Mapping[str, tuple[Argument, ...]], what: str, context: Context
) -> tuple[str, Given]:
    match written:
        case ast.Apply(function=ast.Ref(name=name)) if name in known:
            return name, match_arguments(name, known[name], written, context)
        case ast.Apply(function=ast.Ref(name=name, span=span)):
            pass
        case _:
            name, span = "", written.span
    message = f'{what} cannot be "{name}"' if name else f"{what} is no connector"
    detail = f"It may be {' or '.join(known)}."
    raise context.report(Code.NO_CONNECTOR, message, span, detail=detail, hint=suggest(name, known))


def _refuse_mode(word: str, mode: Mode, span: Span | None, context: Context) -> None:
    allowed = " or ".join(mode.value for mode in SINKS[word].modes)
    message = f'a sink of "{word}" cannot have mode {mode.value}'
    context.report(Code.WRONG_MODE, message, span, detail=SINKS[word].why, hint=f"Its mode is {allowed}.")


def _check_key(word: str, mode: Mode, key: ast.Expr | None, declaration: ast.SinkDecl, context: Context) -> None:
    name, facts = declaration.name.text, SINKS[word]
    keyed = mode in facts.keyed
    if keyed and key is None:
        message = f'sink "{name}" needs a key: {facts.key}'
        hint = "For example key = r => r.key."
        context.report(Code.KEY_NEEDED, message, declaration.connector.span, hint=hint)
    if not keyed and key is not None and not facts.topic:
        message = f'a key has no use in sink "{name}" of "{word}"'
        modes = " or ".join(each.value for each in facts.keyed)
        others = " or ".join(each for each, sink in SINKS.items() if sink.keyed)
        hint = f"It has one with mode {modes}." if modes else f"A sink of {others} finds records by key."
        context.report(Code.KEY_NEEDED, message, key.span, hint=hint)


def _record(given: Given, context: Context) -> Struct:
    match given.expr("record"):
        case ast.Ref(name=name, span=span):
            names = (*context.records.names, *context.records.unions)
        case _:
            raise given.wrong("record", "the name of a record")
    if name not in names:
        raise context.report(Code.UNKNOWN_NAME, f'there is no record "{name}"', span, hint=suggest(name, names))
    return context.records.get(name)


def _spelt(type_: Type | None) -> str:
    """The type with its fields, because two records of one name may differ in what is known not to be null."""
    if isinstance(type_, Struct):
        return "{" + ", ".join(map(str, type_.fields)) + "}"
    return str(type_)
