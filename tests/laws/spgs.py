"""Generated SPGs: whole typed programs, and programs that exercise one operator with hard data.

    programs(kind="stream" | "batch", max_ops=...)  any operators behind memory sources; unit "u", results in sink "out"
    expressions(of_type, columns, depth)            an expression over variables
    operator_case(name, kind=...)                   the operator with as little as possible around it
    raw_case(format)                                a source of that format and the bytes that it reads, good and bad

Every program is sound (`ghcm.spg.verify` finds nothing) and the reference runs it. Float sums stand at the end of a
chain, so that engines may differ in their last digits and in nothing else.
"""

from __future__ import annotations

import json
import math
from typing import Literal as Choice
from typing import TypeAlias, cast

from hypothesis import strategies as st

from ghcm.expr import Get, Lambda, Literal, MakeStruct, Var
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.source import Origin
from ghcm.spg.connectors import Connector, Files, Format, Generate, Parquet, Redis
from ghcm.spg.graph import Cache, Forward, Global, Mode, Parameter, Program, Sink, Unit
from ghcm.spg.ops import CallTemplate, MapToPair, Policy, Publish, ReadSink, Reply, Source, To
from ghcm.types import (
    Bool,
    Collection,
    Date,
    Duration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Nullable,
    Shape,
    String,
    Struct,
    Timestamp,
    Type,
    pair_of,
    strip,
    tuple_of,
)
from ghcm.values import to_json
from tests.laws.spg_chains import STEPS, Chain, Flow, applicable, source
from tests.laws.spg_expressions import expressions, functions
from tests.laws.spg_values import records, types, values_of

__all__ = [
    "CASES",
    "expressions",
    "functions",
    "operator_case",
    "programs",
    "raw_case",
    "raw_files",
    "rebuilt",
    "timed_record",
    "types",
    "values_of",
]

Kind: TypeAlias = Choice["stream", "batch"]
_ORIGIN = Origin("generated.istream", 1, 1)


def rebuilt(chain: Chain, flow: Flow, *, others: tuple[Unit, ...] = (), sink: Connector | None = None) -> Program:
    """The program of a chain whose last flow goes to "out": upsert for a table, replace in batches, else append."""
    element = flow.collection.element
    if flow.collection.shape is Shape.TABLE:
        row = Var("r", element)
        key = Lambda((row,), Get(row, "key", cast("Struct", element).fields[0].type))
        out = Sink("out", Redis("out"), Mode.UPSERT, key, element, _ORIGIN)
    else:
        mode = Mode.REPLACE if chain.kind == "batch" else Mode.APPEND
        out = Sink("out", sink or Parquet("out"), mode, None, element, _ORIGIN)
    chain.add("out.to", To("out"), flow.collection, (flow, Forward()))
    parameters = tuple(Parameter(each.name, each.type, False, 3) for each in chain.parameters)
    responsive = bool(parameters)
    cache = "calls" if responsive else None
    unit = Unit("u", cast("Kind", chain.kind), responsive, parameters, cache, tuple(chain.tasks), _ORIGIN)
    caches = (Cache("calls", Redis("calls"), _ORIGIN),) if others or responsive else ()
    return Program("generated", caches, (out,), (unit, *others))


@st.composite
def programs(draw: st.DrawFn, kind: Kind | None = None, max_ops: int = 5) -> Program:
    """A program of one unit: a source and up to `max_ops` operators behind it."""
    chain = Chain(kind or cast("Kind", draw(st.sampled_from(["stream", "batch"]))))
    element = timed_record(draw) if draw(st.booleans()) else None
    flow = source(draw, chain, element)
    for _ in range(draw(st.integers(0, max_ops))):
        if flow.inexact or flow.collection.shape is Shape.TABLE:
            break
        flow = STEPS[draw(st.sampled_from(applicable(flow)))](draw, chain, flow) or flow
    return rebuilt(chain, flow)


def timed_record(draw: st.DrawFn) -> Struct:
    """A record that has a timestamp."""
    found = draw(records())
    fields = tuple(each for each in found.fields if each.name != "at")
    return Struct((Field("at", Nullable(Timestamp()) if draw(st.booleans()) else Timestamp()), *fields), found.name)


