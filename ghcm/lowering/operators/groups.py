"""Groups: what makes one record of many, per key and window, and what puts all records in order.

`aggregate(by = ...)` is written out as pairs, their aggregation and a map that puts key and aggregates beside each
other. A reducer is proved, claimed, or ordered; anything else would give what the order of processing gives.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ghcm.aggregates import AGGREGATES, Nothing
from ghcm.codes import Code
from ghcm.errors import Reported, attempt, both, every, sound
from ghcm.expr import Expr, Get, Lambda, MakeStruct, Var
from ghcm.functions import comparable
from ghcm.language import ast
from ghcm.language.literals import CLAIMS
from ghcm.lowering.drafts import RULES, Bound, Flow, Step, rule, unordered
from ghcm.lowering.expressions.aggregates import Aggregated, aggregate_of
from ghcm.lowering.expressions.conversion import convert
from ghcm.lowering.operators.orders import order_of
from ghcm.lowering.operators.rows import check_key
from ghcm.lowering.operators.sequences import distinct_within
from ghcm.lowering.operators.tables import ttl_of
from ghcm.lowering.operators.times import put_into
from ghcm.reducers import Aggregate, Builtin, Custom, Fields, Reducer, prove, summed
from ghcm.signatures import OF_MAPS
from ghcm.spg.graph import Global, Hash
from ghcm.spg.ops import (
    AggregateByKey,
    Count,
    Distinct,
    Forgetting,
    GroupByKey,
    GroupOp,
    Map,
    MapToPair,
    ReduceByKey,
    Sessions,
    Sort,
    Top,
    Window,
)
from ghcm.types import (
    WINDOW,
    Collection,
    Decimal,
    Field,
    Int,
    List,
    Shape,
    Struct,
    Type,
    as_nullable,
    is_nullable,
    pair_of,
)
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
    if step.given.expr("by") is not None:
        return _aggregated_by(step, flow)
    found, scalar = _aggregates(step, flow)
    if not collection.windowed:
        sure = (Nothing.VALUE, Nothing.START)
        empty = (AGGREGATES[each.function].nothing in sure or each.limit is not None for each in found)
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


def _aggregated_by(step: Step, flow: Flow) -> Flow:
    """A record for each group, and in windows for each of these: the columns of `by`, the aggregates, the window."""
    before, windows = _before_window(step, flow) if flow.collection.windowed else (flow, None)
    collection = before.collection
    by = step.function("by", collection.element)
    columns = _columns_of(step, by.body)
    for part in columns.values():
        check_key(step, part.type, "by")
    types = tuple(Field(name, each.type) for name, each in columns.items())
    (only,) = columns.values() if len(columns) == 1 else (None,)
    key = only or MakeStruct(tuple(columns.values()), Struct(types))
    pair = Struct((Field("_1", key.type), Field("_2", collection.element)))
    paired = Lambda(by.parameters, MakeStruct((key, by.parameters[0]), pair))
    after = replace(collection, shape=Shape.PAIRS, element=pair_of(key.type, collection.element))
    keyed = Flow(step.row(MapToPair(paired), before, after), after, before.regrouped)
    if windows is not None:
        keyed = put_into(step, keyed, windows)
    found, scalar = _aggregates(step, keyed)
    if scalar:
        message, hint = 'with "by" an aggregate has a name', "For example by = r => r.id, n = count()."
        raise step.report(Code.BAD_AGGREGATE, message, step.given.rest[0].value.span, hint=hint)
    for each, argument in zip(found, step.given.rest, strict=True):
        if each.name in columns or (windows is not None and each.name == "window"):
            what = "the window is" if each.name == "window" else '"by" has'
            raise step.report(Code.DECLARED_TWICE, f'"{each.name}" is what {what}, too', argument.span)
    grouped = _grouped(step, keyed, AggregateByKey(found, False), totals(found), lasting=False)
    return _side_by_side(step, grouped, types, whole=only is None)


def _side_by_side(step: Step, grouped: Flow, columns: tuple[Field, ...], *, whole: bool) -> Flow:
    """The key and the aggregates of each pair as one record; `whole`: the key is a record of these columns."""
    pair = Var("group", grouped.collection.element)
    assert isinstance(pair.type, Struct), "pairs are records"
    key, value, *window = (Get(pair, each.name, each.type) for each in pair.type.fields)
    of_key = [Get(key, each.name, each.type) if whole else key for each in columns]
    assert isinstance(value.type, Struct), "aggregates with names are a record"
    of_value = [Get(value, each.name, each.type) for each in value.type.fields]
    record = Struct((*columns, *value.type.fields, *(Field("window", each.type) for each in window)))
    made = Lambda((pair,), MakeStruct((*of_key, *of_value, *window), record))
    after = replace(grouped.collection, shape=Shape.STREAM, element=record, windowed=False)
    return replace(grouped, draft=step.row(Map(made), grouped, after), collection=after)


_POSITION = re.compile(r"_\d+")
"""What a part of a tuple is called."""


def _columns_of(step: Step, body: Expr) -> dict[str, Expr]:
    """The columns that `by` makes, by name: a field, the fields in a tuple, or those of a record."""
    columns = list(_parts_of(body))
    names = [name for name, _ in columns]
    for index, name in enumerate(names):
        if not name or _POSITION.fullmatch(name):
            message = 'each part of "by" is a column of the result, and this one has no name'
            hint = "A field has one, and so have those of a record, such as { year: year(r.at), id: r.id }."
            raise step.report(Code.BAD_AGGREGATE, message, step.given.span("by"), hint=hint)
        if name in names[:index]:
            hint = f"A record gives others, such as {{ {name}: r.{name}, other: r.other.{name} }}."
            message = f'two parts of "by" are called "{name}"'
            raise step.report(Code.FIELD_TWICE, message, step.given.span("by"), hint=hint)
    return dict(columns)


def _parts_of(body: Expr) -> Iterator[tuple[str, Expr]]:
    type_ = body.type
    if isinstance(body, Get) or not isinstance(type_, Struct):
        parts: Sequence[Expr] = [body]
    elif isinstance(body, MakeStruct):
        parts = body.values
    else:
        parts = [Get(body, each.name, each.type) for each in type_.fields]
    if isinstance(body, MakeStruct) and isinstance(type_, Struct) and not _POSITION.fullmatch(type_.names[0]):
        yield from zip(type_.names, parts, strict=True)
    else:
        yield from ((each.field if isinstance(each, Get) else "", each) for each in parts)


def _before_window(step: Step, flow: Flow) -> tuple[Flow, Sessions | Window]:
    """What has just been put into windows, as pairs of it will be, and these; that it was is taken back where nobody
    else has it.
    """
    op = flow.draft.op
    if not flow.open_window or not isinstance(op, Sessions | Window):
        hint = "window(...) belongs right before aggregate(by = ...)."
        raise step.report(Code.BAD_WINDOW, "these are no records that were just put into windows", hint=hint)
    ((producer, _),) = flow.draft.inputs
    if step.unit.drafts[-1] is flow.draft:
        step.unit.drafts.pop()
    return Flow(producer, producer.collection, flow.regrouped), op


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
    taken = flow.collection
    endless = not taken.bounded and not taken.windowed
    over = Aggregated(taken.aggregated, taken.timed, step.scope, unordered(step, flow), endless=endless)
    return every(lambda given: aggregate_of(given.name or "value", given.value, over), step.given.rest), scalar


@rule(RULES, "group_by_key")
def group_by_key(step: Step, flow: Flow) -> Bound:
    """The values of a key as an ascending list."""
    value = flow.collection.pair[1]
    if not comparable(value):
        raise step.report(Code.NOT_COMPARABLE, f'a list of "{value}" has no order', hint=OF_MAPS)
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
    if (span := step.given.span("ttl")) is not None:
        raise step.report(Code.WRONG_SHAPE, '"ttl" forgets keys, and a stream has none', span)
    element: Type = Struct((Field("value", Int()), Field("window", WINDOW))) if collection.windowed else Int()
    after = Collection(Shape.STREAM, element, collection.bounded, collection.windowed, collection.windowed)
    return Flow(step.add(Count(), after, (flow, Global()), keeps_state=True), after, regrouped=True)


@rule(RULES, "distinct")
def distinct(step: Step, flow: Flow) -> Bound:
    """Each different record once, or once in a while."""
    collection = flow.collection
    if not comparable(collection.element):
        message = f'records of "{collection.element}" cannot be compared'
        raise step.report(Code.NOT_COMPARABLE, message, hint=OF_MAPS)
    if (ttl := step.given.duration("ttl", least=1)) is not None:
        return distinct_within(step, flow, ttl)
    after = replace(collection, timed=collection.windowed)
    return Flow(step.add(Distinct(), after, (flow, Hash(())), keeps_state=True), after, regrouped=True)


def totals(aggregates: tuple[Aggregate, ...]) -> Struct:
    """The record of aggregates by name."""
    return Struct(tuple(Field(each.name, each.type) for each in aggregates))


def _grouped(step: Step, flow: Flow, op: GroupOp, value: Type, *, lasting: bool = True) -> Flow:
    """The result of a keyed aggregation: pairs, or, if it is `lasting`, a table where the unit lives on and the groups
    never close.
    """
    collection = flow.collection
    fields = [Field("key", flow.collection.pair[0]), Field("value", value)]
    fields += [Field("window", WINDOW)] if collection.windowed else []
    kept = not collection.bounded or id(step.written) in step.unit.named_nodes
    table = lasting and step.unit.lives_on and not collection.windowed and kept
    shape = Shape.TABLE if table else Shape.PAIRS
    windowed = collection.windowed
    after = Collection(shape, Struct(tuple(fields)), collection.bounded, windowed, windowed, collection.changing)
    ttl = ttl_of(step, collection) if lasting else None
    made = op if ttl is None else Forgetting(op, ttl)
    after = after if ttl is None else replace(after, changing=table)
    draft = step.add(made, after, (flow, Hash(("key",))), keeps_state=True)
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
