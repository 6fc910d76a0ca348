"""Groups: what makes one record of many, per key and window."""

from __future__ import annotations

from dataclasses import replace

from ghcm.codes import Code
from ghcm.functions import comparable
from ghcm.lowering.aggregates import Aggregated, aggregate_of
from ghcm.lowering.drafting import Step
from ghcm.lowering.flows import Bound, Flow
from ghcm.lowering.reducing import reducer_of
from ghcm.reducers import Aggregate
from ghcm.spg.graph import Global, Hash
from ghcm.spg.ops import AggregateByKey, Changes, Count, Distinct, GroupByKey, ReduceByKey
from ghcm.types import WINDOW, Collection, Field, Int, List, Shape, Struct, Type


def reduce_by_key(step: Step, flow: Flow) -> Bound:
    """One value per key."""
    value = _pair(flow)[1]
    endless = not flow.collection.bounded and not flow.collection.windowed
    reducer = reducer_of(step, value, endless=endless)
    return None if reducer is None else _grouped(step, flow, ReduceByKey(reducer), value)


def aggregate_by_key(step: Step, flow: Flow) -> Bound:
    """Named aggregates per key, or one without a name, which is the value itself."""
    value = _pair(flow)[1]
    names = [argument.name for argument in step.given.rest]
    scalar = names == [None]
    if not scalar and None in names:
        place = next(argument for argument in step.given.rest if argument.name is None)
        message = "one of several aggregates has no name"
        step.report(Code.BAD_AGGREGATE, message, place.value.span, hint="For example n = count().")
        return None
    for index, argument in enumerate(step.given.rest):
        if argument.name in names[:index]:
            step.report(Code.DECLARED_TWICE, f'aggregate "{argument.name}" is given twice', argument.span)
            return None
    over = Aggregated(value, flow.collection.timed, step.unit.scope, step.context)
    found = [aggregate_of(argument.name or "value", argument.value, over) for argument in step.given.rest]
    aggregates = tuple(each for each in found if each is not None)
    if len(aggregates) < len(found):
        return None
    result = aggregates[0].type if scalar else _struct(aggregates)
    return _grouped(step, flow, AggregateByKey(aggregates, scalar), result)


def group_by_key(step: Step, flow: Flow) -> Bound:
    """The values of a key as an ascending list."""
    value = _pair(flow)[1]
    if not comparable(value):
        step.report(Code.NOT_COMPARABLE, f'a list of "{value}" has no order', hint="Maps cannot be compared.")
        return None
    return _grouped(step, flow, GroupByKey(), List(value))


def count(step: Step, flow: Flow) -> Bound:
    """The number of values per key, or of records."""
    collection = flow.collection
    if collection.shape is Shape.PAIRS:
        return _grouped(step, flow, Count(), Int())
    if not collection.bounded and not collection.windowed:
        step.report(
            Code.ENDLESS_COUNT,
            "a stream that never ends has no count",
            hint="key_by(...) before it gives a table of counts, window(...) a count per window.",
        )
        return None
    element: Type = Struct((Field("value", Int()), Field("window", WINDOW))) if collection.windowed else Int()
    after = Collection(Shape.STREAM, element, collection.bounded, collection.windowed, collection.windowed)
    return Flow(step.add(Count(), after, (flow, Global()), keeps_state=True), after, regrouped=True)


def distinct(step: Step, flow: Flow) -> Bound:
    """Each different record once."""
    collection = flow.collection
    if not comparable(collection.element):
        message = f'records of "{collection.element}" cannot be compared'
        step.report(Code.NOT_COMPARABLE, message, hint="map(...) leaves their maps out.")
        return None
    after = replace(collection, timed=collection.windowed)
    return Flow(step.add(Distinct(), after, (flow, Hash(())), keeps_state=True), after, regrouped=True)


def changes(step: Step, flow: Flow) -> Bound:
    """The pairs of a table as records, as its values change."""
    after = Collection(Shape.PAIRS, flow.collection.element, flow.collection.bounded)
    return Flow(step.add(Changes(), after, (flow, Hash(("key",))), keeps_state=True), after, regrouped=True)


def _pair(flow: Flow) -> tuple[Type, Type]:
    element = flow.collection.element
    assert isinstance(element, Struct), "pairs are structs"
    return element.fields[0].type, element.fields[1].type


def _struct(aggregates: tuple[Aggregate, ...]) -> Struct:
    return Struct(tuple(Field(each.name, each.type) for each in aggregates))


def _grouped(step: Step, flow: Flow, op: AggregateByKey | Count | GroupByKey | ReduceByKey, value: Type) -> Flow:
    """The result of a keyed aggregation: pairs, or a table where the unit lives on and the groups never close."""
    collection = flow.collection
    fields = [Field("key", _pair(flow)[0]), Field("value", value)]
    fields += [Field("window", WINDOW)] if collection.windowed else []
    kept = not collection.bounded or id(step.written) in step.unit.named_nodes
    table = step.unit.lives_on and not collection.windowed and kept
    shape = Shape.TABLE if table else Shape.PAIRS
    after = Collection(shape, Struct(tuple(fields)), collection.bounded, collection.windowed, collection.windowed)
    draft = step.add(op, after, (flow, Hash(("key",))), keeps_state=True)
    return Flow(draft, after, regrouped=True)
