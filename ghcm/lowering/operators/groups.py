"""Groups: what makes one record of many, per key and window, and what puts all records in order.

A reducer is proved, claimed, or ordered; anything else would give what the order of processing gives.
"""

from dataclasses import replace

from ghcm.aggregates import AGGREGATES, Nothing
from ghcm.codes import Code
from ghcm.errors import Reported, attempt, both, every, sound
from ghcm.expr import Lambda
from ghcm.functions import comparable
from ghcm.language import ast
from ghcm.language.literals import CLAIMS
from ghcm.lowering.drafts import RULES, Bound, Flow, Step, rule, unordered
from ghcm.lowering.expressions.aggregates import Aggregated, aggregate_of
from ghcm.lowering.expressions.conversion import convert
from ghcm.lowering.operators.orders import order_of
from ghcm.lowering.operators.sequences import distinct_within
from ghcm.reducers import Aggregate, Builtin, Custom, Fields, Reducer, prove, summed
from ghcm.spg.graph import Global, Hash
from ghcm.spg.ops import AggregateByKey, Count, Distinct, GroupByKey, ReduceByKey, Sort, Top
from ghcm.types import WINDOW, Collection, Decimal, Field, Int, List, Shape, Struct, Type, as_nullable, is_nullable
from ghcm.unification import accepts


@rule(RULES, "reduce_by_key")
def reduce_by_key(step: Step, flow: Flow) -> Bound:
    """One value per key."""
    value = flow.collection.pair[1]
    if (sums := _wider_sums(step, value)) is not None:
        return _grouped(step, flow, sums, sums.aggregates[0].type if sums.scalar else totals(sums.aggregates))
    endless = not flow.collection.bounded and not flow.collection.windowed
    return _grouped(step, flow, ReduceByKey(reducer_of(step, value, endless=endless)), value)


@rule(RULES, "aggregate_by_key")
def aggregate_by_key(step: Step, flow: Flow) -> Bound:
    """Named aggregates per key, or one without a name, which is the value itself."""
    found, scalar = _aggregates(step, flow)
    return _grouped(step, flow, AggregateByKey(found, scalar), found[0].type if scalar else totals(found))


@rule(RULES, "aggregate")
def aggregate(step: Step, flow: Flow) -> Bound:
    """Named aggregates of all records, or of each window; of no records at all most are null."""
    collection = flow.collection
    if not collection.bounded and not collection.windowed:
        hint = "key_by(...).aggregate_by_key(...) gives a table of them by key, window(...) those of each window."
        raise step.report(Code.ENDLESS_COUNT, "a stream that never ends has no totals", hint=hint)
    found, scalar = _aggregates(step, flow)
    if not collection.windowed:
        empty = (AGGREGATES[each.function].nothing is Nothing.VALUE or each.limit is not None for each in found)
        pairs = zip(found, empty, strict=True)
        found = tuple(each if known else replace(each, type=as_nullable(each.type)) for each, known in pairs)
    fields = (Field("value", found[0].type),) if scalar else totals(found).fields
    if collection.windowed and any(each.name == "window" for each in fields):
        raise step.report(Code.DECLARED_TWICE, 'the result has a field "window" already, the one of its window')
    element: Type = found[0].type if scalar else Struct(fields)
    element = Struct((*fields, Field("window", WINDOW))) if collection.windowed else element
    after = Collection(Shape.STREAM, element, collection.bounded, collection.windowed, collection.windowed)
    draft = step.add(AggregateByKey(found, scalar), after, (flow, Global()), keeps_state=True)
    return Flow(draft, after, regrouped=True)


def _aggregates(step: Step, flow: Flow) -> tuple[tuple[Aggregate, ...], bool]:
    """The aggregates as they are written, and whether it is a single one without a name."""
    names = [argument.name for argument in step.given.rest]
    scalar = names == [None]
    if not scalar and None in names:
        nameless = next(argument for argument in step.given.rest if argument.name is None)
        message = "one of several aggregates has no name"
        raise step.report(Code.BAD_AGGREGATE, message, nameless.value.span, hint="For example n = count().")
    for index, argument in enumerate(step.given.rest):
        if argument.name in names[:index]:
            raise step.report(Code.DECLARED_TWICE, f'aggregate "{argument.name}" is given twice', argument.span)
    over = Aggregated(flow.collection.aggregated, flow.collection.timed, step.scope, unordered(step, flow))
    return every(lambda given: aggregate_of(given.name or "value", given.value, over), step.given.rest), scalar


