"""What goes through the values of a key in an order: of event time, or that in which they come."""

from dataclasses import replace

from ghcm.codes import Code
from ghcm.errors import attempt, sound
from ghcm.expr import Expr, Get, Lambda, MakeStruct, Var
from ghcm.functions import comparable
from ghcm.lowering.drafts import RULES, Bound, Flow, Step, rule, unordered
from ghcm.lowering.expressions.functions import whole
from ghcm.lowering.expressions.parts import folding
from ghcm.lowering.operators.lookups import record_of
from ghcm.lowering.operators.rows import python_function
from ghcm.signatures import OF_MAPS
from ghcm.spg.graph import Hash
from ghcm.spg.ops import KeyBy, Map, MapToPair
from ghcm.spg.sequences import Absent, Chunks, Preceding, Present, Process, Scan
from ghcm.types import List, Shape, Type, before_silence, beside_others, is_nullable, pair_of, tuple_of


@rule(RULES, "preceding")
def preceding(step: Step, flow: Flow) -> Bound:
    """Each value with those before it of its key."""
    count = step.given.integer("count", least=1)
    value = _value_in_time_order(step, flow)
    return _in_time_order(step, flow, Preceding(sound(count), _ttl(step)), beside_others(value))


@rule(RULES, "absent")
def absent(step: Step, flow: Flow) -> Bound:
    """The last value before each silence of a key."""
    after = step.given.duration("after", least=1)
    value = _value_in_time_order(step, flow)
    return _in_time_order(step, flow, Absent(sound(after)), before_silence(value))


@rule(RULES, "present")
def present(step: Step, flow: Flow) -> Bound:
    """The first value behind each silence of a key."""
    after = step.given.duration("after", least=1)
    value = _value_in_time_order(step, flow)
    return _in_time_order(step, flow, Present(sound(after)), value)


def distinct_within(step: Step, flow: Flow, ttl_us: int) -> Flow:
    """Each different record once until it was not heard of for so long: the first of those that are present."""
    takes, record = flow.collection, Var("r", flow.collection.element)
    _check_time(step, flow)
    keyed = replace(takes, shape=Shape.PAIRS, element=pair_of(record.type, record.type))
    pairs = Flow(step.row(KeyBy(Lambda((record,), record)), flow, keyed), keyed, flow.regrouped)
    found = _in_time_order(step, pairs, Present(ttl_us), record.type)
    pair = Var("p", keyed.element)
    value: Expr = Get(pair, "value", record.type)
    if takes.shape is Shape.STREAM:
        return replace(found, draft=step.row(Map(Lambda((pair,), value)), found, takes), collection=takes)
    parts = [Get(value, name, type_) for name, type_ in zip(("key", "value"), takes.pair, strict=True)]
    made = MapToPair(Lambda((pair,), MakeStruct(tuple(parts), tuple_of(*takes.pair))))
    return replace(found, draft=step.row(made, found, takes), collection=takes)


@rule(RULES, "scan")
def scan(step: Step, flow: Flow) -> Bound:
    """What a function makes of the values of a key so far, for each of them."""
    value, name = _value_in_time_order(step, flow), "scan"
    first = whole(step.given.required("first"), step.scope, f'"first" of "{name}"')
    start, function = folding(name, first, step.given.required("function"), value, step.scope)
    return _in_time_order(step, flow, Scan(start, function, _ttl(step)), function.body.type)


@rule(RULES, "process")
def process(step: Step, flow: Flow) -> Bound:
    """What a user's function makes of the values of a key and what it keeps of it, and at the moments that it names."""
    state = attempt(record_of, step, "state")
    module, function, type_ = python_function(step, 'process("module:function", state = Record) : Type')
    value = _value_in_time_order(step, flow)
    if is_nullable(value):
        message = f'a value that "process" takes is never null, and this is "{value}"'
        detail = "The function is called with null in its place at the moments that it has named."
        hint = "filter(p => p.value is not null), or map_values(...) to a record that holds it."
        raise step.report(Code.WRONG_TYPE, message, detail=detail, hint=hint)
    return _in_time_order(step, flow, Process(module, function, sound(state)), type_)


@rule(RULES, "chunks")
def chunks(step: Step, flow: Flow) -> Bound:
    """The values of a key, so many at a time, in the order in which they come."""
    count, takes = step.given.integer("count", least=1), flow.collection
    _in_no_windows(step, flow)
    if step.unit.declaration.kind == "stream" and (why := unordered(step, flow)):  # the table says it of batch units
        message = '"chunks" needs records that come one after the other'
        hint = "preceding(n) goes by event time: it gives each value with the n before it."
        raise step.report(Code.BAD_ORDER, message, detail=why, hint=hint)
    after = replace(takes, element=pair_of(takes.pair[0], List(takes.pair[1])), timed=False)
    return Flow(step.add(Chunks(sound(count)), after, (flow, Hash(("key",))), keeps_state=True), after, regrouped=True)


def _ttl(step: Step) -> int | None:
    """After how long a silence a key is forgotten; None: never."""
    return step.given.duration("ttl", least=1)


def _check_time(step: Step, flow: Flow) -> None:
    _in_no_windows(step, flow)
    if not flow.collection.timed:
        hint = "event_time(x => x.ts) near the source declares it."
        raise step.report(Code.NEEDS_TIME, f'"{step.name}" needs event time, and these records have none', hint=hint)


def _in_no_windows(step: Step, flow: Flow) -> None:
    if flow.collection.windowed:
        hint = f"{step.name}(...) stands before window(...)."
        raise step.report(Code.BAD_WINDOW, "the records are in windows already", hint=hint)


def _value_in_time_order(step: Step, flow: Flow) -> Type:
    """The type of the values of pairs that can be put in the order of event time."""
    value = flow.collection.pair[1]
    _check_time(step, flow)
    if not comparable(value):
        message = f'"{value}" has no order, which equal times need'
        raise step.report(Code.NOT_COMPARABLE, message, hint=OF_MAPS)
    return value


def _in_time_order(step: Step, flow: Flow, op: Preceding | Absent | Present | Scan | Process, value: Type) -> Flow:
    """Pairs with those values, of records that are brought in order."""
    after = replace(flow.collection, element=pair_of(flow.collection.pair[0], value))
    draft = step.add(op, after, (flow, Hash(("key",))), keeps_state=True)
    return Flow(draft, after, regrouped=True)
