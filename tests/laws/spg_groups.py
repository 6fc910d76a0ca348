"""Steps that group or look at whole inputs: aggregations, distinct, sort, top, join."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from hypothesis import strategies as st

from ghcm.aggregates import result_of, sums_floats
from ghcm.expr import Call, Expr, Get, If, Lambda, Literal, MakeStruct, Var
from ghcm.functions import comparable
from ghcm.reducers import Aggregate, AggregateFunction, Builtin, Custom, Fields, Kind, Reducer
from ghcm.spg.connectors import Memory
from ghcm.spg.graph import Global, Hash
from ghcm.spg.joining import JoinKind, joined_element, joined_pair
from ghcm.spg.ops import (
    AggregateByKey,
    Count,
    Distinct,
    GroupByKey,
    Join,
    MapToPair,
    Op,
    ReduceByKey,
    Sort,
    Source,
    Top,
)
from ghcm.types import (
    WINDOW,
    Bool,
    Bytes,
    Collection,
    Date,
    Duration,
    Field,
    Float,
    Int,
    Int32,
    List,
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
from tests.laws.spg_flows import Chain, Flow, part_of, source, type_like, with_value
from tests.laws.spg_values import types

__all__ = ["aggregate_by_key", "count", "distinct", "group_by_key", "join", "reduce_by_key", "sort", "top"]


def _grouped(chain: Chain, flow: Flow, word: str, op: Op, value: Type, *, inexact: bool = False) -> Flow:
    takes = flow.collection
    table = chain.kind == "stream" and not takes.windowed and takes.shape is Shape.PAIRS and len(chain.tasks) % 2 == 0
    shape = Shape.TABLE if table else Shape.PAIRS
    gives = Collection(shape, with_value(flow, value), takes.bounded, takes.windowed, takes.windowed)
    return chain.add(word, op, gives, (flow, Hash(("key",))), inexact=inexact)


def reducer(draw: st.DrawFn, value: Type) -> Reducer | None:
    """A reducer of values of that type: built in, claimed (the greater one) or ordered (joined text, differences)."""
    if is_nullable(value) or not comparable(value):
        return None
    kinds = [Kind.MIN, Kind.MAX]
    kinds += [Kind.SUM] * 3 if isinstance(value, Int | Float | Duration) else []
    kinds += [Kind.ALL, Kind.ANY] if isinstance(value, Bool) else []
    way = draw(st.sampled_from(["builtin", "builtin", "fields", "claimed", "ordered"]))
    left, right = Var("x", value), Var("y", value)
    if way == "fields" and isinstance(value, Struct) and value.fields:
        parts = [reducer(draw, each.type) for each in value.fields]
        known = tuple(part for part in parts if part is not None and not isinstance(part, Custom))
        if len(known) == len(parts):
            return Fields(known, value)
    if way == "claimed":
        greater: Expr = Call("gt", (left, right), Bool())
        return Custom(Lambda((left, right), If(greater, left, right, value)), claimed=True, order=None)
    if way == "ordered" and isinstance(value, Int | String):
        word = "sub" if isinstance(value, Int) else "add"
        return Custom(
            Lambda((left, right), Call(word, (left, right), value)), claimed=False, order=Lambda((left,), left)
        )
    return Builtin(draw(st.sampled_from(kinds)), value)


def _adds_floats(found: Reducer) -> bool:
    match found:
        case Builtin(kind=kind, type=type_):
            return kind is Kind.SUM and isinstance(type_, Float)
        case Fields(parts=parts):
            return any(map(_adds_floats, parts))
        case Custom():
            return False


def reduce_by_key(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if flow.collection.shape is not Shape.PAIRS:
        return None
    found = reducer(draw, part_of(flow, "value"))
    if found is None:
        return None
    return _grouped(
        chain, flow, "reduce_by_key", ReduceByKey(found), part_of(flow, "value"), inexact=_adds_floats(found)
    )


def aggregate(draw: st.DrawFn, name: str, value: Type, *, timed: bool = False) -> Aggregate:
    """An aggregate over values of that type."""
    if draw(st.integers(0, 4)) == 0:
        return Aggregate(name, AggregateFunction.COUNT, None, Int())
    placed = (AggregateFunction.FIRST, AggregateFunction.LAST)
    some = [each for each in AggregateFunction if each not in placed or comparable(value)]
    function: AggregateFunction = draw(st.sampled_from(some))
    wanted: Type
    match function:
        case AggregateFunction.COUNT:
            wanted = type_like(draw, value)
        case AggregateFunction.SUM:
            sums: list[Type] = [Int(), Float(), Duration()]
            wanted = draw(st.sampled_from(sums))
        case AggregateFunction.MEAN | AggregateFunction.VAR | AggregateFunction.STD:
            numbers: list[Type] = [Int(), Float(), Int32()]
            wanted = draw(st.sampled_from(numbers))
        case AggregateFunction.FIRST | AggregateFunction.LAST:
            wanted = type_like(draw, value)
        case AggregateFunction.APPROX_DISTINCT:
            hashed: list[Type] = [Bool(), Int(), Int32(), String(), Bytes(), Timestamp(), Date(), Duration()]
            wanted = draw(st.sampled_from(hashed))
        case (
            AggregateFunction.MIN
            | AggregateFunction.MAX
            | AggregateFunction.COLLECT
            | AggregateFunction.DISTINCT_COUNT
            | AggregateFunction.QUANTILE
            | AggregateFunction.TOP_K
        ):
            wanted = type_like(draw, value, keys=True, nullable=False)
        case _:
            assert_never(function)
    argument = draw(functions(draw(st.sampled_from([wanted, as_nullable(wanted)])), value, depth=1))
    result = result_of(function, argument.body.type)
    assert result is not None
    return _with_option(draw, Aggregate(name, function, argument, result), value, timed=timed)


def _with_option(draw: st.DrawFn, found: Aggregate, value: Type, *, timed: bool) -> Aggregate:
    if found.function is AggregateFunction.QUANTILE:
        return replace(found, fraction=draw(st.sampled_from([0.0, 0.07, 0.5, 0.9, 1.0])))
    if found.function is AggregateFunction.TOP_K:
        return replace(found, limit=draw(st.integers(1, 3)))
    if found.placed and not (timed and draw(st.booleans())):
        return replace(found, order=draw(functions(type_like(draw, value, keys=True), value, depth=1)))
    return found


def aggregate_by_key(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if flow.collection.shape is not Shape.PAIRS:
        return None
    scalar = draw(st.integers(0, 3)) == 0
    names = ["n"] if scalar else ["n", "total", "some"][: draw(st.integers(1, 3))]
    aggregates = tuple(aggregate(draw, name, part_of(flow, "value"), timed=flow.collection.timed) for name in names)
    value = aggregates[0].type if scalar else Struct(tuple(Field(each.name, each.type) for each in aggregates))
    inexact = any(map(sums_floats, aggregates))
    return _grouped(chain, flow, "aggregate_by_key", AggregateByKey(aggregates, scalar), value, inexact=inexact)


def group_by_key(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if flow.collection.shape is not Shape.PAIRS or not comparable(part_of(flow, "value")):
        return None
    return _grouped(chain, flow, "group_by_key", GroupByKey(), List(part_of(flow, "value")))


def count(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    takes = flow.collection
    if takes.shape is Shape.PAIRS:
        return _grouped(chain, flow, "count", Count(), Int())
    element: Type = Struct((Field("value", Int()), Field("window", WINDOW))) if takes.windowed else Int()
    gives = Collection(Shape.STREAM, element, takes.bounded, takes.windowed, takes.windowed)
    return chain.add("count", Count(), gives, (flow, Global()))


def distinct(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if not comparable(flow.collection.element):
        return None
    gives = replace(flow.collection, timed=flow.collection.windowed)
    return chain.add("distinct", Distinct(), gives, (flow, Hash(())))


# --- whole inputs ----------------------------------------------------------------------------------------------------


def sort(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if not comparable(flow.collection.element):
        return None
    by = draw(functions(type_like(draw, flow.collection.element, keys=True), flow.collection.element, depth=1))
    return chain.add("sort", Sort(by, draw(st.booleans())), flow.collection, (flow, Global()))


def top(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if not comparable(flow.collection.element):
        return None
    by = draw(functions(type_like(draw, flow.collection.element, keys=True), flow.collection.element, depth=1))
    op = Top(Literal(draw(st.integers(1, 4)), Int()), by, draw(st.booleans()))
    return chain.add("top", op, flow.collection, (flow, Global()))


def join(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    """With another source, whose keys are from the first one's values or anywhere; perhaps with a condition."""
    takes = flow.collection
    if takes.windowed:
        return None
    if takes.shape is Shape.PAIRS and draw(st.booleans()):
        return _join_by_key(draw, chain, flow)
    left = takes.element
    wanted = type_like(draw, left, keys=True, nullable=False)
    mine = draw(functions(draw(st.sampled_from([wanted, as_nullable(wanted)])), left, depth=draw(st.integers(0, 1))))
    key = strip(mine.body.type)
    right = Struct((Field("k", draw(st.sampled_from([key, as_nullable(key)]))), Field("v", draw(types(0)))))
    other = source(draw, chain, right, most=5, known={"k": _seen(chain, key)})
    record = Var("x", right)
    its = Lambda((record,), Get(record, "k", right.fields[0].type))
    residual = draw(functions(as_nullable(Bool()), left, right)) if draw(st.booleans()) else None
    kind = draw(st.sampled_from(list(JoinKind)))
    op = Join(kind, (mine,), (its,), residual, by_key=False)
    timed = takes.timed and kind.left_alone
    gives = Collection(Shape.STREAM, joined_element(left, right, kind), bounded=True, timed=timed)
    return chain.add("join", op, gives, (flow, Global()), (other, Hash(("k",))))


