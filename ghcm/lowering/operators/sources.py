"""Sources: where records come from. Those of a format stay raw until `as` says what they are."""

from dataclasses import replace
from typing import cast

from ghcm.codes import Code
from ghcm.errors import Reported, every, sound
from ghcm.expr import Lambda, Var
from ghcm.language import ast
from ghcm.lowering.context import Scope
from ghcm.lowering.drafts import SOURCES, Bound, Draft, Flow, Raw, RawSource, Step, rule
from ghcm.lowering.expressions.constants import NotConstant, constant
from ghcm.lowering.expressions.conversion import common_type
from ghcm.lowering.expressions.functions import whole
from ghcm.lowering.expressions.records import fits
from ghcm.lowering.expressions.unions import conforms
from ghcm.lowering.operators.envelopes import unwrapped
from ghcm.lowering.operators.source_arguments import format_given, must_end, of_format, time_given
from ghcm.lowering.operators.topics import check_message
from ghcm.lowering.types import has_null
from ghcm.spg.connectors import Connector, Files, Format, Generate, Kafka, Memory, Socket, SqlQuery, Table
from ghcm.spg.graph import Forward
from ghcm.spg.ops import Filter, Source, Union
from ghcm.stores import no_place, scheme_of
from ghcm.types import Collection, Field, Int, List, Map, Shape, Struct, Timestamp, Type, parts, strip

_BY_SUFFIX = {
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
}
_TICK = Struct((Field("number", Int()), Field("time", Timestamp())), name="Tick")
_SECOND = 1_000_000
_PORTS = range(1, 65536)


@rule(SOURCES, "files")
def files(step: Step) -> Bound:
    """Records of files; the format follows the name where it is not said."""
    path = _path(step)
    format_ = format_given(step, format_of(path) or "text")
    if format_.name in ("parquet", "arrow") and step.given.expr("compression") is not None:
        message = f'"compression" is for files of lines, and {format_.name} packs its columns itself'
        step.report(Code.BAD_FORMAT, message, step.given.span("compression"))
    compression = step.given.choice("compression", "ending")
    follow, tail = waited(step, path, format_, compression)
    clock = clock_of(step, follow=follow, tail=tail)
    return of_format(step, Files(path, format_, compression, clock, follow, tail), format_, bounded=not follow)


def _path(step: Step) -> str:
    path = sound(step.given.string("path"))
    if (why := no_place(path, "read")) is not None:
        step.report(Code.NO_CONNECTOR, why[0], step.given.span("path"), detail=why[1])
    return path


def format_of(path: str) -> str | None:
    """The format that the name of a file says."""
    stem = next((path.removesuffix(suffix) for suffix in COMPRESSED if path.endswith(suffix)), path)
    return next((name for suffix, name in _BY_SUFFIX.items() if stem.endswith(suffix)), None)


@rule(SOURCES, "table")
def table(step: Step) -> Bound:
    """Rows of a Delta table."""
    path = _path(step)
    version, time, at = None, None, step.given.expr("at")
    if isinstance(at, ast.Literal) and isinstance(at.type, Int):
        version = step.given.integer("at")
    elif at is not None:
        time = time_given(step, "at", "a version such as 12, or")
    follow, rewrites = step.given.flag("follow"), step.given.choice("rewrites", "fail")
    if not follow and step.given.expr("rewrites") is not None:
        message = '"rewrites" is about commits that come later, and this table is read as it is'
        hint = "follow = true reads them too."
        step.report(Code.BAD_FORMAT, message, step.given.span("rewrites"), hint=hint)
    bounded = not follow or must_end(step)
    return Raw((RawSource(step.name, Table(path, version, time, follow, rewrites), (), bounded, step.span),))


@rule(SOURCES, "socket")
def socket(step: Step) -> Bound:
    """Lines of a TCP server."""
    address = step.given.string("address")
    format_ = format_given(step, "text")
    host, _, port = sound(address).rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) not in _PORTS:
        raise step.given.wrong("address", 'a string "host:port"')
    return of_format(step, Socket(host, int(port), format_), format_, bounded=False)


