"""Generated SPGs: whole typed programs, and programs that exercise one operator with hard data.

    programs(kind="stream" | "batch", max_ops=...)  any operators behind memory sources; unit "u", results in sink "out"
    expressions(of_type, columns, depth)            an expression over variables
    operator_case(name, kind=...)                   the operator with as little as possible around it
    raw_case(format)                                a source of that format and the bytes that it reads, good and bad

Every program is sound (`ghcm.spg.verify` finds nothing) and the reference runs it. Float sums stand at the end of a
chain, so that engines may differ in their last digits and in nothing else.
"""

from __future__ import annotations

from typing import Literal as Choice
from typing import TypeAlias, cast

from hypothesis import strategies as st

from ghcm.expr import Get, Lambda, Literal, MakeStruct, Var
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.source import Origin
from ghcm.spg.connectors import Connector, Files, Format, Generate, Mode, Parquet, Redis
from ghcm.spg.graph import Cache, Forward, Global, Parameter, Program, Sink, Unit
from ghcm.spg.ops import CallTemplate, MapToPair, Policy, Publish, ReadSink, Reply, Source, To
from ghcm.types import (
    Bool,
    Collection,
    Duration,
    Field,
    Float,
    Int,
    Nullable,
    Shape,
    String,
    Struct,
    Timestamp,
    Type,
    pair_of,
    tuple_of,
)
from tests.laws.raw_lines import raw_files
from tests.laws.spg_chains import STEPS, Chain, Flow, applicable, source
from tests.laws.spg_expressions import expressions, functions
from tests.laws.spg_parameters import parameters_of
from tests.laws.spg_values import records, types, values_of

__all__ = [
    "CASES",
    "expressions",
    "functions",
    "operator_case",
    "programs",
    "published",
    "raw_case",
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
    parameters = parameters_of(chain)
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
    element = timed_record(draw) if name in ("event_time", "window", "preceding") else None
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
        return published(draw, chain, flow)
    for word in _BEFORE.get(name, ()):
        flow = STEPS[word](draw, chain, flow) or flow
    if isinstance(element, Struct) and element.names == ("k", "v") and not (name == "count" and draw(st.booleans())):
        flow = _plain_pairs(chain, flow)
    made = STEPS[name](draw, chain, flow) if name in STEPS else flow
    return rebuilt(chain, made or flow)


_BEFORE = {"window": ("event_time",), "event_time": (), "preceding": ("event_time", "key_by")}
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


def published(draw: st.DrawFn, chain: Chain, flow: Flow) -> Program:
    """The program of a chain whose last flow goes to "out" and calls another unit now and then."""
    element = flow.collection.element
    argument = draw(functions(Nullable(Int()), element, depth=1))
    least = Aggregate("least", AggregateFunction.MIN, argument, Nullable(Int()))
    arguments = (
        ("n", Aggregate("n", AggregateFunction.COUNT, None, Int())),
        ("least", least),
        ("depth", Literal(3, Int())),
    )
    policies = [st.just(Policy(on="window_close" if flow.collection.windowed else "completion"))]
    if not any(len(task.inputs) > 1 for task in chain.tasks):  # nothing is promised of the order in which inputs meet
        policies += [
            st.builds(Policy, every_records=st.integers(1, 4), at_end=st.booleans()),
            st.just(Policy(every_us=86_400_000_000, at_end=True)),
            functions(Nullable(Bool()), element, depth=1).map(lambda when: Policy(when=when)),
        ]
    policy = draw(st.one_of(policies))
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