@rule(RULES, "group_by_key")
def group_by_key(step: Step, flow: Flow) -> Bound:
    """The values of a key as an ascending list."""
    value = flow.collection.pair[1]
    if not comparable(value):
        raise step.report(Code.NOT_COMPARABLE, f'a list of "{value}" has no order', hint="Maps cannot be compared.")
    return _grouped(step, flow, GroupByKey(), List(value))


@rule(RULES, "count")
def count(step: Step, flow: Flow) -> Bound:
    """The number of values per key, or of records."""
    collection = flow.collection
    if collection.shape is Shape.PAIRS:
        return _grouped(step, flow, Count(), Int())
    if not collection.bounded and not collection.windowed:
        hint = "key_by(...) before it gives a table of counts, window(...) a count per window."
        raise step.report(Code.ENDLESS_COUNT, "a stream that never ends has no count", hint=hint)
    element: Type = Struct((Field("value", Int()), Field("window", WINDOW))) if collection.windowed else Int()
    after = Collection(Shape.STREAM, element, collection.bounded, collection.windowed, collection.windowed)
    return Flow(step.add(Count(), after, (flow, Global()), keeps_state=True), after, regrouped=True)


@rule(RULES, "distinct")
def distinct(step: Step, flow: Flow) -> Bound:
    """Each different record once, or once in a while."""
    collection = flow.collection
    if not comparable(collection.element):
        message = f'records of "{collection.element}" cannot be compared'
        raise step.report(Code.NOT_COMPARABLE, message, hint="map(...) leaves their maps out.")
    if (ttl := step.given.duration("ttl", least=1)) is not None:
        return distinct_within(step, flow, ttl)
    after = replace(collection, timed=collection.windowed)
    return Flow(step.add(Distinct(), after, (flow, Hash(())), keeps_state=True), after, regrouped=True)


def totals(aggregates: tuple[Aggregate, ...]) -> Struct:
    """The record of aggregates by name."""
    return Struct(tuple(Field(each.name, each.type) for each in aggregates))


def _grouped(step: Step, flow: Flow, op: AggregateByKey | Count | GroupByKey | ReduceByKey, value: Type) -> Flow:
    """The result of a keyed aggregation: pairs, or a table where the unit lives on and the groups never close."""
    collection = flow.collection
    fields = [Field("key", flow.collection.pair[0]), Field("value", value)]
    fields += [Field("window", WINDOW)] if collection.windowed else []
    kept = not collection.bounded or id(step.written) in step.unit.named_nodes
    table = step.unit.lives_on and not collection.windowed and kept
    shape = Shape.TABLE if table else Shape.PAIRS
    windowed = collection.windowed
    after = Collection(shape, Struct(tuple(fields)), collection.bounded, windowed, windowed, collection.changing)
    draft = step.add(op, after, (flow, Hash(("key",))), keeps_state=True)
    return Flow(draft, after, regrouped=True)


_CLAIM = "If order does not matter, say so with @associative @commutative; otherwise say order = v => ... ."
_BOTH = "It takes both claims: @associative @commutative."


def reducer_of(step: Step, value: Type, *, endless: bool) -> Reducer:
    """The reducer of `reduce_by_key` over values of that type; `endless`: values of a key never cease to come."""
    function = attempt(_function, step, value)
    order = attempt(step.function, "order", value)
    if order is not None:
        _check_order(step, order, endless)
    if is_nullable(value):
        raise _report_nullable(step, f'the values are "{value}"')
    function = sound(function)
    proven = prove(function)
    if proven is not None:
        part = _nullable_part(proven)
        if part:
            raise _report_nullable(step, part)
        return proven
    claims = _claims(step)
    claimed = set(CLAIMS) <= set(claims)
    if not claimed and step.given.expr("order") is None:
        message = "this reducer may give another result in another order"
        detail = "What is proven is a + b of numbers, min, max, and, or, and tuples and records of these."
        hint = _BOTH if claims else _CLAIM
        raise step.report(Code.BAD_REDUCER, message, step.given.span("function"), detail=detail, hint=hint)
    return Custom(function, claimed, None if claimed else order)


