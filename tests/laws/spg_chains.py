"""Chains of tasks under construction: per operation a step that adds a task which fits what came before."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from ghcm.expr import Call, Get, Lambda, MakeStruct, Var
from ghcm.spg.graph import Forward
from ghcm.spg.ops import EventTime, Filter, FlatMap, KeyBy, Map, MapToPair, MapValues, Sessions, Source, Union, Window
from ghcm.spg.windows import Assigner, Cumulating, Sliding, Tumbling
from ghcm.types import (
    WINDOW,
    Bool,
    Field,
    List,
    Nullable,
    Shape,
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
from tests.laws.spg_flows import Chain, Flow, Step, in_window, part_of, record_like, source, type_like, with_value
from tests.laws.spg_groups import (
    aggregate_all,
    aggregate_by_key,
    count,
    distinct,
    group_by_key,
    preceding,
    reduce_by_key,
    sort,
    top,
)
from tests.laws.spg_joins import join

__all__ = ["STEPS", "Chain", "Flow", "Step", "applicable", "source"]


# --- rows ------------------------------------------------------------------------------------------------------------


def _function(draw: st.DrawFn, chain: Chain, flow: Flow, result: Type) -> Lambda:
    """A function of a record and the parameters of the unit."""
    return draw(functions(result, flow.collection.element, parameters=chain.parameters))


def filter_(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    return chain.row("filter", Filter(_function(draw, chain, flow, as_nullable(Bool()))), flow)


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
    if in_window(flow):
        return None
    of = flow.collection.element
    wanted = type_like(draw, of) if draw(st.integers(0, 2)) == 0 else record_like(draw, of)
    function = _function(draw, chain, flow, wanted)
    return chain.row("map", Map(function), flow, shape=Shape.STREAM, element=function.body.type)


def flat_map(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if in_window(flow):
        return None
    wanted: Type = List(type_like(draw, flow.collection.element))
    function = draw(functions(draw(st.sampled_from([wanted, Nullable(wanted)])), flow.collection.element))
    items = strip(function.body.type)
    assert isinstance(items, List)
    return chain.row("flat_map", FlatMap(function), flow, shape=Shape.STREAM, element=items.item)


def _small_key(draw: st.DrawFn, of: Type) -> Type:
    """A type of keys."""
    return type_like(draw, of, keys=True)


def map_to_pair(draw: st.DrawFn, chain: Chain, flow: Flow, value: Type | None = None) -> Flow | None:
    if in_window(flow):
        return None
    element = flow.collection.element
    wanted: Type = value or type_like(draw, element)
    key = draw(functions(_small_key(draw, element), element, depth=1))
    held = draw(functions(wanted, element))
    pair = tuple_of(key.body.type, held.body.type)
    function = Lambda(key.parameters, MakeStruct((key.body, held.body), pair))
    made = pair_of(key.body.type, held.body.type)
    return chain.row("map_to_pair", MapToPair(function), flow, shape=Shape.PAIRS, element=made)


def map_values(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if flow.collection.shape is not Shape.PAIRS:
        return None
    function = draw(functions(type_like(draw, part_of(flow, "value")), part_of(flow, "value")))
    return chain.row("map_values", MapValues(function), flow, element=with_value(flow, function.body.type))


def key_by(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    if flow.collection.shape is not Shape.STREAM or in_window(flow):
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
    """Time of a timestamp field; in streams the disorder is small, so that records are late."""
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
    idle = None if disorder is None else draw(st.sampled_from([None, None, 30_000_000]))
    if chain.kind == "batch":
        disorder = idle = None
    return chain.row("event_time", EventTime(function, disorder, idle), flow, timed=True)


def window(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    columns = flow.collection.columns
    if not flow.collection.timed or flow.collection.windowed or columns.get("window") or flow.inexact:
        return None
    assigners: list[Assigner] = [
        *(Tumbling(size) for size in (1_000_000, 4_000_000, 86_400_000_000)),
        *(Sliding(4_000_000, every) for every in (1_000_000, 3_000_000)),
        Cumulating(4_000_000, 2_000_000),
        Tumbling(86_400_000_000, offset_us=79_200_000_000),
        Sliding(4_000_000, 3_000_000, offset_us=500_001),
    ]
    lateness = draw(st.sampled_from([0, 0, 2_000_000])) * (chain.kind == "stream")
    op: Window | Sessions = Window(draw(st.sampled_from(assigners)), lateness)
    if chain.sessions and draw(st.booleans()):
        op = Sessions(draw(st.sampled_from([1, 2_000_000, 86_400_000_000])), lateness)
    element = Struct((*columns.fields, Field("window", WINDOW)), columns.name)
    return chain.row("window", op, flow, element=element, windowed=True)


def applicable(flow: Flow) -> list[str]:
    """The operators that may come next, those that need much the more often."""
    words = [*STEPS]
    if flow.collection.shape is Shape.PAIRS:
        words += ["reduce_by_key", "aggregate_by_key", "group_by_key", "count", "map_values"] * 2
    if not flow.collection.timed and any(strip(each.type) == Timestamp() for each in flow.collection.columns.fields):
        words += ["event_time"] * 4
    if flow.collection.timed and not flow.collection.windowed:
        words += ["window"] * 6 + ["join"] * 4
        words += ["preceding"] * 3 if flow.collection.shape is Shape.PAIRS else []
    if flow.collection.windowed:
        words += ["reduce_by_key", "aggregate_by_key", "aggregate", "count", "distinct", "join"] * 2
        words += ["join"] * 6 if flow.collection.shape is Shape.PAIRS else []
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
    "aggregate": aggregate_all,
    "group_by_key": group_by_key,
    "preceding": preceding,
    "count": count,
    "distinct": distinct,
    "sort": sort,
    "top": top,
    "join": join,
}
"""By the operator's name."""