def _seen(chain: Chain, type_: Type) -> list[object]:
    """Values of that type in the first source, so that keys meet."""
    first = chain.tasks[0]
    if not isinstance(first.op, Source) or not isinstance(first.op.connector, Memory):
        return []
    places = [i for i, each in enumerate(first.schema.fields) if strip(each.type) == strip(type_)]
    return [row[place] for row in first.op.connector.rows[:4] for place in places if row[place] is not None]


def _join_by_key(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow:
    key = part_of(flow, "key")
    element = pair_of(draw(st.sampled_from([strip(key), key])), draw(types(0)))
    held = source(draw, chain, element, most=5, known={"key": _seen(chain, key)})
    pair = held.collection.columns
    record = Var("x", pair)
    parts = tuple(Get(record, each.name, each.type) for each in pair.fields)
    body = MakeStruct(parts, tuple_of(*(each.type for each in pair.fields)))
    other = chain.row("map_to_pair", MapToPair(Lambda((record,), body)), held, shape=Shape.PAIRS)
    keys: list[Lambda] = []
    for name, side in (("l", flow), ("r", other)):
        of = Var(name, side.collection.element)
        keys.append(Lambda((of,), Get(of, "key", part_of(side, "key"))))
    kind = draw(st.sampled_from(list(JoinKind)))
    sides = [(part_of(side, "key"), part_of(side, "value")) for side in (flow, other)]
    timed = flow.collection.timed and kind.left_alone
    gives = Collection(Shape.PAIRS, joined_pair(sides[0], sides[1], kind), bounded=True, timed=timed)
    op = Join(kind, (keys[0],), (keys[1],), None, by_key=True)
    return chain.add("join", op, gives, (flow, Hash(("key",))), (other, Hash(("key",))))