@st.composite
def operator_case(draw: st.DrawFn, name: str, kind: Kind = "batch") -> Program:
    """A program around one operator of the table; `CASES` lists the names."""
    chain = Chain(kind)
    if name == "generate":
        return _generated(draw, chain)
    element = timed_record(draw) if name in ("event_time", "window") else None
    if name == "read":
        element = draw(records())
        reading = chain.add("read", ReadSink("before"), Collection(Shape.STREAM, element, bounded=True))
        program = rebuilt(chain, reading)
        before = Sink("before", Parquet("before"), Mode.APPEND, None, element, _ORIGIN)
        return Program(program.name, (), (*program.sinks, before), program.units)
    if name in ("reduce_by_key", "aggregate_by_key", "group_by_key", "count", "map_values"):
        element = _pair_record(draw, name)
    flow = source(draw, chain, element, most=12)
    if name == "reply":
        chain.add("reply", Reply(), flow.collection, (flow, Forward()))
        cache = Cache("calls", Redis("calls"), _ORIGIN)
        return Program("generated", (cache,), (), (Unit("u", kind, True, (), "calls", tuple(chain.tasks), _ORIGIN),))
    if name == "publish":
        return _published(draw, chain, flow)
    for word in _BEFORE.get(name, ()):
        flow = STEPS[word](draw, chain, flow) or flow
    if isinstance(element, Struct) and element.names == ("k", "v") and not (name == "count" and draw(st.booleans())):
        flow = _plain_pairs(chain, flow)
    made = STEPS[name](draw, chain, flow) if name in STEPS else flow
    return rebuilt(chain, made or flow)


_BEFORE = {"window": ("event_time",), "event_time": ()}
CASES = (*STEPS, "memory", "generate", "read", "to", "publish", "reply")
"""The operators that `operator_case` knows. `files` and `as` have `raw_case`; `python` needs a module of its own."""


def _pair_record(draw: st.DrawFn, name: str) -> Struct:
    """Keys and values side by side, so that no expression stands between the data and the groups."""
    values: list[Type] = [Int(), Float(), Duration(), String(), Bool(), tuple_of(Int(), Float())]
    value = draw(st.sampled_from(values)) if name == "reduce_by_key" else draw(types(keys=True))
    return Struct((Field("k", draw(types(0, keys=True))), Field("v", value)))


def _plain_pairs(chain: Chain, flow: Flow) -> Flow:
    """`map_to_pair(x => (x.k, x.v))`."""
    record = Var("x", flow.collection.element)
    parts = tuple(Get(record, each.name, each.type) for each in flow.collection.columns.fields)
    key, value = (part.type for part in parts)
    function = Lambda((record,), MakeStruct(parts, tuple_of(key, value)))
    return chain.row("map_to_pair", MapToPair(function), flow, shape=Shape.PAIRS, element=pair_of(key, value))


def _generated(draw: st.DrawFn, chain: Chain) -> Program:
    element = Struct((Field("number", Int()), Field("time", Timestamp())))
    start = 0 if draw(st.booleans()) else 1_767_312_000_123_456
    connector = Generate(draw(st.integers(0, 20)), None, start, 1_000_000 if draw(st.booleans()) else 1)
    flow = chain.add("generate", Source(connector), Collection(Shape.STREAM, element, bounded=True))
    return rebuilt(chain, flow)


def _published(draw: st.DrawFn, chain: Chain, flow: Flow) -> Program:
    element = flow.collection.element
    argument = draw(functions(Nullable(Int()), element, depth=1))
    least = Aggregate("least", AggregateFunction.MIN, argument, Nullable(Int()))
    arguments = (
        ("n", Aggregate("n", AggregateFunction.COUNT, None, Int())),
        ("least", least),
        ("depth", Literal(3, Int())),
    )
    policy = draw(
        st.one_of(
            st.builds(Policy, every_records=st.integers(1, 4), at_end=st.booleans()),
            st.just(Policy(on="completion")),
            functions(Nullable(Bool()), element, depth=1).map(lambda when: Policy(when=when)),
        )
    )
    to = chain.add("out.to", To("out"), flow.collection, (flow, Forward()))
    chain.add(
        "out.publish", Publish(CallTemplate("called", arguments), policy, to.id), flow.collection, (flow, Global())
    )
    sink = Sink("out", Parquet("out"), Mode.APPEND, None, element, _ORIGIN)
    parameters = (
        Parameter("n", Int(), True),
        Parameter("least", Nullable(Int()), False, None),
        Parameter("depth", Int(), False, 7),
    )
    reading = Chain("batch")
    found = reading.add("read", ReadSink("out"), Collection(Shape.STREAM, element, bounded=True))
    reading.add("reply", Reply(), found.collection, (found, Forward()))
    called = Unit("called", "batch", True, parameters, "calls", tuple(reading.tasks), _ORIGIN)
    unit = Unit("u", cast("Kind", chain.kind), False, (), None, tuple(chain.tasks), _ORIGIN)
    return Program("generated", (Cache("calls", Redis("calls"), _ORIGIN),), (sink,), (unit, called))