@rule(SOURCES, "sql")
def sql(step: Step) -> Bound:
    """Rows of a database."""
    given = step.given
    connection, split = sound(given.string("connection")), given.expr("split") is not None
    said = [name for name in ("table", "query") if given.expr(name) is not None]
    if len(said) != 1:
        hint = 'sql("warehouse", "words") or sql("warehouse", query = "select ...").'
        message = '"sql" reads a table or a query' + (", not both" if said else "")
        raise step.report(Code.ARGUMENT_KIND, message, hint=hint)
    if not split and given.expr("parts") is not None:
        step.report(Code.ARGUMENT_KIND, '"parts" says into how many "split" is read', given.span("parts"))
    texts = {name: sound(given.string(name)) for name in (*said, *(["split"] if split else []))}
    parts = given.integer("parts", 4, least=1) or 1 if split else 1
    connector = SqlQuery(connection, texts.get("table", ""), texts.get("query", ""), texts.get("split", ""), parts)
    return Raw((RawSource(step.name, connector, (), True, step.span),))


@rule(SOURCES, "memory")
def memory(step: Step) -> Bound:
    """Rows that stand in the program; they need no `as`, which gives them a type where the rows alone do not."""
    rows = step.given.expr("rows")
    if not isinstance(rows, ast.ListExpr):
        raise step.given.wrong("rows", "a list of records")
    return Raw((RawSource(step.name, None, rows.items, True, step.span),))


@rule(SOURCES, "generate")
def generate(step: Step) -> Bound:
    """A clock of numbered records."""
    rows = step.given.integer("rows")
    rate = step.given.number("rate")
    if rate == 0:
        step.report(Code.OUT_OF_RANGE, '"rate" of "generate" is 0 records per second', step.given.span("rate"))
    start = time_given(step, "start", "a constant time such as") or 0
    size = step.given.duration("step", least=1) or _SECOND
    bounded = step.given.expr("rows") is not None or must_end(step)
    collection = Collection(Shape.STREAM, _TICK, bounded)
    return Flow(step.add(Source(Generate(rows, rate, start, size)), collection), collection)


def decode(step: Step, raw: Raw, element: Struct) -> Flow:
    """The sources of a raw collection as tasks that give records of `element`, with the union that joins them."""
    return _together(step, raw, every(lambda source: _source(step, source, element), raw.sources))


def conforming(step: Step, flow: Flow) -> Flow:
    """The records in which no union lacks a field of the record that it says it is; the others are dead letters."""
    record = Var("record", flow.collection.element)
    check = conforms(record)
    if check is None:
        return flow
    return replace(flow, draft=step.row(Filter(Lambda((record,), check)), flow, flow.collection))


def settle(step: Step, raw: Raw) -> Flow:
    """A raw collection that needs no `as`: rows of `memory`, typed by themselves. Others are reported."""
    if any(source.connector is not None for source in raw.sources):
        message = f'"{step.name}" needs records, and this source gives raw ones'
        raise step.report(Code.NEEDS_RECORD, message, hint="Say what the records are: .as(Record).")
    rows = [row for source in raw.sources for row in source.rows]
    values = every(lambda row: whole(row, Scope(step.context), "a row of memory"), rows)
    element = common_type(values, step.context.records.known_unions) if values else None
    if element is None or has_null(element):
        message = "the rows do not say what their records are"
        detail = "They have no type in common, or there are none, or a field is always null."
        hint = "Say what the records are: .as(Record)."
        raise step.report(Code.NEEDS_RECORD, message, raw.sources[0].span, detail=detail, hint=hint)
    return _together(step, raw, every(lambda source: _memory(step, source, element), raw.sources))


def _source(step: Step, source: RawSource, element: Struct) -> Draft:
    if source.connector is None:
        return _memory(step, source, element)
    if isinstance(source.connector, Kafka):
        check_message(step, source, source.connector, element)
    _check_holds(step, source.connector, element)
    if source.envelope is not None:
        return unwrapped(step, source, element)
    draft = step.add(Source(source.connector), Collection(Shape.STREAM, element, source.bounded))
    draft.word, draft.span = source.word, source.span
    return draft


def _nests(type_: Type) -> bool:
    """Whether it is more than a single value or a list of these."""
    return isinstance(strip(type_.item) if isinstance(type_, List) else type_, Struct | Map | List)


