"""Small units around one operator, and a strategy of one for every op of the SPG."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from ghcm.expr import Expr, Get, Lambda, Literal, MakeStruct, Var
from ghcm.reducers import Aggregate, AggregateFunction, Builtin, Custom, Fields, Kind, Reducer
from ghcm.source import Origin
from ghcm.spg.connectors import Files, Format, Memory
from ghcm.spg.graph import Forward, Input, Mode, Program, Sink, Task, Unit
from ghcm.spg.ops import (
    AggregateByKey,
    CallTemplate,
    Count,
    Distinct,
    EventTime,
    Filter,
    FlatMap,
    Fused,
    GroupByKey,
    Join,
    KeyBy,
    Map,
    MapToPair,
    MapValues,
    Op,
    Policy,
    Publish,
    PythonCall,
    ReduceByKey,
    Sort,
    Source,
    Stage,
    To,
    Top,
    Tumbling,
    Union,
    Window,
)
from ghcm.types import (
    WINDOW,
    Bool,
    Collection,
    Duration,
    Field,
    Float,
    Int,
    List,
    Nullable,
    Shape,
    String,
    Struct,
    Timestamp,
    Type,
    as_nullable,
    is_nullable,
    pair_of,
    strip,
    tuple_of,
)
from tests.laws.spg_expressions import functions
from tests.laws.spg_values import records, rows_of, types, values_of

__all__ = ["UNITS", "Builder", "windowed"]

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
        called = Unit("called", "stream", True, (), None, (), HERE)
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
    window = Window(Tumbling(draw(st.sampled_from([1_000_000, 5_000_000]))), draw(st.sampled_from([0, 2_000_000])))
    return builder.add(window, Collection(Shape.PAIRS, windowed(element), True, timed=True, windowed=True), mapped)


def grouped(builder: Builder, input_: str, op: Op, key: Type, value: Type) -> str:
    takes = builder.of(input_)
    element = pair_of(key, value)
    collection = Collection(
        Shape.PAIRS, windowed(element) if takes.windowed else element, True, takes.windowed, takes.windowed
    )
    return builder.add(op, collection, input_)


@st.composite
def reducers(draw: st.DrawFn, depth: int = 1) -> Reducer:
    kinds = ["builtin"] * 4 + (["fields", "claimed", "ordered"] if depth else [])
    match draw(st.sampled_from(kinds)):
        case "builtin":
            kind = draw(st.sampled_from(list(Kind)))
            choices: dict[Kind, list[Type]] = {Kind.SUM: [WHOLE, F, Duration()], Kind.ALL: [B], Kind.ANY: [B]}
            return Builtin(
                kind,
                draw(st.sampled_from(choices[kind])) if kind in choices else draw(types(keys=True, nullable=False)),
            )
        case "fields":
            parts = tuple(draw(st.lists(reducers(depth=0), min_size=1, max_size=2)))
            return Fields(
                parts, Struct(tuple(Field(name, reduced(part)) for name, part in zip("ab", parts, strict=False)))
            )
        case way:
            several: list[Type] = [WHOLE, S, tuple_of(WHOLE, S)]
            type_ = draw(st.sampled_from(several))
            order = draw(functions(draw(types(keys=True)), type_)) if way == "ordered" else None
            function = draw(functions(type_, type_, type_))
            return Custom(Lambda(function.parameters, function.body), way == "claimed", order)


def reduced(reducer: Reducer) -> Type:
    match reducer:
        case Builtin(type=type_) | Fields(type=type_):
            return type_
        case Custom(function=function):
            return function.parameters[0].type


@st.composite
def reduce_by_key(draw: st.DrawFn) -> Program:
    builder = Builder()
    reducer = draw(reducers())
    key, value = draw(types(keys=True)), reduced(reducer)
    builder.to(grouped(builder, draw(pairs(builder, key, value)), ReduceByKey(reducer), key, value))
    return builder.program()


@st.composite
def aggregates(draw: st.DrawFn, value: Type, name: str) -> Aggregate:
    function = draw(st.sampled_from(list(AggregateFunction)))
    match function:
        case AggregateFunction.COUNT:
            argument = draw(st.one_of(st.none(), functions(draw(types()), value)))
            return Aggregate(name, function, argument, WHOLE)
        case AggregateFunction.SUM | AggregateFunction.MEAN:
            numbers: list[Type] = [WHOLE, F, Duration(), Nullable(WHOLE), Nullable(F)]
            wanted = draw(st.sampled_from(numbers))
            argument = draw(functions(wanted, value))
            kind = F if function is AggregateFunction.MEAN and strip(wanted) == WHOLE else strip(wanted)
            return Aggregate(name, function, argument, as_nullable(kind) if is_nullable(argument.body.type) else kind)
        case AggregateFunction.MIN | AggregateFunction.MAX:
            argument = draw(functions(draw(types(keys=True)), value))
            return Aggregate(name, function, argument, argument.body.type)


@st.composite
def aggregate_by_key(draw: st.DrawFn) -> Program:
    builder = Builder()
    key, value = draw(types(keys=True)), draw(types())
    made = tuple(draw(aggregates(value, name)) for name in draw(st.sampled_from(["a", "ab", "abc"])))
    scalar = len(made) == 1 and draw(st.booleans())
    result = made[0].type if scalar else Struct(tuple(Field(each.name, each.type) for each in made))
    builder.to(grouped(builder, draw(pairs(builder, key, value)), AggregateByKey(made, scalar), key, result))
    return builder.program()


@st.composite
def group_by_key(draw: st.DrawFn) -> Program:
    builder = Builder()
    key, value = draw(types(keys=True)), draw(types())
    builder.to(grouped(builder, draw(pairs(builder, key, value)), GroupByKey(), key, List(value)))
    return builder.program()


@st.composite
def count(draw: st.DrawFn) -> Program:
    builder = Builder()
    if draw(st.booleans()):
        key = draw(types(keys=True))
        builder.to(grouped(builder, draw(pairs(builder, key, draw(types()))), Count(), key, WHOLE))
    elif draw(st.booleans()):
        element = draw(types())
        source = builder.memory(element, draw(rows_of(element)))
        builder.to(builder.add(Count(), Collection(Shape.STREAM, WHOLE, True), source))
    else:
        stream = draw(timed_stream(builder, draw(records())))
        gives = windowed(builder.of(stream).element)
        window = Window(Tumbling(1_000_000), draw(st.sampled_from([0, 3_000_000])))
        window_ = builder.add(window, Collection(Shape.STREAM, gives, True, True, True), stream)
        builder.to(builder.add(Count(), Collection(Shape.STREAM, windowed(WHOLE), True, True, True), window_))
    return builder.program()


@st.composite
def distinct(draw: st.DrawFn) -> Program:
    builder = Builder()
    if draw(st.booleans()):
        element = draw(types())
        source = builder.memory(element, draw(rows_of(element)))
        builder.to(builder.add(Distinct(), builder.of(source), source))
    else:
        source = draw(pairs(builder, draw(types(keys=True)), draw(types()), in_windows=True))
        builder.to(builder.add(Distinct(), builder.of(source), source))
    return builder.program()


@st.composite
def order(draw: st.DrawFn) -> Program:
    builder = Builder()
    element = draw(types(keys=True)) if draw(st.booleans()) else draw(records(keys=True))
    source = builder.memory(element, draw(rows_of(element)))
    by = draw(functions(draw(types(keys=True)), element))
    op: Op = Sort(by, draw(st.booleans()))
    if draw(st.booleans()):
        op = Top(Literal(draw(st.integers(0, 4)), WHOLE), by, draw(st.booleans()))
    builder.to(builder.add(op, builder.of(source), source))
    return builder.program()


@st.composite
def join(draw: st.DrawFn) -> Program:
    builder = Builder()
    key = draw(types(keys=True))
    if draw(st.booleans()):
        sides = [pair_of(key, draw(types())) for _ in range(2)]
        ids = [draw(pairs(builder, key, side.fields[1].type, in_windows=False)) for side in sides]
        by_key, keys = True, [Lambda((v := Var("r", side),), Get(v, "key", key)) for side in sides]
        element: Type = pair_of(
            key, Struct((Field("left", sides[0].fields[1].type), Field("right", sides[1].fields[1].type)))
        )
    else:
        sides = [Struct((Field("k", key), Field("x", draw(types())))) for _ in range(2)]
        ids = [builder.memory(side, draw(rows_of(side))) for side in sides]
        by_key, keys = False, [Lambda((v := Var("r", side),), Get(v, "k", key)) for side in sides]
        element = Struct((Field("left", sides[0]), Field("right", sides[1])))
    residual = draw(st.one_of(st.none(), functions(Nullable(B), *sides)))
    op = Join("inner", (keys[0],), (keys[1],), residual, by_key)
    shape = Shape.PAIRS if by_key else Shape.STREAM
    builder.to(builder.add(op, Collection(shape, element, True), *ids))
    return builder.program()


@st.composite
def row_stage(draw: st.DrawFn, collection: Collection) -> tuple[Op, Collection]:
    """A row operation on a collection, and what it gives."""
    element = collection.element
    ways = ["filter", "map", "flat_map", "map_to_pair", "key_by"]
    ways += ["map_values"] * 2 if collection.shape is Shape.PAIRS else []
    ways += ["window"] if collection.timed and not collection.windowed else []
    timed, plain = collection.timed, Collection(Shape.STREAM, element, True, collection.timed)
    match draw(st.sampled_from(ways)):
        case "filter":
            return Filter(draw(functions(Nullable(B), element))), collection
        case "map":
            function = draw(functions(draw(types()), element))
            return Map(function), Collection(Shape.STREAM, function.body.type, True, timed)
        case "flat_map":
            item = draw(types())
            lists: list[Type] = [List(item), Nullable(List(item))]
            function = draw(functions(draw(st.sampled_from(lists)), element))
            list_ = strip(function.body.type)
            assert isinstance(list_, List)
            return FlatMap(function), Collection(Shape.STREAM, list_.item, True, timed)
        case "map_to_pair":
            key, value = draw(types(keys=True)), draw(types())
            function = draw(functions(key, element))
            other = draw(functions(value, element))
            body = MakeStruct((function.body, other.body), tuple_of(function.body.type, other.body.type))
            gives = pair_of(function.body.type, other.body.type)
            return MapToPair(Lambda(function.parameters, body)), Collection(Shape.PAIRS, gives, True, timed)
        case "key_by":
            function = draw(functions(draw(types(keys=True)), element))
            return KeyBy(function), Collection(Shape.PAIRS, pair_of(function.body.type, element), True, timed)
        case "map_values":
            assert isinstance(element, Struct)
            function = draw(functions(draw(types()), element.fields[1].type))
            made = [Field("value", function.body.type) if part.name == "value" else part for part in element.fields]
            return MapValues(function), Collection(Shape.PAIRS, Struct(tuple(made)), True, timed, collection.windowed)
        case _:
            return Window(Tumbling(2_000_000), 0), Collection(
                plain.shape if collection.shape is Shape.STREAM else Shape.PAIRS, windowed(element), True, True, True
            )


@st.composite
def rows(draw: st.DrawFn) -> Program:
    """Row operations after each other, apart or fused."""
    builder = Builder()
    element = draw(types()) if draw(st.booleans()) else draw(records())
    if draw(st.booleans()) and isinstance(element, Struct):
        at = draw(timed_stream(builder, element))
    else:
        at = builder.memory(element, draw(rows_of(element)))
    stages: list[Stage] = []
    collection = builder.of(at)
    fused = draw(st.booleans())
    for number in range(draw(st.integers(1, 4))):
        op, gives = draw(row_stage(collection))
        if isinstance(strip(gives.element), Struct) and is_nullable(gives.element):
            break
        if fused:
            stages.append(Stage(f"stage{number}", op, gives.element, f"test.istream:{number}:1"))  # type: ignore[arg-type]
        else:
            at = builder.add(op, gives, at)
        collection = gives
    if stages:
        at = builder.add(Fused(tuple(stages)), collection, at)
    builder.to(at)
    return builder.program()


@st.composite
def union(draw: st.DrawFn) -> Program:
    builder = Builder()
    element = draw(types())
    ids: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        source = builder.memory(element, draw(rows_of(element)))
        keep = Filter(draw(functions(Nullable(B), element)))
        ids.append(builder.add(keep, builder.of(source), source) if draw(st.booleans()) else source)
    builder.to(builder.add(Union(), Collection(Shape.STREAM, element, True), *ids))
    return builder.program()


@st.composite
def publish(draw: st.DrawFn) -> Program:
    builder = Builder()
    element = draw(records())
    source = builder.memory(element, draw(rows_of(element)))
    arguments = tuple((name, draw(aggregates(element, name))) for name in draw(st.sampled_from(["", "a", "ab"])))
    constant = draw(values_of(WHOLE))
    every = draw(st.one_of(st.none(), st.integers(1, 3)))
    when = None if every else draw(st.one_of(st.none(), functions(Nullable(B), element)))
    on = None if every or when else "completion"
    policy = Policy(every_records=every, on=on, when=when, at_end=draw(st.booleans()))
    call = CallTemplate("called", (*arguments, ("limit", Literal(constant, WHOLE))))
    builder.add(Publish(call, policy, None), builder.of(source), source, id="publish")
    return builder.program()


@st.composite
def windows_of_windows(draw: st.DrawFn) -> Program:
    """Sums per second, then the greatest of them per five seconds: results must reach the later windows."""
    builder = Builder()
    first = draw(pairs(builder, S, WHOLE, in_windows=True))
    sums = grouped(builder, first, ReduceByKey(Builtin(Kind.MAX, WHOLE)), S, WHOLE)
    record = Var("r", builder.of(sums).columns)
    body: Expr = MakeStruct((Get(record, "key", S), Get(record, "value", WHOLE)), tuple_of(S, WHOLE))
    plain = builder.add(
        MapToPair(Lambda((record,), body)), Collection(Shape.PAIRS, pair_of(S, WHOLE), True, True), sums
    )
    window = Window(Tumbling(5_000_000), draw(st.sampled_from([0, 1_000_000])))
    second = builder.add(window, Collection(Shape.PAIRS, windowed(pair_of(S, WHOLE)), True, True, True), plain)
    builder.to(grouped(builder, second, ReduceByKey(Builtin(Kind.MAX, WHOLE)), S, WHOLE))
    return builder.program()


def python_call() -> st.SearchStrategy[Program]:
    """A user's function that fails for some records and gives wrong things for others."""

    @st.composite
    def make(draw: st.DrawFn) -> Program:
        builder = Builder()
        element = Struct((Field("at", Timestamp()), Field("size", Nullable(WHOLE)), Field("name", S)), "Flow")
        source = builder.memory(element, draw(rows_of(element)))
        gives = Struct((Field("name", S), Field("at", Timestamp()), Field("size", WHOLE)), "Sized")
        called = builder.add(
            PythonCall("tests.unit.runtime.operators.user_functions", "sized"),
            Collection(Shape.STREAM, gives, True),
            source,
        )
        builder.to(called)
        return builder.program()

    return make()


UNITS: dict[str, Callable[[], st.SearchStrategy[Program]]] = {
    "rows": rows,
    "python": python_call,
    "union": union,
    "reduce_by_key": reduce_by_key,
    "aggregate_by_key": aggregate_by_key,
    "group_by_key": group_by_key,
    "count": count,
    "distinct": distinct,
    "order": order,
    "join": join,
    "publish": publish,
    "windows_of_windows": windows_of_windows,
}
