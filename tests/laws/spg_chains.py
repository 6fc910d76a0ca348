"""Chains of tasks under construction: per operation a step that adds a task which fits what came before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from hypothesis import strategies as st

from ghcm.expr import Call, Expr, Get, If, Lambda, Literal, MakeStruct, Var
from ghcm.functions import comparable
from ghcm.reducers import Aggregate, AggregateFunction, Builtin, Custom, Fields, Kind, Reducer
from ghcm.source import Origin
from ghcm.spg.connectors import Memory
from ghcm.spg.graph import Exchange, Forward, Global, Hash, Input, Task
from ghcm.spg.ops import (
    AggregateByKey,
    Count,
    Distinct,
    EventTime,
    Filter,
    FlatMap,
    GroupByKey,
    Join,
    KeyBy,
    Map,
    MapToPair,
    MapValues,
    Op,
    ReduceByKey,
    Sort,
    Source,
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
    Int32,
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
from tests.laws.spg_expressions import functions, paths_of
from tests.laws.spg_values import NAMES, records, rows_of, types

__all__ = ["STEPS", "Chain", "Flow", "Step", "applicable", "source"]


@dataclass(frozen=True, slots=True)
class Flow:
    """A task and what it gives. `inexact`: float sums, whose last digits are the engine's own."""

    id: str
    collection: Collection
    inexact: bool = False


@dataclass(slots=True)
class Chain:
    """The tasks of a unit so far."""

    kind: str
    tasks: list[Task] = field(default_factory=list[Task])

    def add(
        self, word: str, op: Op, collection: Collection, *inputs: tuple[Flow, Exchange], inexact: bool = False
    ) -> Flow:
        """A task at the end; its id is made from the operator's name."""
        id = word if all(task.id != word for task in self.tasks) else f"{word}.n{len(self.tasks)}"
        edges = tuple(Input(flow.id, exchange) for flow, exchange in inputs)
        origin = Origin("generated.istream", len(self.tasks) + 2, 3)
        self.tasks.append(Task(id, op, edges, collection, origin, named=collection.shape is Shape.TABLE))
        return Flow(id, collection, inexact)

    def row(self, word: str, op: Op, flow: Flow, **changes: object) -> Flow:
        """A row operation; `changes` are those of the collection."""
        return self.add(word, op, replace(flow.collection, **changes), (flow, Forward()))  # type: ignore[arg-type]


Step: TypeAlias = Callable[[st.DrawFn, Chain, Flow], "Flow | None"]
"""Adds a task and gives its flow, or None where the operation does not fit what flows."""


def source(
    draw: st.DrawFn,
    chain: Chain,
    element: Type | None = None,
    *,
    most: int = 8,
    known: dict[str, list[object]] | None = None,
) -> Flow:
    """A memory source of records of that type, or of any; some columns take some of the `known` values."""
    if element is None:
        element = draw(st.one_of(records(), records(), types(0)))
    rows = draw(rows_of(element, most=most, known=known))
    return chain.add("rows", Source(Memory(rows)), Collection(Shape.STREAM, element, bounded=True))


def _part(flow: Flow, name: str) -> Type:
    return next(each.type for each in flow.collection.columns.fields if each.name == name)


def _with_value(flow: Flow, value: Type) -> Struct:
    fields = flow.collection.columns.fields
    return Struct(tuple(replace(each, type=value) if each.name == "value" else each for each in fields))


def _wanted(draw: st.DrawFn, of: Type, *, keys: bool = False, nullable: bool = True) -> Type:
    """A type to compute: most often one that the input has, so that results differ from record to record."""
    found = [path.type for path in paths_of(Var("x", of)) if comparable(path.type) or not keys]
    if found and draw(st.integers(0, 3)) > 0:
        type_ = draw(st.sampled_from(found))
        return type_ if nullable else strip(type_)
    return draw(types(keys=keys, nullable=nullable))


def _wanted_record(draw: st.DrawFn, of: Type) -> Struct:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=draw(st.integers(1, 3)), max_size=3, unique=True))
    return Struct(tuple(Field(name, _wanted(draw, of)) for name in names), draw(st.sampled_from([None, "Made"])))


def _open_window(flow: Flow) -> bool:
    """Whether a row operation would lose the window."""
    return flow.collection.windowed


# --- rows ------------------------------------------------------------------------------------------------------------


