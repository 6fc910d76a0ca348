"""Tables: those of the newest records, and the changes of any as records that stay."""

from ghcm.codes import Code
from ghcm.errors import attempt, sound
from ghcm.expr import Expr, Lambda, MakeStruct, Var, substitute
from ghcm.functions import comparable
from ghcm.lowering.drafts import RULES, Bound, Flow, Step, rule
from ghcm.lowering.operators.rows import check_key
from ghcm.signatures import OF_MAPS
from ghcm.spg.graph import Hash
from ghcm.spg.ops import Changes, Latest, MapToPair, MapValues
from ghcm.types import Collection, Field, Shape, Struct, Type, as_nullable, pair_of, tuple_of


@rule(RULES, "latest")
def latest(step: Step, flow: Flow) -> Bound:
    """The newest record of each key, by an order or as they come."""
    collection, by_key = flow.collection, step.given.expr("key") is not None
    if collection.windowed:
        hint = "aggregate_by_key(last(value)) gives the last one of each window."
        raise step.report(Code.WRONG_SHAPE, "the newest records are of records in no windows", hint=hint)
    if not by_key and collection.shape is Shape.STREAM:
        hint = "latest(key = r => r.id) says of what the newest record is kept."
        raise step.report(Code.ARGUMENT_MISSING, '"latest" of a stream needs a key', hint=hint)
    element = collection.element if by_key else collection.pair[1]
    key = attempt(step.function, "key", element) if by_key else None
    order, deleted = attempt(_order, step, element), attempt(_deleted, step, element)
    record = Var("r", element)
    functions = {"order": order, "record": Lambda((record,), record), "deleted": deleted}
    parts = {name: _over(record, function) for name, function in functions.items() if function is not None}
    value = MakeStruct(tuple(parts.values()), Struct(tuple(Field(name, each.type) for name, each in parts.items())))
    if not by_key:
        return _table(step, _with_values(step, flow, Lambda((record,), value)), element)
    key = sound(key)
    check_key(step, key.body.type, "key")
    whole = _over(record, key)
    pair = MakeStruct((whole, value), tuple_of(whole.type, value.type))
    keyed = Collection(Shape.PAIRS, pair_of(whole.type, value.type), collection.bounded, collection.timed)
    draft = step.row(MapToPair(Lambda((record,), pair)), flow, keyed)
    return _table(step, Flow(draft, keyed, flow.regrouped), element)


def _with_values(step: Step, flow: Flow, function: Lambda) -> Flow:
    """The pairs with what the function makes of their values."""
    element = pair_of(flow.collection.pair[0], function.body.type)
    after = Collection(Shape.PAIRS, element, flow.collection.bounded, flow.collection.timed)
    return Flow(step.row(MapValues(function), flow, after), after, flow.regrouped)


def _over(record: Var, function: Lambda) -> Expr:
    """What the function makes of the record."""
    (parameter,) = function.parameters
    return substitute(function.body, {parameter.name: record})


def _deleted(step: Step, element: Type) -> Lambda | None:
    return step.function("deleted", element, test=True) if step.given.expr("deleted") is not None else None


def _order(step: Step, element: Type) -> Lambda | None:
    """By what a record is newer than another; None for the order in which they come, which only a stream has."""
    if step.given.expr("order") is None:
        if not step.unit.lives_on:
            hint = "latest(..., order = r => r.at) says which record is the newest."
            raise step.report(Code.BAD_ORDER, "records that are read from a place come in no order", hint=hint)
        return None
    order = step.function("order", element)
    for type_, what in ((order.body.type, "order"), (element, "key")):
        if not comparable(type_):
            detail = "Of several records with one order the greatest is taken." if what == "key" else ""
            message, span = f'"{type_}" has no order', step.given.span("order")
            raise step.report(Code.NOT_COMPARABLE, message, span, detail=detail, hint=OF_MAPS)
    return order


def _table(step: Step, flow: Flow, element: Type) -> Flow:
    """The newest of the prepared pairs: a table where the unit lives on, else pairs."""
    bounded = flow.collection.bounded
    table = step.unit.lives_on and (not bounded or id(step.written) in step.unit.named_nodes)
    shape = Shape.TABLE if table else Shape.PAIRS
    after = Collection(shape, pair_of(flow.collection.pair[0], element), bounded, changing=table)
    op = Latest(ttl_of(step, flow.collection))
    return Flow(step.add(op, after, (flow, Hash(("key",))), keeps_state=True), after, regrouped=True)


def ttl_of(step: Step, takes: Collection) -> int | None:
    """After how long a silence a key is forgotten; None: never."""
    ttl, span = step.given.duration("ttl", least=1), step.given.span("ttl")
    if ttl is None:
        return None
    if takes.windowed or takes.changing:
        why = "groups in windows end with these" if takes.windowed else "a table of a table loses keys with it"
        raise step.report(Code.WRONG_SHAPE, f'"ttl" forgets keys of records that come and stay: {why}', span)
    if not step.unit.lives_on:
        detail = "All of its input is there before it begins, and its tables end with it."
        hint = "filter(r => r.at >= since) leaves out what is old."
        raise step.report(Code.NEVER, "a batch unit forgets no keys", span, detail=detail, hint=hint)
    if not takes.timed:
        hint = "event_time(x => x.ts) near the source declares it."
        raise step.report(Code.NEEDS_TIME, '"ttl" needs event time, and these records have none', span, hint=hint)
    return ttl


@rule(RULES, "changes")
def changes(step: Step, flow: Flow) -> Bound:
    """The pairs of a table as records, as its values change; null for a key that the table has lost."""
    key, value = flow.collection.pair
    element = pair_of(key, as_nullable(value) if flow.collection.changing else value)
    after = Collection(Shape.PAIRS, element, flow.collection.bounded)
    return Flow(step.add(Changes(), after, (flow, Hash(("key",))), keeps_state=True), after, regrouped=True)