def _check_holds(step: Step, connector: Connector, element: Struct) -> None:
    if isinstance(connector, Table) and any(isinstance(each, Struct) and each.cases for each in parts(element)):
        message = "records of a table are no unions"
        detail = "Its columns hold whatever was written there, of whichever record."
        hint = "sink x = parquet(..., record = Union) and x.read() read what this program, or another, wrote there."
        raise step.report(Code.BAD_FORMAT, message, detail=detail, hint=hint)
    if not isinstance(connector, Files | Socket) or connector.format.name != "zeek":
        return
    nested = [part for part in element.fields if _nests(strip(part.type))]
    for part in nested:
        message = f'logs of Zeek hold no "{strip(part.type)}", which field "{part.name}" is'
        hint = f'Columns such as "{part.name}.x" are fields of their own: x: string from "{part.name}.x".'
        step.report(Code.BAD_FORMAT, message, detail="Their columns hold single values, sets and vectors.", hint=hint)
    if nested:
        raise Reported


def _memory(step: Step, source: RawSource, element: Type) -> Draft:
    scope = Scope(step.context)

    def values(row: ast.Expr) -> tuple[object, ...]:
        value = fits(whole(row, scope, "a row of memory"), element, "the record", row.span, step.context)
        try:
            found = constant(value)
        except NotConstant:
            raise step.report(Code.NOT_CONSTANT, "a row of memory is not a constant", row.span) from None
        return cast("tuple[object, ...]", found) if isinstance(element, Struct) else (found,)

    rows = every(values, source.rows)
    draft = step.add(Source(Memory(rows)), Collection(Shape.STREAM, element, True))
    draft.word, draft.span = source.word, source.span
    return draft


def _together(step: Step, raw: Raw, tasks: tuple[Draft, ...]) -> Flow:
    asked = 1 if step.name == "as" else 0
    if len(tasks) == 1:
        tasks[0].calls += asked
        return Flow(tasks[0], tasks[0].collection)
    bounded = all(task.collection.bounded for task in tasks)
    collection = replace(tasks[0].collection, bounded=bounded)
    union = Draft("union", Union(), tuple((task, Forward()) for task in tasks), collection, raw.unions[0])
    union.calls = len(raw.unions) + asked
    step.unit.drafts.append(union)
    return Flow(union, collection)


COMPRESSED = (".gz", ".zst", ".zstd")
"""Endings of the names of packed files."""


def waited(step: Step, path: str, format_: Format, compression: str) -> tuple[bool, bool]:
    """Whether files are followed, and whether they are tailed too; what cannot be is reported."""
    tail = step.given.flag("tail")
    follow = step.given.flag("follow", tail)
    if tail and not follow:
        message = "files that are tailed are followed too"
        detail = "A log that is renamed has a new file in its place, which is read as well."
        hint = "tail = true alone says both."
        step.report(Code.BAD_FORMAT, message, step.given.span("follow"), detail=detail, hint=hint)
    if tail:
        _check_growing(step, path, format_, compression)
    return follow or tail, tail


def clock_of(step: Step, *, follow: bool, tail: bool) -> str:
    """Whether event time "restarts" in each file or "continues"; it continues where files are waited for."""
    clock = step.given.choice("clock", "continues" if follow else "restarts")
    if follow and clock == "restarts":
        message = f"files that are {'tailed' if tail else 'followed'} have one clock, which continues"
        detail = "How many files will come is not known, and each of them would hold event time back."
        hint = "Sources with clocks of their own can be joined by union."
        step.report(Code.BAD_FORMAT, message, step.given.span("clock"), detail=detail, hint=hint)
    return clock


def _check_growing(step: Step, path: str, format_: Format, compression: str) -> None:
    """Report files that can only be read when they are whole."""
    whole = "follow = true reads each file once, when it is whole."
    if format_.name in ("parquet", "arrow"):
        message, detail = f"files of {format_.name} cannot be tailed", "They can be read only when they are whole."
        step.report(Code.BAD_FORMAT, message, step.given.span("tail"), detail=detail, hint=whole)
    elif scheme_of(path) is not None:
        message, detail = "objects of a store cannot be tailed", "An object does not grow: it is replaced as a whole."
        step.report(Code.BAD_FORMAT, message, step.given.span("tail"), detail=detail, hint=whole)
    elif compression in ("gzip", "zstd") or (compression == "ending" and path.endswith(COMPRESSED)):
        said = step.given.span("compression") if compression != "ending" else step.given.span("path")
        message, detail = "packed files cannot be tailed", "Where a line ends is known only when they are unpacked."
        step.report(Code.BAD_FORMAT, message, said, detail=detail, hint=whole)
