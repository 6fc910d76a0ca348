"""Small units around an operator that keeps state."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from ghcm.aggregates import PAIR, result_of
from ghcm.expr import Expr, Get, Lambda, Literal, MakeStruct, Var
from ghcm.functions import comparable
from ghcm.reducers import Aggregate, AggregateFunction, Builtin, Custom, Fields, Kind, Reducer, splittable
from ghcm.spg.connectors import Mode
from ghcm.spg.graph import Program
from ghcm.spg.joining import JoinKind, joined_element, joined_pair
from ghcm.spg.ops import (
    AggregateByKey,
    CallTemplate,
    Changes,
    Count,
    Distinct,
    GroupByKey,
    Join,
    Latest,
    MapToPair,
    Op,
    Policy,
    Publish,
    ReduceByKey,
    Sort,
    Top,
    Window,
)
from ghcm.spg.rules.groups import LATEST
from ghcm.spg.windows import Tumbling
from ghcm.types import (
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
    Type,
    as_nullable,
    is_nullable,
    pair_of,
    strip,
    tuple_of,
)
from tests.laws.spg_expressions import functions
from tests.laws.spg_values import records, rows_of, types, values_of
from tests.unit.runtime.operators.building import Builder, pairs, timed_stream, windowed

__all__ = [
    "aggregate_by_key",
    "changes",
    "count",
    "distinct",
    "group_by_key",
    "join",
    "latest",
    "order",
    "publish",
    "reduce_by_key",
    "windows_of_windows",
]

WHOLE, F, S, B = Int(), Float(), String(), Bool()


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
        case _:
            return draw(other_aggregates(value, name, function))


@st.composite
def other_aggregates(draw: st.DrawFn, value: Type, name: str, function: AggregateFunction) -> Aggregate:
    if function in (AggregateFunction.FIRST, AggregateFunction.LAST) and not comparable(value):
        function = AggregateFunction.COLLECT
    if function is AggregateFunction.FOLD:
        return draw(folds(value, name))
    wanted: list[Type] = [WHOLE, F, Nullable(WHOLE), Nullable(F)]
    if function is AggregateFunction.APPROX_DISTINCT:
        wanted = [WHOLE, S, B, Nullable(S), Duration()]
    elif function in (AggregateFunction.COVAR, AggregateFunction.CORR):
        wanted = [PAIR, Nullable(PAIR)]
    elif function not in (AggregateFunction.VAR, AggregateFunction.STD, AggregateFunction.MEDIAN):
        wanted = [draw(types(keys=True))]
    argument = draw(functions(draw(st.sampled_from(wanted)), value))
    result = result_of(function, argument.body.type)
    assert result is not None
    found = Aggregate(name, function, argument, result)
    if function is AggregateFunction.QUANTILE:
        return replace(found, fraction=draw(st.sampled_from([0.0, 0.3, 0.5, 1.0])))
    if function is AggregateFunction.TOP_K:
        return replace(found, limit=draw(st.integers(1, 3)))
    return replace(found, order=draw(functions(draw(types(keys=True)), value))) if found.picks_record else found


@st.composite
def folds(draw: st.DrawFn, value: Type, name: str) -> Aggregate:
    """Aggregates of functions of one's own: merged in any order, or in one."""
    merge = draw(reducers().filter(splittable)) if not comparable(value) or draw(st.booleans()) else None
    held = draw(types(keys=True, nullable=False)) if merge is None else reduced(merge)
    argument = draw(functions(draw(st.sampled_from([held, as_nullable(held)])), value))
    made = Aggregate(name, AggregateFunction.FOLD, argument, argument.body.type, reducer=merge)
    if merge is not None:
        return made
    order = draw(functions(draw(types(keys=True)), value))
    return replace(made, type=List(strip(argument.body.type)), order=order)


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
def changes(draw: st.DrawFn) -> Program:
    """A table of counts and its changes, of which the last of each key is compared; or its final pairs."""
    builder = Builder()
    key = draw(types(keys=True))
    values = draw(pairs(builder, key, draw(types()), in_windows=False))
    element = pair_of(key, WHOLE)
    table = builder.add(Count(), Collection(Shape.TABLE, element, True), values)
    record = Var("r", element)
    changed = builder.add(Changes(draw(st.booleans())), Collection(Shape.PAIRS, element, True), table)
    builder.to(changed, Mode.UPSERT, Lambda((record,), Get(record, "key", key)))
    return builder.program()


@st.composite
def latest(draw: st.DrawFn) -> Program:
    builder = Builder()
    key = draw(types(keys=True))
    parts = {"order": draw(types(keys=True)), "record": draw(types(keys=True)), "deleted": Bool()}
    value = Struct(tuple(Field(name, parts[name]) for name in draw(st.sampled_from(LATEST))))
    values = draw(pairs(builder, key, value, in_windows=False))
    builder.to(builder.add(Latest(), Collection(Shape.PAIRS, pair_of(key, parts["record"]), True), values))
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
    kind = draw(st.sampled_from(list(JoinKind)))
    key = draw(types(keys=True))
    if draw(st.booleans()):
        sides = [pair_of(key, draw(types())) for _ in range(2)]
        ids = [draw(pairs(builder, key, side.fields[1].type, in_windows=False)) for side in sides]
        by_key, keys = True, [Lambda((v := Var("r", side),), Get(v, "key", key)) for side in sides]
        parts = [(key, side.fields[1].type) for side in sides]
        element: Type = joined_pair(parts[0], parts[1], kind)
    else:
        sides = [Struct((Field("k", key), Field("x", draw(types())))) for _ in range(2)]
        ids = [builder.memory(side, draw(rows_of(side))) for side in sides]
        by_key, keys = False, [Lambda((v := Var("r", side),), Get(v, "k", key)) for side in sides]
        element = joined_element(sides[0], sides[1], kind)
    residual = draw(st.one_of(st.none(), functions(Nullable(B), *sides)))
    op = Join(kind, (keys[0],), (keys[1],), residual, by_key)
    shape = Shape.PAIRS if by_key else Shape.STREAM
    builder.to(builder.add(op, Collection(shape, element, True), *ids))
    return builder.program()


@st.composite
def publish(draw: st.DrawFn) -> Program:
    builder = Builder()
    element = draw(records())
    throttled = draw(st.booleans())
    source = draw(timed_stream(builder, element)) if throttled else builder.memory(element, draw(rows_of(element)))
    element = builder.of(source).columns
    arguments = tuple((name, draw(aggregates(element, name))) for name in draw(st.sampled_from(["", "a", "ab"])))
    constant = draw(values_of(WHOLE))
    every = None if throttled else draw(st.one_of(st.none(), st.integers(1, 3)))
    tests = functions(Nullable(B), element)
    when = None if every else draw(tests if throttled else st.one_of(st.none(), tests))
    on = None if every or when else "completion"
    throttle = draw(st.sampled_from([1, 2_000_000])) if throttled else None
    key = draw(st.one_of(st.none(), functions(draw(types(keys=True)), element))) if throttled else None
    policy = Policy(every_records=every, on=on, when=when, at_end=draw(st.booleans()), throttle_us=throttle, key=key)
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
