"""Whole programs with their data: any source, up to twelve operators of the table behind it, any end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal as Choice
from typing import TypeAlias, cast

from hypothesis import strategies as st

from ghcm.expr import Lambda, Param, Var
from ghcm.lowering.expressions.unions import conforms
from ghcm.source import Origin
from ghcm.spg.connectors import Files, Generate, Mode, Parquet, Redis, Socket
from ghcm.spg.graph import Cache, Forward, Program, Sink, Unit
from ghcm.spg.ops import EventTime, Filter, ReadSink, Reply, Source
from ghcm.types import Collection, Field, Int, Shape, Struct, Timestamp
from tests.laws.covered_types import is_union
from tests.laws.raw_inputs import raw_inputs, raw_lines
from tests.laws.spg_chains import STEPS, Chain, Flow, Step, applicable, source
from tests.laws.spg_failures import failing
from tests.laws.spg_groups import changes
from tests.laws.spg_parameters import PARAMETERS, parameters_of
from tests.laws.spg_steps import call_any, choosing, iterate, python, sample
from tests.laws.spg_values import records, rows_of
from tests.laws.spgs import published, rebuilt, timed_record

__all__ = ["DEEPEST", "Case", "cases"]

DEEPEST = 12
MOST = 12
"""Records of a source."""
Kind: TypeAlias = Choice["stream", "batch"]
_ORIGIN = Origin("generated.istream", 1, 1)
_MORE: dict[str, Step] = {
    "sample": sample,
    "iterate": iterate,
    "python": python,
    "call": call_any,
    "choosing": choosing,
}
_ENDLESS = ("filter", "narrowing", "choosing", "map", "flat_map", "map_to_pair", "key_by", "distinct", "sample", "call")
"""What may come behind input that never ends."""


_STARTS = (*["memory"] * 5, *["timed"] * 3, *["failing"] * 5, "generate", "read", *["files"] * 3, "socket")


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
def cases(draw: st.DrawFn, kind: Kind | None = None, deepest: int = DEEPEST, *, sessions: bool = False) -> Case:
    """A case: mostly a long chain. `sessions`: with windows that the native engine does not have."""
    kind = kind or cast("Kind", draw(st.sampled_from(["stream", "batch"])))
    chain = Chain(kind, sessions=sessions)
    if draw(st.integers(0, 4)) == 4:
        chain.parameters = (Param("depth", Int()), draw(st.sampled_from(PARAMETERS)))
    outside = _Outside()
    flow = _start(draw, chain, outside)
    goal = draw(st.integers(1, deepest))
    for _ in range(goal):
        table = flow.collection.shape is Shape.TABLE
        if flow.inexact or (table and draw(st.booleans())) or len(chain.tasks) > deepest + 3:
            break
        more = ["choosing"] * 4 if is_union(flow.collection.element) else []
        words = [*applicable(flow), *_MORE, *["call"] * 5, *more] if flow.collection.bounded else [*_ENDLESS]
        word = "changes" if table else draw(st.sampled_from(words))
        flow = {**STEPS, **_MORE, "changes": changes}[word](draw, chain, flow) or flow
    # A file is a partition with a watermark of its own, and the operators run by themselves have one input.
    several = not any(isinstance(task.op, EventTime) for task in chain.tasks) or _continues(chain)
    raw = {name: data for name, data in outside.raw.items() if several or name == min(outside.raw)}
    return Case(_ended(draw, chain, flow, outside), outside.rows, raw)


def _continues(chain: Chain) -> bool:
    """Whether all files are one partition."""
    first = chain.tasks[0].op
    return isinstance(first, Source) and isinstance(first.connector, Files) and first.connector.clock == "continues"


def _start(draw: st.DrawFn, chain: Chain, outside: _Outside) -> Flow:
    """A source with hard data."""
    match draw(st.sampled_from(_STARTS)):
        case "timed":
            return source(draw, chain, timed_record(draw), most=MOST)
        case "failing":
            return failing(draw, chain)
        case "generate":
            element = Struct((Field("number", Int()), Field("time", Timestamp())))
            start = draw(st.sampled_from([0, 1_767_312_000_123_456]))
            made = Generate(draw(st.integers(0, 9)), draw(st.sampled_from([None, 1000.0])), start, 700_000)
            return chain.add("generate", Source(made), Collection(Shape.STREAM, element, bounded=True))
        case "read":
            element = draw(records())
            outside.sinks.append(Sink("before", Parquet("before"), Mode.APPEND, None, element, _ORIGIN))
            outside.rows["before"] = draw(rows_of(element))
            return chain.add("read", ReadSink("before"), Collection(Shape.STREAM, element, bounded=True))
        case "files":
            given = draw(raw_inputs())
            outside.raw |= given.files
            source_ = Source(given.connector)
            return _sound(chain, chain.add("files", source_, Collection(Shape.STREAM, given.element, bounded=True)))
        case "socket":
            format_, element, outside.raw["in/a"] = draw(raw_lines())
            bounded = chain.kind == "batch"
            op = Source(Files("in/*", format_) if bounded else Socket("localhost", 9, format_))
            flowing = Collection(Shape.STREAM, element, bounded=bounded)
            return _sound(chain, chain.add("files" if bounded else "socket", op, flowing))
        case _:
            return source(draw, chain, None, most=MOST)


def _sound(chain: Chain, flow: Flow) -> Flow:
    """The records in which no union lacks a field of the record that it says it is."""
    record = Var("record", flow.collection.element)
    check = conforms(record)
    return flow if check is None else chain.row("as", Filter(Lambda((record,), check)), flow)


def _ended(draw: st.DrawFn, chain: Chain, flow: Flow, outside: _Outside) -> Program:
    """The program: with a sink, or with a reply. Some of its tasks have names of their own."""
    flowing = flow.collection.shape is not Shape.TABLE
    if flowing and flow.collection.bounded and draw(st.integers(0, 9)) == 9:
        chain.add("reply", Reply(), flow.collection, (flow, Forward()))
        cache = Cache("calls", Redis("calls"), _ORIGIN)
        parameters = parameters_of(chain)
        unit = Unit("u", cast("Kind", chain.kind), True, parameters, "calls", tuple(chain.tasks), _ORIGIN)
        program = Program("generated", (cache,), (), (unit,))
    elif flowing and not chain.parameters and draw(st.integers(0, 4 if flow.collection.windowed else 14)) == 0:
        program = published(draw, chain, flow)
    else:
        program = rebuilt(chain, flow)
    named = draw(st.integers(0, 3)) == 3
    unit, *others = program.units
    tasks = tuple(replace(each, named=each.named or named) for each in unit.tasks) if named else unit.tasks
    return replace(program, sinks=(*program.sinks, *outside.sinks), units=(replace(unit, tasks=tasks), *others))
