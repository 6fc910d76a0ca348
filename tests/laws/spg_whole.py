"""Whole programs with their data: any source, up to twelve operators of the table behind it, any end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal as Choice
from typing import TypeAlias, cast

from hypothesis import strategies as st

from ghcm.expr import Param
from ghcm.source import Origin
from ghcm.spg.connectors import Files, Format, Generate, Parquet, Redis, Socket
from ghcm.spg.graph import Cache, Forward, Mode, Parameter, Program, Sink, Unit
from ghcm.spg.ops import EventTime, ReadSink, Reply, Source
from ghcm.types import Collection, Field, Int, Shape, Struct, Timestamp
from tests.laws.spg_chains import STEPS, Chain, Flow, Step, applicable, source
from tests.laws.spg_failures import failing
from tests.laws.spg_groups import changes
from tests.laws.spg_steps import call_any, iterate, python, sample
from tests.laws.spg_values import records, rows_of
from tests.laws.spgs import operator_case, raw_files, rebuilt, timed_record

__all__ = ["DEEPEST", "Case", "cases"]

DEEPEST = 12
MOST = 12
"""Records of a source."""
Kind: TypeAlias = Choice["stream", "batch"]
_ORIGIN = Origin("generated.istream", 1, 1)
_MORE: dict[str, Step] = {"sample": sample, "iterate": iterate, "python": python, "call": call_any}
_ENDLESS = ("filter", "narrowing", "map", "flat_map", "map_to_pair", "key_by", "distinct", "sample", "call")
"""What may come behind input that never ends."""


_STARTS = (*["memory"] * 5, *["timed"] * 3, "failing", "failing", "generate", "read", "files", "socket")


@dataclass(frozen=True, slots=True)
class Case:
    """A program with unit "u", the rows of the sinks that it reads, and the bytes of the files or socket that it reads
    by the names of the files.
    """

    program: Program
    sinks: Mapping[str, Sequence[object]] = field(default_factory=dict[str, Sequence[object]])
    raw: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def unit(self) -> Unit:
        """The unit that is run."""
        return self.program.unit("u")


@dataclass(slots=True)
class _Outside:
    sinks: list[Sink] = field(default_factory=list[Sink])
    rows: dict[str, Sequence[object]] = field(default_factory=dict[str, Sequence[object]])
    raw: dict[str, bytes] = field(default_factory=dict[str, bytes])


@st.composite
def cases(draw: st.DrawFn, kind: Kind | None = None, deepest: int = DEEPEST) -> Case:
    """A case: mostly long chains; sometimes a program that publishes."""
    kind = kind or cast("Kind", draw(st.sampled_from(["stream", "batch"])))
    if draw(st.integers(0, 24)) == 24:
        return Case(draw(operator_case("publish", kind)))
    chain = Chain(kind)
    if draw(st.integers(0, 4)) == 4:
        chain.parameters = (Param("depth", Int()),)
    outside = _Outside()
    flow = _start(draw, chain, outside)
    goal = draw(st.integers(1, deepest))
    for _ in range(goal):
        table = flow.collection.shape is Shape.TABLE
        if flow.inexact or (table and draw(st.booleans())) or len(chain.tasks) > deepest + 3:
            break
        words = [*applicable(flow), *_MORE, *["call"] * 5] if flow.collection.bounded else [*_ENDLESS]
        word = "changes" if table else draw(st.sampled_from(words))
        flow = {**STEPS, **_MORE, "changes": changes}[word](draw, chain, flow) or flow
    # A file is a partition with a watermark of its own, and the operators run by themselves have one input.
    timed = any(isinstance(task.op, EventTime) for task in chain.tasks)
    raw = {name: data for name, data in outside.raw.items() if not timed or name == "in/a"}
    return Case(_ended(draw, chain, flow, outside), outside.rows, raw)


def _start(draw: st.DrawFn, chain: Chain, outside: _Outside) -> Flow:
    """A source with hard data."""
    match draw(st.sampled_from(_STARTS)):
        case "timed":
            return source(draw, chain, timed_record(draw), most=MOST)
        case "failing":
            return failing(draw, chain)
        case "generate":
            element = Struct((Field("number", Int()), Field("time", Timestamp())))
            made = Generate(draw(st.integers(0, 9)), None, draw(st.sampled_from([0, 1_767_312_000_123_456])), 700_000)
            return chain.add("generate", Source(made), Collection(Shape.STREAM, element, bounded=True))
        case "read":
            element = draw(records())
            outside.sinks.append(Sink("before", Parquet("before"), Mode.APPEND, None, element, _ORIGIN))
            outside.rows["before"] = draw(rows_of(element))
            return chain.add("read", ReadSink("before"), Collection(Shape.STREAM, element, bounded=True))
        case "files":
            word = draw(st.sampled_from(["json", "json", "csv", "text"]))
            element, files = draw(raw_files(cast("Choice['json', 'csv', 'text']", word)))
            outside.raw |= files
            op = Source(Files("in/*", Format(word)))
            return chain.add("files", op, Collection(Shape.STREAM, element, bounded=True))
        case "socket":
            element, files = draw(raw_files("json"))
            outside.raw["in/a"] = files["in/a"]
            bounded = chain.kind == "batch"
            op = Source(Files("in/*", Format("json")) if bounded else Socket("localhost", 9, Format("json")))
            return chain.add("files" if bounded else "socket", op, Collection(Shape.STREAM, element, bounded=bounded))
        case _:
            return source(draw, chain, None, most=MOST)


def _ended(draw: st.DrawFn, chain: Chain, flow: Flow, outside: _Outside) -> Program:
    """The program: with a sink, or with a reply. Some of its tasks have names of their own."""
    if flow.collection.shape is not Shape.TABLE and flow.collection.bounded and draw(st.integers(0, 9)) == 9:
        chain.add("reply", Reply(), flow.collection, (flow, Forward()))
        cache = Cache("calls", Redis("calls"), _ORIGIN)
        parameters = tuple(Parameter(each.name, each.type, False, 3) for each in chain.parameters)
        unit = Unit("u", cast("Kind", chain.kind), True, parameters, "calls", tuple(chain.tasks), _ORIGIN)
        program = Program("generated", (cache,), (), (unit,))
    else:
        program = rebuilt(chain, flow)
    named = draw(st.integers(0, 3)) == 3
    (unit,) = program.units
    tasks = tuple(replace(each, named=each.named or named) for each in unit.tasks) if named else unit.tasks
    return replace(program, sinks=(*program.sinks, *outside.sinks), units=(replace(unit, tasks=tasks),))
