"""Builds small units task by task, and draws what stands before the operator that a test is about."""

from __future__ import annotations

from hypothesis import strategies as st

from ghcm.expr import Get, Lambda, MakeStruct, Var
from ghcm.source import Origin
from ghcm.spg.connectors import Files, Format, Memory, Mode
from ghcm.spg.graph import Forward, Input, Parameter, Program, Sink, Task, Unit
from ghcm.spg.ops import EventTime, MapToPair, Op, Publish, Source, To, Window
from ghcm.spg.windows import Assigner, Cumulating, Sliding, Tumbling
from ghcm.types import (
    WINDOW,
    Bool,
    Collection,
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
from tests.laws.spg_values import rows_of

__all__ = ["HERE", "Builder", "pairs", "timed_stream", "windowed"]

HERE = Origin("test.istream", 3, 7)
WHOLE, F, S, B = Int(), Float(), String(), Bool()


class Builder:
    """Adds tasks one after the other; ids are `source`, `source2`, ..., or the operator's name."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.sinks: list[Sink] = []

    def add(self, op: Op, collection: Collection, *inputs: str, id: str | None = None) -> str:
        name = id or f"{type(op).__name__.lower()}{len(self.tasks)}"
        self.tasks.append(
            Task(name, op, tuple(Input(each, Forward()) for each in inputs), collection, HERE, named=True)
        )
        return name

    def of(self, id: str) -> Collection:
        return next(task.collection for task in self.tasks if task.id == id)

    def memory(self, element: Type, rows: tuple[tuple[object, ...], ...]) -> str:
        return self.add(Source(Memory(rows)), Collection(Shape.STREAM, element, True))

    def to(self, id: str, mode: Mode = Mode.APPEND, key: Lambda | None = None) -> str:
        name = f"out{len(self.sinks)}"
        collection = self.of(id)
        self.sinks.append(Sink(name, Files(name, Format("json")), mode, key, collection.element, HERE))
        return self.add(To(name), collection, id)

    def program(self) -> Program:
        unit = Unit("u", "stream", False, (), None, tuple(self.tasks), HERE)
        calls = (task.op.call for task in self.tasks if isinstance(task.op, Publish))
        parameters = {name: Parameter(name, what.type, True) for call in calls for name, what in call.arguments}
        called = Unit("called", "stream", True, tuple(parameters.values()), None, (), HERE)
        return Program("p", (), tuple(self.sinks), (unit, called))


def windowed(element: Type) -> Struct:
    """The element behind a window."""
    fields = element.fields if isinstance(element, Struct) else (Field("value", element),)
    return Struct((*fields, Field("window", WINDOW)))


@st.composite
def timed_stream(draw: st.DrawFn, builder: Builder, element: Struct) -> str:
    """Records of `element` and a time `at`, with event time."""
    times: list[Type] = [Timestamp(), Nullable(Timestamp())]
    whole = Struct((Field("at", draw(st.sampled_from(times))), *element.fields))
    source = builder.memory(whole, draw(rows_of(whole)))
    record = Var("r", whole)
    disorder = draw(st.sampled_from([None, 0, 1_000_000, 5_000_000]))
    op = EventTime(Lambda((record,), Get(record, "at", whole.fields[0].type)), disorder)
    return builder.add(op, Collection(Shape.STREAM, whole, True, timed=True), source)


@st.composite
def pairs(draw: st.DrawFn, builder: Builder, key: Type, value: Type, *, in_windows: bool | None = None) -> str:
    """Pairs, in windows or not."""
    within = draw(st.booleans()) if in_windows is None else in_windows
    element = pair_of(key, value)
    if not within:
        source = builder.memory(element, draw(rows_of(element)))
        record = Var("r", element)
        parts = tuple(Get(record, part.name, part.type) for part in element.fields)
        op = MapToPair(Lambda((record,), MakeStruct(parts, tuple_of(key, value))))
        return builder.add(op, Collection(Shape.PAIRS, element, True), source)
    stream = draw(timed_stream(builder, element))
    record = Var("r", builder.of(stream).columns)
    parts = tuple(Get(record, part.name, part.type) for part in element.fields)
    op = MapToPair(Lambda((record,), MakeStruct(parts, tuple_of(key, value))))
    mapped = builder.add(op, Collection(Shape.PAIRS, element, True, timed=True), stream)
    assigners: list[Assigner] = [
        Tumbling(1_000_000),
        Tumbling(5_000_000),
        Tumbling(5_000_000, offset_us=1_500_000),
        Sliding(5_000_000, 2_000_000),
        Sliding(5_000_000, 2_000_000, offset_us=1_500_000),
        Sliding(4_000_000, 1_000_000),
        Cumulating(4_000_000, 1_000_000, offset_us=500_000),
    ]
    window = Window(draw(st.sampled_from(assigners)), draw(st.sampled_from([0, 2_000_000])))
    return builder.add(window, Collection(Shape.PAIRS, windowed(element), True, timed=True, windowed=True), mapped)
