"""Steps that group or look at whole inputs: aggregations, distinct, sort, top; and the changes of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from hypothesis import strategies as st

from ghcm.aggregates import AGGREGATES, PAIR, Nothing, mean_of_decimals, result_of
from ghcm.expr import Call, Expr, If, Lambda, Literal, Var
from ghcm.functions import comparable
from ghcm.reducers import Aggregate, AggregateFunction, Builtin, Custom, Fields, Kind, Reducer, splittable
from ghcm.spg.graph import Forward, Global, Hash
from ghcm.spg.ops import (
    AggregateByKey,
    Changes,
    Count,
    Distinct,
    EventTime,
    GroupByKey,
    MapValues,
    Op,
    ReduceByKey,
    RowOp,
    Sort,
    Source,
    Top,
)
from ghcm.spg.sequences import Preceding
from ghcm.types import (
    INT_MAX,
    WINDOW,
    Bool,
    Bytes,
    Collection,
    Date,
    Decimal,
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
    beside_others,
    is_nullable,
    nullable_like,
    strip,
)
from tests.laws.spg_expressions import functions
from tests.laws.spg_flows import Chain, Flow, part_of, type_like, with_value

__all__ = [
    "aggregate_all",
    "aggregate_by_key",
    "changes",
    "count",
    "distinct",
    "group_by_key",
    "grouped",
    "preceding",
    "reduce_by_key",
    "sort",
    "top",
]


def grouped(chain: Chain, flow: Flow, word: str, op: Op, value: Type, *, inexact: bool = False) -> Flow:
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
        word = draw(st.sampled_from(["sub", "mul"])) if isinstance(value, Int) else "add"
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
    if draw(st.integers(0, 7)) == 7:
        return _overflowing(chain, flow)
    found = reducer(draw, part_of(flow, "value"))
    if found is None:
        return None
    return grouped(
        chain, flow, "reduce_by_key", ReduceByKey(found), part_of(flow, "value"), inexact=_adds_floats(found)
    )


def _overflowing(chain: Chain, flow: Flow) -> Flow:
    """Sums that fail for each key of two records or more."""
    most = Lambda((Var("x", part_of(flow, "value")),), Literal(INT_MAX, Int()))
    given = chain.row("map_values", MapValues(most), flow, element=with_value(flow, Int()))
    return grouped(chain, given, "reduce_by_key", ReduceByKey(Builtin(Kind.SUM, Int())), Int())


def _one_by_one(chain: Chain, flow: Flow) -> bool:
    """Whether records come in the order of one source, in a stream unit."""
    tasks = {task.id: task for task in chain.tasks}
    task = tasks[flow.id]
    while chain.kind == "stream" and isinstance(task.op, RowOp | EventTime):
        task = tasks[task.inputs[0].producer]
    return chain.kind == "stream" and isinstance(task.op, Source)


def aggregate(draw: st.DrawFn, name: str, value: Type, *, timed: bool = False, one_by_one: bool = False) -> Aggregate:
    """An aggregate over values of that type."""
    if draw(st.integers(0, 4)) == 0:
        return Aggregate(name, AggregateFunction.COUNT, None, Int())
    placed = (AggregateFunction.FIRST, AggregateFunction.LAST)
    some = [each for each in AggregateFunction if each not in placed or comparable(value)]
    function: AggregateFunction = draw(st.sampled_from(some))
    if function is AggregateFunction.FOLD:
        return _with_option(draw, _fold(draw, name, value), value, timed=timed, one_by_one=False)
    wanted: Type
    match function:
        case AggregateFunction.COUNT:
            wanted = type_like(draw, value)
        case AggregateFunction.SUM:
            sums: list[Type] = [Int(), Float(), Duration(), Decimal(10, 2)]
            wanted = draw(st.sampled_from(sums))
        case AggregateFunction.COVAR | AggregateFunction.CORR:
            wanted = PAIR
        case AggregateFunction.MEAN | AggregateFunction.VAR | AggregateFunction.STD | AggregateFunction.MEDIAN:
            numbers: list[Type] = [Int(), Float(), Int32()]
            numbers += [Decimal(10, 2)] if function in (AggregateFunction.MEAN, AggregateFunction.MEDIAN) else []
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
            | AggregateFunction.MODE
        ):
            wanted = type_like(draw, value, keys=True, nullable=False)
        case _:
            assert_never(function)
    argument = draw(functions(draw(st.sampled_from([wanted, as_nullable(wanted)])), value, depth=1))
    result = result_of(function, argument.body.type)
    if function is AggregateFunction.MEAN and isinstance(of := strip(argument.body.type), Decimal):
        mean = mean_of_decimals(of, draw(st.integers(0, 3)))
        result = None if mean is None else nullable_like(mean, argument.body.type)
    assert result is not None
    found = Aggregate(name, function, argument, result)
    return _with_option(draw, found, value, timed=timed, one_by_one=one_by_one)


def _fold(draw: st.DrawFn, name: str, value: Type) -> Aggregate:
    """An aggregate of functions of one's own: merged in any order, or in one; its result may be what was added up."""
    ordered = comparable(value) and draw(st.booleans())
    wanted = type_like(draw, value, keys=True, nullable=False)
    argument = draw(functions(draw(st.sampled_from([wanted, as_nullable(wanted)])), value, depth=1))
    held = strip(argument.body.type)
    merge = None if ordered else reducer(draw, held)
    if not ordered and (merge is None or not splittable(merge)):
        merge = Builtin(Kind.MIN, held)
    state = Var("s", List(held) if merge is None else as_nullable(held))
    finish = Lambda((state,), state)
    if draw(st.booleans()) and (merge is None or not _adds_floats(merge)):
        finish = draw(functions(Int(), state.type, depth=1))
    made = Aggregate(name, AggregateFunction.FOLD, argument, finish.body.type)
    return replace(made, reducer=merge, finish=finish)