def filter_(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    return chain.row("filter", Filter(draw(functions(as_nullable(Bool()), flow.collection.element))), flow)


def narrowing_filter(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    """A filter that takes the nulls out of a field, which has no `?` behind it."""
    element = flow.collection.element
    found = [each.name for each in element.fields if is_nullable(each.type)] if isinstance(element, Struct) else []
    if not found or not isinstance(element, Struct) or flow.collection.shape is not Shape.STREAM:
        return None
    name = draw(st.sampled_from(found))
    record = Var("x", element)
    place = element.fields[element.index(name)]
    predicate = Lambda((record,), Call("is_not_null", (Get(record, name, place.type),), Bool()))
    fields = tuple(replace(each, type=strip(each.type)) if each.name == name else each for each in element.fields)
    return chain.row("filter", Filter(predicate), flow, element=replace(element, fields=fields))


def map_(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if _open_window(flow):
        return None
    of = flow.collection.element
    wanted = _wanted(draw, of) if draw(st.integers(0, 2)) == 0 else _wanted_record(draw, of)
    function = draw(functions(wanted, of))
    return chain.row("map", Map(function), flow, shape=Shape.STREAM, element=function.body.type)


def flat_map(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if _open_window(flow):
        return None
    wanted: Type = List(_wanted(draw, flow.collection.element))
    function = draw(functions(draw(st.sampled_from([wanted, Nullable(wanted)])), flow.collection.element))
    items = strip(function.body.type)
    assert isinstance(items, List)
    return chain.row("flat_map", FlatMap(function), flow, shape=Shape.STREAM, element=items.item)


def _small_key(draw: st.DrawFn, of: Type) -> Type:
    """A type of keys."""
    return _wanted(draw, of, keys=True)


def map_to_pair(draw: st.DrawFn, chain: Chain, flow: Flow, value: Type | None = None) -> Flow | None:
    if _open_window(flow):
        return None
    element = flow.collection.element
    wanted: Type = value or _wanted(draw, element)
    key = draw(functions(_small_key(draw, element), element, depth=1))
    held = draw(functions(wanted, element))
    pair = tuple_of(key.body.type, held.body.type)
    function = Lambda(key.parameters, MakeStruct((key.body, held.body), pair))
    made = pair_of(key.body.type, held.body.type)
    return chain.row("map_to_pair", MapToPair(function), flow, shape=Shape.PAIRS, element=made)


def map_values(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if flow.collection.shape is not Shape.PAIRS:
        return None
    function = draw(functions(_wanted(draw, _part(flow, "value")), _part(flow, "value")))
    return chain.row("map_values", MapValues(function), flow, element=_with_value(flow, function.body.type))


def key_by(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if flow.collection.shape is not Shape.STREAM or _open_window(flow):
        return None
    function = draw(functions(_small_key(draw, flow.collection.element), flow.collection.element))
    element = pair_of(function.body.type, flow.collection.element)
    return chain.row("key_by", KeyBy(function), flow, shape=Shape.PAIRS, element=element)


def union(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    """With itself, or with a filtered branch of itself."""
    other = filter_(draw, chain, flow) if draw(st.booleans()) else flow
    return (
        None if other is None else chain.add("union", Union(), flow.collection, (flow, Forward()), (other, Forward()))
    )


# --- time ------------------------------------------------------------------------------------------------------------


def event_time(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    """Time of a timestamp field; the disorder is small, so that records are late."""
    if any(not isinstance(task.op, Source | Filter) for task in chain.tasks) or flow.collection.timed:
        return None
    record = Var("x", flow.collection.element)
    columns = flow.collection.columns.fields
    found = [each for each in columns if isinstance(strip(each.type), Timestamp)]
    if not found or not isinstance(flow.collection.element, Struct):
        return None
    place = draw(st.sampled_from(found))
    function = Lambda((record,), Get(record, place.name, place.type))
    disorder = draw(st.sampled_from([0, 0, 1_000_000, 5_000_000, None]))
    return chain.row("event_time", EventTime(function, disorder), flow, timed=True)


def window(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    columns = flow.collection.columns
    if not flow.collection.timed or flow.collection.windowed or columns.get("window") or flow.inexact:
        return None
    op = Window(
        Tumbling(draw(st.sampled_from([1_000_000, 4_000_000, 86_400_000_000]))),
        draw(st.sampled_from([0, 0, 2_000_000])),
    )
    element = Struct((*columns.fields, Field("window", WINDOW)), columns.name)
    return chain.row("window", op, flow, element=element, windowed=True)


# --- groups ----------------------------------------------------------------------------------------------------------


def _grouped(chain: Chain, flow: Flow, word: str, op: Op, value: Type, *, inexact: bool = False) -> Flow:
    takes = flow.collection
    table = chain.kind == "stream" and not takes.windowed and takes.shape is Shape.PAIRS and len(chain.tasks) % 2 == 0
    shape = Shape.TABLE if table else Shape.PAIRS
    gives = Collection(shape, _with_value(flow, value), takes.bounded, takes.windowed, takes.windowed)
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
    found = reducer(draw, _part(flow, "value"))
    if found is None:
        return None
    return _grouped(chain, flow, "reduce_by_key", ReduceByKey(found), _part(flow, "value"), inexact=_adds_floats(found))


def aggregate(draw: st.DrawFn, name: str, value: Type) -> Aggregate:
    """An aggregate over values of that type."""
    if draw(st.integers(0, 4)) == 0:
        return Aggregate(name, AggregateFunction.COUNT, None, Int())
    function: AggregateFunction = draw(st.sampled_from(list(AggregateFunction)))
    wanted: Type
    match function:
        case AggregateFunction.COUNT:
            wanted = _wanted(draw, value)
        case AggregateFunction.SUM:
            sums: list[Type] = [Int(), Float(), Duration()]
            wanted = draw(st.sampled_from(sums))
        case AggregateFunction.MEAN:
            numbers: list[Type] = [Int(), Float(), Int32()]
            wanted = draw(st.sampled_from(numbers))
        case AggregateFunction.MIN | AggregateFunction.MAX:
            wanted = _wanted(draw, value, keys=True, nullable=False)
        case _:
            assert_never(function)
    argument = draw(functions(draw(st.sampled_from([wanted, as_nullable(wanted)])), value, depth=1))
    found = strip(argument.body.type)
    results: dict[AggregateFunction, Type] = {AggregateFunction.COUNT: Int(), AggregateFunction.MEAN: Float()}
    result = results.get(function, found)
    nullable = is_nullable(argument.body.type) and function is not AggregateFunction.COUNT
    return Aggregate(name, function, argument, as_nullable(result) if nullable else result)


def aggregate_by_key(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if flow.collection.shape is not Shape.PAIRS:
        return None
    scalar = draw(st.integers(0, 3)) == 0
    names = ["n"] if scalar else ["n", "total", "some"][: draw(st.integers(1, 3))]
    aggregates = tuple(aggregate(draw, name, _part(flow, "value")) for name in names)
    value = aggregates[0].type if scalar else Struct(tuple(Field(each.name, each.type) for each in aggregates))
    inexact = any(
        each.function in (AggregateFunction.SUM, AggregateFunction.MEAN) and isinstance(strip(each.type), Float)
        for each in aggregates
    )
    return _grouped(chain, flow, "aggregate_by_key", AggregateByKey(aggregates, scalar), value, inexact=inexact)


def group_by_key(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if flow.collection.shape is not Shape.PAIRS or not comparable(_part(flow, "value")):
        return None
    return _grouped(chain, flow, "group_by_key", GroupByKey(), List(_part(flow, "value")))


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
    by = draw(functions(_wanted(draw, flow.collection.element, keys=True), flow.collection.element, depth=1))
    return chain.add("sort", Sort(by, draw(st.booleans())), flow.collection, (flow, Global()))


def top(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if not comparable(flow.collection.element):
        return None
    by = draw(functions(_wanted(draw, flow.collection.element, keys=True), flow.collection.element, depth=1))
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
    wanted = _wanted(draw, left, keys=True, nullable=False)
    right = Struct((Field("k", draw(st.sampled_from([wanted, as_nullable(wanted)]))), Field("v", draw(types(0)))))
    other = source(draw, chain, right, most=5, known={"k": _seen(chain, wanted)})
    record = Var("x", right)
    mine = draw(functions(draw(st.sampled_from([wanted, as_nullable(wanted)])), left, depth=draw(st.integers(0, 1))))
    its = Lambda((record,), Get(record, "k", right.fields[0].type))
    residual = draw(functions(as_nullable(Bool()), left, right)) if draw(st.booleans()) else None
    element = Struct((Field("left", left), Field("right", right)))
    op = Join("inner", (mine,), (its,), residual, by_key=False)
    gives = Collection(Shape.STREAM, element, bounded=True, timed=False)
    return chain.add("join", op, gives, (flow, Global()), (other, Hash(("k",))))


def _seen(chain: Chain, type_: Type) -> list[object]:
    """Values of that type in the first source, so that keys meet."""
    first = chain.tasks[0]
    assert isinstance(first.op, Source) and isinstance(first.op.connector, Memory)
    places = [i for i, each in enumerate(first.schema.fields) if strip(each.type) == strip(type_)]
    return [row[place] for row in first.op.connector.rows[:4] for place in places if row[place] is not None]


def _join_by_key(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow:
    key = _part(flow, "key")
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
        keys.append(Lambda((of,), Get(of, "key", _part(side, "key"))))
    value = Struct((Field("left", _part(flow, "value")), Field("right", _part(other, "value"))))
    gives = Collection(Shape.PAIRS, pair_of(strip(key), value), bounded=True)
    op = Join("inner", (keys[0],), (keys[1],), None, by_key=True)
    return chain.add("join", op, gives, (flow, Hash(("key",))), (other, Hash(("key",))))


def applicable(flow: Flow) -> list[str]:
    """The operators that may come next, those that need much the more often."""
    words = [*STEPS]
    if flow.collection.shape is Shape.PAIRS:
        words += ["reduce_by_key", "aggregate_by_key", "group_by_key", "count", "map_values"] * 2
    if flow.collection.timed and not flow.collection.windowed:
        words += ["window"] * 6
    if flow.collection.windowed:
        words += ["reduce_by_key", "aggregate_by_key", "count", "distinct"] * 2
    return words


STEPS: dict[str, Step] = {
    "filter": filter_,
    "narrowing": narrowing_filter,
    "map": map_,
    "flat_map": flat_map,
    "map_to_pair": map_to_pair,
    "map_values": map_values,
    "key_by": key_by,
    "union": union,
    "event_time": event_time,
    "window": window,
    "reduce_by_key": reduce_by_key,
    "aggregate_by_key": aggregate_by_key,
    "group_by_key": group_by_key,
    "count": count,
    "distinct": distinct,
    "sort": sort,
    "top": top,
    "join": join,
}
"""By the operator's name."""
