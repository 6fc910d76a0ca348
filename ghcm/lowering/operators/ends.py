"""Ends: `to`, `publish`, `reply`; what a published call carries, checked against the called unit; circles of calls."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from ghcm.codes import Code
from ghcm.errors import Reported, attempt, both, every, suggest
from ghcm.expr import Expr
from ghcm.functions import comparable
from ghcm.language import ast
from ghcm.lowering.arguments import misspelt
from ghcm.lowering.context import Context
from ghcm.lowering.drafts import (
    IN_A_BATCH,
    RULES,
    Bound,
    Flow,
    Signature,
    SinkDraft,
    Step,
    ends_as_pairs,
    final,
    rule,
    unordered,
)
from ghcm.lowering.expressions.aggregates import Aggregated, aggregate_of, is_aggregate
from ghcm.lowering.expressions.functions import whole
from ghcm.lowering.expressions.records import fits
from ghcm.reducers import Aggregate
from ghcm.signatures import OF_MAPS
from ghcm.source import Span
from ghcm.spg.connectors import Mode, Redis
from ghcm.spg.graph import Global
from ghcm.spg.ops import CallTemplate, Policy, Publish, Reply, To
from ghcm.types import Duration, Int, Shape, Struct, Type, strip
from ghcm.unification import accepts


@rule(RULES, "to")
def to(step: Step, flow: Flow) -> Bound:
    """Writes to a sink; the collection goes on to `publish`."""
    name = attempt(sink_of, step)
    if name is None:
        return replace(flow, written=flow.draft)
    sink = step.unit.around.sinks[name]
    if sink is not None:
        _check_mode(step, flow, sink)
    step.unit.around.written(name, flow.collection.element, step.given.span("sink"))
    once = sink is not None and sink.mode is Mode.APPEND and ends_as_pairs(flow.collection)
    given = final(step, flow) if once else flow
    return replace(flow, written=step.row(To(name), given, given.collection))


@rule(RULES, "publish")
def publish(step: Step, flow: Flow) -> Bound:
    """Calls a unit by a policy."""
    with suppress(Reported):
        policy, call = both(lambda: _policy(step, flow), lambda: call_of(step, flow))
        draft = step.add(Publish(call, policy, None), flow.collection, (flow, Global()))
        draft.after = flow.written
    return replace(flow, ended=True)


@rule(RULES, "reply")
def reply(step: Step, flow: Flow) -> Bound:
    """The result of the call."""
    if not step.unit.declaration.responsive:
        message = f'"{step.unit.name}" is called by nobody, so that there is no one to reply to'
        hint = f'A unit that answers is written "responsive {step.unit.declaration.kind} {step.unit.name}".'
        step.report(Code.BAD_REPLY, message, hint=hint)
    elif step.unit.replies > 1:
        message = "a call is answered once, and this is a second reply"
        step.report(Code.BAD_REPLY, message, hint="union(...) joins them.")
    step.row(Reply(), flow, flow.collection)
    return replace(flow, ended=True)


def sink_of(step: Step) -> str:
    """The sink that `to` names."""
    sinks = step.unit.around.sinks
    match step.given.expr("sink"):
        case ast.Ref(name=name) if name in sinks:
            return name
        case ast.Ref(name=name, span=span):
            hint = step.context.hint_for(name, sinks)
            raise step.report(Code.UNKNOWN_NAME, f'there is no sink "{name}"', span, hint=hint)
        case _:  # no name
            hint = "sink x = ...(...) declares one, and to(x) writes to it."
            raise step.given.wrong("sink", "the name of a sink", hint=hint)


def behind_mistake(step: Step) -> None:
    """Check what still can be where the input of an operator is wrong: other collections, and the sink of `to`."""
    for argument in step.given.rest if step.name == "union" else ():
        attempt(step.evaluate, argument.value)
    other = step.given.expr("other")
    if step.name == "join" and other is not None:
        attempt(step.evaluate, other)
    name = attempt(sink_of, step) if step.name == "to" else None
    if name is not None:
        step.unit.around.written(name, None, step.given.span("sink"))


def _check_mode(step: Step, flow: Flow, sink: SinkDraft) -> None:
    span = step.given.span("sink")
    ends = ends_as_pairs(flow.collection)
    if flow.collection.shape is Shape.TABLE and sink.mode is not Mode.UPSERT and not ends:
        message = f'a table has one record per key, and sink "{sink.name}" has mode {sink.mode.value}'
        hint = "A sink of mode upsert keeps the latest record per key, changes() gives each change as a record."
        step.report(Code.TABLE_TO_SINK, message, span, hint=hint)
    elif flow.collection.changing and sink.mode is not Mode.UPSERT and not ends:
        message = f'records that may be taken back do not fit sink "{sink.name}", which has mode {sink.mode.value}'
        hint = "A sink of mode upsert loses what is taken back, changes() of a table gives each change as a record."
        step.report(Code.TABLE_TO_SINK, message, span, hint=hint)
    elif flow.collection.changing and isinstance(sink.connector, Redis) and sink.connector.form is not None:
        message = f'sink "{sink.name}" cannot lose records: it writes keys of form {sink.connector.form}'
        hint = "A sink of Redis without a form can, or changes() and a key of its own for what is gone."
        step.report(Code.TABLE_TO_SINK, message, span, hint=hint)
    elif sink.mode is Mode.REPLACE and step.unit.lives_on:
        message = f'a stream unit commits again and again, and each commit would replace all of sink "{sink.name}"'
        hint = "mode = append or mode = upsert keeps what was written before."
        step.report(Code.WRONG_MODE, message, span, hint=hint)


def _policy(step: Step, flow: Flow) -> Policy:
    given = step.given
    chosen = [name for name in ("every", "when", "on") if given.expr(name) is not None]
    if not chosen and given.dropped:
        raise Reported
    if len(chosen) != 1:
        says = "does not say when" if not chosen else f"says {' and '.join(chosen)} at once"
        hint = "One of every = 1000, every = 10s, when = r => ..., on = window_close, on = completion."
        raise step.report(Code.BAD_POLICY, f'"publish" {says}', hint=hint)
    at_end = given.flag("at_end")
    if at_end and chosen != ["every"]:
        step.report(Code.BAD_POLICY, '"at_end" sends what "every" has left over', given.span("at_end"))
    if chosen == ["when"]:
        return _throttled(step, flow, Policy(when=step.function("when", flow.collection.element, test=True)))
    for name in ("throttle", "key"):
        if given.expr(name) is not None:
            hint = "when = r => r.level > 3, throttle = 1m, key = r => r.host"
            step.report(Code.BAD_POLICY, f'"{name}" says how often "when" publishes', given.span(name), hint=hint)
    return _on_event(step, flow) if chosen == ["on"] else _every(step, at_end)


def _throttled(step: Step, flow: Flow, policy: Policy) -> Policy:
    """The policy with how often it publishes at most."""
    given = step.given
    throttle, span = given.duration("throttle", least=1), given.span("throttle")
    if throttle is None:
        if given.expr("key") is not None and not given.dropped:
            hint = "throttle = 1m publishes once in a minute for each key."
            step.report(Code.BAD_POLICY, '"key" says of what "throttle" counts the time', given.span("key"), hint=hint)
        return policy
    if not step.unit.lives_on:
        message = "a unit that ends has no time in which it publishes too often"
        raise step.report(Code.BAD_POLICY, message, span, detail=IN_A_BATCH, hint="A stream unit has.")
    if not flow.collection.timed:
        hint = "event_time(x => x.ts) near the source declares it."
        raise step.report(Code.NEEDS_TIME, '"throttle" needs event time, and these records have none', span, hint=hint)
    key = None if given.expr("key") is None else step.function("key", flow.collection.element)
    if key is not None and not comparable(key.body.type):
        message = f'"{key.body.type}" cannot be a key'
        raise step.report(Code.NOT_COMPARABLE, message, given.span("key"), hint=OF_MAPS)
    return replace(policy, throttle_us=throttle, key=key)


def _every(step: Step, at_end: bool) -> Policy:
    match step.given.expr("every"):
        case ast.Literal(value=int(value), type=Int() | Duration()) as written if value < 1:
            raise step.report(Code.OUT_OF_RANGE, '"every" of "publish" is less than 1', written.span)
        case ast.Literal(value=int(value), type=Int()):
            return Policy(every_records=value, at_end=at_end)
        case ast.Literal(value=int(value), type=Duration(), span=span):
            if step.unit.lives_on:
                return Policy(every_us=value, at_end=at_end)
            hint = "every = 1000 counts records, on = completion waits for the end."
            raise step.report(Code.BAD_POLICY, "a unit that ends has no clock to publish by", span, hint=hint)
        case _:  # anything else is neither
            raise step.given.wrong("every", "a number of records or a duration such as 10s")


def _on_event(step: Step, flow: Flow) -> Policy:
    event = step.given.choice("on", "")
    if not event:
        raise Reported
    span = step.given.span("on")
    if event == "window_close" and (not flow.collection.windowed or flow.open_window):
        hint = "on = window_close stands behind an aggregation in windows."
        raise step.report(Code.BAD_POLICY, "no window closes here", span, hint=hint)
    if event == "completion" and not flow.collection.bounded:
        message = "a stream that never ends does not complete"
        raise step.report(Code.BAD_POLICY, message, span, hint="every = 1000 counts records.")
    return Policy(on=event)


def call_of(step: Step, flow: Flow) -> CallTemplate:
    """The instruction that a policy sends, over the records of a collection."""
    signatures = step.unit.around.signatures
    match step.given.expr("call"):
        case ast.Apply(function=ast.Ref(name=name, span=span)) as written if name in signatures:
            signature = signatures[name]
        case ast.Apply(function=ast.Ref(name=name, span=span)):
            hint = step.context.hint_for(name, signatures)
            raise step.report(Code.NOT_CALLABLE, f'there is no unit "{name}" to call', span, hint=hint)
        case _:  # anything else is none
            raise step.given.wrong("call", "a call such as unit(parameter = ...)")
    if not signature.responsive:
        hint = 'A unit that can be called is declared "responsive".'
        raise step.report(Code.NOT_CALLABLE, f'unit "{name}" waits for no calls', span, hint=hint)
    step.unit.around.calls(step.unit.name, name, span)

    def argument(given: tuple[str, ast.Expr]) -> tuple[str, Aggregate | Expr]:
        parameter, expr = given
        return parameter, _argument(step, parameter, expr, signature.parameters[parameter], flow)

    return CallTemplate(name, every(argument, _given(step, name, signature, written).items()))


def check_cycles(calls: Iterable[tuple[str, str, Span | None]], context: Context) -> None:
    """Report every circle of calls once, at the call that closes it."""
    edges: dict[str, dict[str, Span | None]] = {}
    for caller, called, span in calls:
        edges.setdefault(caller, {}).setdefault(called, span)
    seen: set[str] = set()
    for start in edges:
        _walk(start, [], edges, seen, context)


def _walk(
    unit: str, path: list[str], edges: Mapping[str, Mapping[str, Span | None]], seen: set[str], context: Context
) -> None:
    if unit in path:
        circle = [*path[path.index(unit) :], unit]
        detail = f"It goes round: {' -> '.join(circle)}."
        hint = "Such calls never end; the unit that starts the work can call each of them."
        context.report(Code.CYCLE, "units call each other in a circle", edges[path[-1]][unit], detail=detail, hint=hint)
        return
    if unit in seen:
        return
    for called in edges.get(unit, {}):
        _walk(called, [*path, unit], edges, seen, context)
    seen.add(unit)


def _given(step: Step, name: str, signature: Signature, written: ast.Apply) -> dict[str, ast.Expr]:
    """The arguments by parameter, in the order of the parameters; wrong ones reported and left out."""
    free = list(signature.parameters)
    given: dict[str, ast.Expr] = {}
    for argument in written.arguments:
        span = argument.span or argument.value.span
        parameter = argument.name or (free[0] if free else "")
        if parameter not in signature.parameters:
            takes = ", ".join(signature.parameters)
            message = (
                f'unit "{name}" has no parameter "{parameter}"' if parameter else f'unit "{name}" takes fewer arguments'
            )
            detail = f"It takes {takes}." if takes else "It takes none."
            hint = suggest(parameter, signature.parameters)
            step.report(Code.CALL_ARGUMENT_UNKNOWN, message, span, detail=detail, hint=hint)
        elif parameter in given:
            step.report(Code.CALL_ARGUMENT_UNKNOWN, f'parameter "{parameter}" is given twice', span)
        else:
            given[parameter] = argument.value
            free.remove(parameter)
    missing = [each for each in signature.parameters if each not in given and each not in signature.optional]
    reported = misspelt([each.name or "" for each in written.arguments], missing)
    missing = [each for each in missing if each not in reported]
    if missing:
        names = ", ".join(f'"{each}"' for each in missing)
        step.report(Code.CALL_ARGUMENT_MISSING, f'the call of "{name}" lacks {names}', written.span)
    return {parameter: given[parameter] for parameter in signature.parameters if parameter in given}


def _argument(step: Step, parameter: str, written: ast.Expr, wanted: Type | None, flow: Flow) -> Aggregate | Expr:
    what, collection = f'parameter "{parameter}"', flow.collection
    if is_aggregate(written, step.context.aggregates):
        over = Aggregated(collection.element, collection.timed, step.scope, unordered(step, flow))
        aggregate = aggregate_of(parameter, written, over)
        if wanted is None:
            raise Reported
        if accepts(wanted, aggregate.type):
            return aggregate
        message = f'{what} is "{wanted}", but this is "{aggregate.type}"'
        hint = "filter(...) or ?? takes the nulls out." if accepts(wanted, strip(aggregate.type)) else ""
        raise step.report(Code.CALL_ARGUMENT_TYPE, message, written.span, hint=hint)
    column = _column(written, step, collection.element)
    if column:
        message = f'"{column}" has a value in each record, and the call carries one'
        hint = f"An aggregate makes one of them, for example max({column})."
        raise step.report(Code.BAD_AGGREGATE, message, written.span, hint=hint)
    made = whole(written, step.scope, what)
    if wanted is None:
        raise Reported
    return fits(made, wanted, what, written.span, step.context, Code.CALL_ARGUMENT_TYPE)


def _column(written: ast.Expr, step: Step, element: Type) -> str:
    """The column that an argument means, written `bytes`, or `f.bytes` as in a lambda; "" if it means none."""
    names = element.names if isinstance(element, Struct) else ()
    match written:
        case ast.Ref(name=name) if name not in step.scope.parameters:
            pass
        case ast.Attribute(of=ast.Ref(name=of), name=name) if of not in step.scope.parameters:
            pass
        case ast.Lambda(body=ast.Attribute(of=ast.Ref(), name=name)):
            pass
        case ast.Lambda(body=ast.Index(of=ast.Ref(), index=ast.Literal(value=str(name)))):
            pass
        case _:  # any other expression means no column
            return ""
    return name if name in names else ""