# --- raw records -----------------------------------------------------------------------------------------------------

_FLAT_TYPES: tuple[Type, ...] = (Int(), String(), Float(), Bool(), Timestamp(), Date(), Int32(), Duration())
_JSON_TYPES: tuple[Type, ...] = (*_FLAT_TYPES, List(Int()), Struct((Field("x", Int()),)))
_JUNK: tuple[object, ...] = ("", None, "nothing", [1], 1.5, True, 2**63, {}, -1, "2026-01-02", "1e400", "NaN", "12")
_BROKEN = (b"", b"\xff", b"junk", b'"open', b"{", b'{"a": NaN}', b" ")


@st.composite
def raw_case(
    draw: st.DrawFn, format_name: Choice["json", "csv", "text"], kind: Kind = "batch"
) -> tuple[Program, dict[str, bytes]]:
    """A program that reads files "in/*", and the bytes of these files by name."""
    chain = Chain(kind)
    element, files = draw(raw_files(format_name))
    collection = Collection(Shape.STREAM, element, bounded=True)
    flow = chain.add("files", Source(Files("in/*", Format(format_name))), collection)
    return rebuilt(chain, flow), files


@st.composite
def raw_files(draw: st.DrawFn, format_name: Choice["json", "csv", "text"]) -> tuple[Struct, dict[str, bytes]]:
    """What is declared about files "in/*" and the bytes of these files by name."""
    head: list[bytes] = []
    match format_name:
        case "text":
            element = Struct((Field("text", String()), Field("file", String()), Field("number", Int())), "Line")
            line = st.text("ab é😀\t", max_size=5).map(str.encode)
        case "json":
            element = _raw_record(draw, _JSON_TYPES)
            line = _json_line(element)
        case "csv":
            element = _raw_record(draw, _FLAT_TYPES)
            line = _csv_line(element)
            head = [_csv([field.path or field.name for field in element.fields])]
    lines = st.lists(st.one_of(line, line, line, line, st.sampled_from(_BROKEN)), max_size=8)
    files: dict[str, bytes] = {}
    for name in ("in/a", "in/b")[: draw(st.integers(1, 2))]:
        end = draw(st.sampled_from([b"\n", b"\r\n"]))
        files[name] = end.join([*head, *draw(lines)]) + draw(st.sampled_from([b"", end]))
    return element, files


def _raw_record(draw: st.DrawFn, of: tuple[Type, ...]) -> Struct:
    fields: list[Field] = []
    for name in "abcd"[: draw(st.integers(1, 4))]:
        type_ = draw(st.sampled_from(of))
        path = draw(st.sampled_from([None, f"path.{name}", f"in {name}"]))
        fields.append(Field(name, Nullable(type_) if draw(st.booleans()) else type_, path))
    return Struct(tuple(fields), "Raw")


@st.composite
def _json_line(draw: st.DrawFn, element: Struct) -> bytes:
    data: dict[str, object] = {}
    for field in element.fields:
        path = field.path or field.name
        value = draw(st.sampled_from(_JUNK)) if draw(st.integers(0, 7)) == 0 else draw(_json_value(field.type))
        if value is None and draw(st.booleans()):
            continue
        if path.startswith("path.") and draw(st.booleans()):
            cast("dict[str, object]", data.setdefault("path", {}))[field.name] = value
        else:
            data[path] = value
    return json.dumps(data, ensure_ascii=draw(st.booleans())).encode()


@st.composite
def _json_value(draw: st.DrawFn, type_: Type) -> object:
    """A form in which a value of the type may come: a timestamp also as seconds, a float also as a whole number."""
    value = draw(values_of(type_))
    if isinstance(value, float) and not math.isfinite(value):
        return 7
    if isinstance(value, int) and strip(type_) == Timestamp() and draw(st.booleans()):
        return value / 1_000_000
    return to_json(value, type_)


@st.composite
def _csv_line(draw: st.DrawFn, element: Struct) -> bytes:
    cells: list[str] = []
    for field in element.fields:
        value = draw(st.sampled_from(_JUNK)) if draw(st.integers(0, 7)) == 0 else draw(_json_value(field.type))
        cells.append("" if value is None else value if isinstance(value, str) else str(value))
    return _csv(cells[: len(cells) - (draw(st.integers(0, 9)) == 0)])


def _csv(cells: list[str]) -> bytes:
    quoted = ['"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\r\n') else cell for cell in cells]
    return ",".join(quoted).encode()