def _with_option(draw: st.DrawFn, found: Aggregate, value: Type, *, timed: bool, one_by_one: bool) -> Aggregate:
    if found.function is AggregateFunction.QUANTILE:
        return replace(found, fraction=draw(st.sampled_from([0.0, 0.07, 0.5, 0.9, 1.0])))
    if found.function is AggregateFunction.TOP_K:
        return replace(found, limit=draw(st.integers(1, 3)))
    picks = found.picks_record and found.function is not AggregateFunction.FOLD
    if picks and draw(st.integers(0, 2)) == 2:
        found = replace(found, limit=draw(st.integers(1, 3)), type=List(strip(found.type)))
    if found.picks_record and one_by_one and draw(st.booleans()):
        return replace(found, arrival=True)
    if found.picks_record and not (timed and draw(st.booleans())):
        return replace(found, order=draw(functions(type_like(draw, value, keys=True), value, depth=1)))
    return found


def aggregate_by_key(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if flow.collection.shape is not Shape.PAIRS:
        return None
    aggregates, scalar = _aggregates(draw, chain, flow)
    value = aggregates[0].type if scalar else Struct(tuple(Field(each.name, each.type) for each in aggregates))
    inexact = any(map(_sums_floats, aggregates))
    return grouped(chain, flow, "aggregate_by_key", AggregateByKey(aggregates, scalar), value, inexact=inexact)


def _aggregates(draw: st.DrawFn, chain: Chain, flow: Flow) -> tuple[tuple[Aggregate, ...], bool]:
    scalar = draw(st.integers(0, 3)) == 0
    names = ["n"] if scalar else ["n", "total", "some"][: draw(st.integers(1, 3))]
    held, timed, one_by_one = flow.collection.aggregated, flow.collection.timed, _one_by_one(chain, flow)
    return tuple(aggregate(draw, name, held, timed=timed, one_by_one=one_by_one) for name in names), scalar


def aggregate_all(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    """Aggregates of all records, which are null where there are none."""
    takes = flow.collection
    if takes.shape is not Shape.STREAM or takes.aggregated == Struct(()):
        return None
    made, scalar = _aggregates(draw, chain, flow)
    if not takes.windowed:
        known = [AGGREGATES[each.function].nothing is Nothing.VALUE or each.limit is not None for each in made]
        nullable = (replace(each, type=as_nullable(each.type)) for each in made)
        made = tuple(one if sure else other for one, other, sure in zip(made, nullable, known, strict=True))
    fields = (Field("value", made[0].type),) if scalar else tuple(Field(each.name, each.type) for each in made)
    whole: Type = made[0].type if scalar else Struct(fields)
    element = Struct((*fields, Field("window", WINDOW))) if takes.windowed else whole
    gives = Collection(Shape.STREAM, element, takes.bounded, takes.windowed, takes.windowed)
    inexact = any(map(_sums_floats, made))
    return chain.add("aggregate", AggregateByKey(made, scalar), gives, (flow, Global()), inexact=inexact)


def group_by_key(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if flow.collection.shape is not Shape.PAIRS or not comparable(part_of(flow, "value")):
        return None
    return grouped(chain, flow, "group_by_key", GroupByKey(), List(part_of(flow, "value")))


def preceding(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    takes = flow.collection
    if takes.shape is not Shape.PAIRS or not takes.timed or takes.windowed or flow.inexact:
        return None
    value = part_of(flow, "value")
    if not comparable(value):
        return None
    gives = replace(takes, element=with_value(flow, beside_others(value)))
    return chain.add("preceding", Preceding(draw(st.integers(1, 3))), gives, (flow, Hash(("key",))))


def count(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    takes = flow.collection
    if takes.shape is Shape.PAIRS:
        return grouped(chain, flow, "count", Count(), Int())
    element: Type = Struct((Field("value", Int()), Field("window", WINDOW))) if takes.windowed else Int()
    gives = Collection(Shape.STREAM, element, takes.bounded, takes.windowed, takes.windowed)
    return chain.add("count", Count(), gives, (flow, Global()))


def changes(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    """A table as pairs again, which it is once at the end of its input."""
    takes = flow.collection
    if takes.shape is not Shape.TABLE:
        return None
    gives = Collection(Shape.PAIRS, takes.element, takes.bounded)
    if takes.bounded and draw(st.booleans()):
        return chain.add("final", Changes(final=True), gives, (flow, Forward()), inexact=flow.inexact)
    return chain.add("changes", Changes(), gives, (flow, Hash(("key",))), inexact=flow.inexact)


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
    op = Top(chain.number(draw, st.integers(1, 4)), by, draw(st.booleans()))
    return chain.add("top", op, flow.collection, (flow, Global()))


def _sums_floats(what: Aggregate) -> bool:
    """Whether its last digits depend on how it is computed."""
    of_squares = (AggregateFunction.VAR, AggregateFunction.STD, AggregateFunction.COVAR, AggregateFunction.CORR)
    if what.function in of_squares or (what.reducer is not None and _adds_floats(what.reducer)):
        return True
    summed = what.function in (AggregateFunction.SUM, AggregateFunction.MEAN)
    return summed and isinstance(strip(what.type), Float)