def _wider_sums(step: Step, value: Type) -> AggregateByKey | None:
    """The aggregates that a reducer is which adds decimals, whose sums have more digits than they; None of others."""
    written = step.given.expr("function")
    if not isinstance(written, ast.Lambda) or step.given.expr("order") is not None or not _has_decimals(value):
        return None
    found = attempt(step.function, "function", value, value)
    if found is None:
        raise Reported
    if is_nullable(value) or accepts(value, found.body.type):
        return None
    parts = summed(found)
    return None if parts is None else AggregateByKey(parts, scalar=not isinstance(value, Struct))


def _has_decimals(value: Type) -> bool:
    parts = [each.type for each in value.fields] if isinstance(value, Struct) else [value]
    return any(isinstance(each, Decimal) for each in parts)


def _function(step: Step, value: Type) -> Lambda:
    function = step.function("function", value, value)
    body = convert(function.body, value)
    if body is None:
        message = f'a reducer makes one "{value}" of two, and this one makes "{function.body.type}"'
        hint = "aggregate_by_key(...) makes a value of another type." if not is_nullable(value) else ""
        raise step.report(Code.WRONG_TYPE, message, step.given.span("function"), hint=hint)
    return Lambda(function.parameters, body)


def _claims(step: Step) -> tuple[str, ...]:
    written = step.given.expr("function")
    claims = written.claims if isinstance(written, ast.Lambda) else ()
    for claim in claims:
        if claim not in CLAIMS:
            message = f'"@{claim}" claims nothing that is known'
            hint = "Claims are @associative @commutative."
            step.report(Code.BAD_REDUCER, message, step.given.span("function"), hint=hint)
    return claims


def _check_order(step: Step, order: Lambda, endless: bool) -> None:
    span, found = step.given.span("order"), None
    if endless:
        message = "values that come for ever cannot be reduced in order"
        found = step.report(Code.BAD_ORDER, message, span, hint="window(...) makes groups that end.")
    if not comparable(order.body.type):
        found = step.report(Code.NOT_COMPARABLE, f'"{order.body.type}" cannot be ordered', span)
    if found is not None:
        raise found


def _nullable_part(reducer: Reducer) -> str:
    """What may be null in a proven reducer; empty where nothing may."""
    match reducer:
        case Builtin(type=type_):
            return f'one of the values is "{type_}"' if is_nullable(type_) else ""
        case Fields(parts=parts):
            return next((found for part in parts if (found := _nullable_part(part))), "")
        case Custom():
            return ""


def _report_nullable(step: Step, what: str) -> Reported:
    message = "cannot reduce values that may be null"
    detail = f"{what[0].upper()}{what[1:]}."
    hint = "filter(...) or ?? takes the nulls out; aggregate_by_key(sum) skips them."
    return step.report(Code.MAY_BE_NULL, message, step.given.span("function"), detail=detail, hint=hint)


@rule(RULES, "sort")
def sort(step: Step, flow: Flow) -> Bound:
    """All records in order."""
    by, descending = order_of(step, flow.collection.element, descending=step.given.flag("descending"))
    return _ordered(step, flow, Sort(by, descending))


@rule(RULES, "top")
def top(step: Step, flow: Flow) -> Bound:
    """The first records of an order, the greatest unless told otherwise."""
    if not flow.collection.bounded and not flow.collection.windowed:
        hint = "window(...) before it gives the top of each window; what is read from a sink or a table ends."
        step.report(Code.NEEDS_BOUNDED, '"top" needs input that ends or is in windows, and this never ends', hint=hint)
        return flow
    element, ascending = flow.collection.element, step.given.flag("ascending")
    count, (by, descending) = both(
        lambda: step.of_unit("count", Int(), '"count" of "top"', least=1),
        lambda: order_of(step, element, descending=not ascending),
    )
    return replace(_ordered(step, flow, Top(count, by, descending)), open_window=False)


def _ordered(step: Step, flow: Flow, op: Sort | Top) -> Flow:
    draft = step.add(op, flow.collection, (flow, Global()), keeps_state=True)
    return Flow(draft, flow.collection, True, flow.open_window)
