"""Ends: `to`, `publish`, `reply`; what a published call carries, checked against the called unit; circles of calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.expr import Expr
from ghcm.language import ast
from ghcm.lowering.arguments import misspelt
from ghcm.lowering.context import Context
from ghcm.lowering.drafts import RULES, Bound, Flow, Signature, SinkDraft, Step, ends_as_pairs, final, rule
from ghcm.lowering.expressions.aggregates import Aggregated, aggregate_of, is_aggregate
from ghcm.lowering.expressions.records import fits
from ghcm.lowering.expressions.typed import typed
from ghcm.reducers import Aggregate
from ghcm.source import Span
from ghcm.spg.connectors import Mode
from ghcm.spg.graph import Forward, Global
from ghcm.spg.ops import CallTemplate, Policy, Publish, Reply, To
from ghcm.types import Collection, Duration, Int, Shape, Struct, Type, strip
from ghcm.types.unification import accepts

_EVENTS = ("window_close", "completion")


@rule(RULES, "to")
def to(step: Step, flow: Flow) -> Bound:
    """Writes to a sink; the collection goes on to `publish`."""
    name = sink_of(step)
    if name is None:
        return replace(flow, written=flow.draft)
    sink = step.unit.around.sinks[name]
    if sink is not None:
        _check_mode(step, flow, sink)
    element = flow.collection.element
    step.unit.around.written(name, element, step.given.span("sink"))
    once = sink is not None and sink.mode is Mode.APPEND and ends_as_pairs(flow.collection)
    given = final(step, flow) if once else flow
    draft = step.add(To(name), given.collection, (given, Forward()))
    return replace(flow, written=draft)


@rule(RULES, "publish")
def publish(step: Step, flow: Flow) -> Bound:
    """Calls a unit by a policy."""
    policy = _policy(step, flow)
    call = call_of(step, flow.collection)
    if policy is None or call is None:
        return replace(flow, ended=True)
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
    step.add(Reply(), flow.collection, (flow, Forward()))
    return replace(flow, ended=True)


def sink_of(step: Step) -> str | None:
    """The sink that `to` names, or None after a report."""
    written = step.given.expr("sink")
    sinks = step.unit.around.sinks
    match written:
        case ast.Ref(name=name) if name in sinks:
            return name
        case ast.Ref(name=name, span=span):
            kind = step.context.kinds.get(name, "")
            hint = f'"{name}" is a {kind}.' if kind else suggest(name, sinks)
            return step.report(Code.UNKNOWN_NAME, f'there is no sink "{name}"', span, hint=hint)
        case _:  # no name
            hint = "sink x = ...(...) declares one, and to(x) writes to it."
            return step.given.wrong("sink", "the name of a sink", hint=hint)


def behind_mistake(step: Step) -> None:
    """Check what still can be where the input of an operator is wrong: other collections, and the sink of `to`."""
    for argument in step.given.rest if step.name == "union" else ():
        step.evaluate(argument.value)
    other = step.given.expr("other")
    if step.name == "join" and other is not None:
        step.evaluate(other)
    if step.name == "to":
        name = sink_of(step)
        if name is not None:
            step.unit.around.written(name, None, step.given.span("sink"))


def _check_mode(step: Step, flow: Flow, sink: SinkDraft) -> None:
    span = step.given.span("sink")
    ends = ends_as_pairs(flow.collection)
    if flow.collection.shape is Shape.TABLE and sink.mode is not Mode.UPSERT and not ends:
        message = f'a table has one record per key, and sink "{sink.name}" has mode {sink.mode.value}'
        hint = "A sink of mode upsert keeps the latest record per key, changes() gives each change as a record."
        step.report(Code.TABLE_TO_SINK, message, span, hint=hint)
    elif sink.mode is Mode.REPLACE and step.unit.lives_on:
        message = f'a stream unit commits again and again, and each commit would replace all of sink "{sink.name}"'
        hint = "mode = append or mode = upsert keeps what was written before."
        step.report(Code.WRONG_MODE, message, span, hint=hint)


def _policy(step: Step, flow: Flow) -> Policy | None:
    given = step.given
    chosen = [name for name in ("every", "when", "on") if given.expr(name) is not None]
    if not chosen and given.dropped:
        return None
    if len(chosen) != 1:
        says = "does not say when" if not chosen else f"says {' and '.join(chosen)} at once"
        hint = "One of every = 1000, every = 10s, when = r => ..., on = window_close, on = completion."
        return step.report(Code.BAD_POLICY, f'"publish" {says}', hint=hint)
    at_end = given.flag("at_end", False)
    if at_end and chosen != ["every"]:
        step.report(Code.BAD_POLICY, '"at_end" sends what "every" has left over', given.span("at_end"))
    if chosen == ["when"]:
        when = step.function("when", flow.collection.element, test=True)
        return None if when is None else Policy(when=when)
    if chosen == ["on"]:
        return _on_event(step, flow)
    return _every(step, at_end)


def _every(step: Step, at_end: bool) -> Policy | None:
    match step.given.expr("every"):
        case ast.Literal(value=int(value), type=Int() | Duration()) as written if value < 1:
            return step.report(Code.OUT_OF_RANGE, '"every" of "publish" is less than 1', written.span)
        case ast.Literal(value=int(value), type=Int()):
            return Policy(every_records=value, at_end=at_end)
        case ast.Literal(value=int(value), type=Duration(), span=span):
            if step.unit.lives_on:
                return Policy(every_us=value, at_end=at_end)
            hint = "every = 1000 counts records, on = completion waits for the end."
            return step.report(Code.BAD_POLICY, "a unit that ends has no clock to publish by", span, hint=hint)
        case _:  # anything else is neither
            return step.given.wrong("every", "a number of records or a duration such as 10s")


def _on_event(step: Step, flow: Flow) -> Policy | None:
    event = step.given.choice("on", _EVENTS, "")
    if event == "window_close" and (not flow.collection.windowed or flow.open_window):
        hint = "on = window_close stands behind an aggregation in windows."
        return step.report(Code.BAD_POLICY, "no window closes here", step.given.span("on"), hint=hint)
    if event == "completion" and not flow.collection.bounded:
        message = "a stream that never ends does not complete"
        return step.report(Code.BAD_POLICY, message, step.given.span("on"), hint="every = 1000 counts records.")
    return Policy(on=event) if event else None


def call_of(step: Step, collection: Collection) -> CallTemplate | None:
    """The instruction that a policy sends, over the records of a collection; None after a report."""
    written = step.given.expr("call")
    signatures = step.unit.around.signatures
    match written:
        case ast.Apply(function=ast.Ref(name=name)) if name in signatures:
            signature = signatures[name]
        case ast.Apply(function=ast.Ref(name=name, span=span)):
            kind = step.context.kinds.get(name, "")
            hint = f'"{name}" is a {kind}.' if kind else suggest(name, signatures)
            return step.report(Code.NOT_CALLABLE, f'there is no unit "{name}" to call', span, hint=hint)
        case _:  # anything else is none
            return step.given.wrong("call", "a call such as unit(parameter = ...)")
    if not signature.responsive:
        hint = 'A unit that can be called is declared "responsive".'
        return step.report(Code.NOT_CALLABLE, f'unit "{name}" waits for no calls', written.function.span, hint=hint)
    step.unit.around.calls(step.unit.name, name, written.function.span)
    given = _given(step, name, signature, written)
    arguments: list[tuple[str, Aggregate | Expr]] = []
    for parameter, argument in given.items():
        made = _argument(step, parameter, argument, signature.parameters[parameter], collection)
        if made is not None:
            arguments.append((parameter, made))
    return CallTemplate(name, tuple(arguments)) if len(arguments) == len(given) else None


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


def _argument(
    step: Step, parameter: str, written: ast.Expr, wanted: Type | None, collection: Collection
) -> Aggregate | Expr | None:
    what = f'parameter "{parameter}"'
    if is_aggregate(written):
        over = Aggregated(collection.element, collection.timed, step.unit.scope, step.context)
        aggregate = aggregate_of(parameter, written, over)
        if aggregate is None or wanted is None:
            return None
        if accepts(wanted, aggregate.type):
            return aggregate
        message = f'{what} is "{wanted}", but this is "{aggregate.type}"'
        hint = "filter(...) or ?? takes the nulls out." if accepts(wanted, strip(aggregate.type)) else ""
        return step.report(Code.CALL_ARGUMENT_TYPE, message, written.span, hint=hint)
    column = _column(written, step, collection.element)
    if column:
        message = f'"{column}" has a value in each record, and the call carries one'
        hint = f"An aggregate makes one of them, for example max({column})."
        return step.report(Code.BAD_AGGREGATE, message, written.span, hint=hint)
    made = typed(written, step.unit.values, step.context)
    if made is None or wanted is None:
        return None
    return fits(made, wanted, what, written.span, step.context, Code.CALL_ARGUMENT_TYPE)


def _column(written: ast.Expr, step: Step, element: Type) -> str:
    """The column that an argument means, written `bytes`, or `f.bytes` as in a lambda; "" if it means none."""
    names = element.names if isinstance(element, Struct) else ()
    match written:
        case ast.Ref(name=name) if name not in step.unit.scope.parameters:
            column = name
        case ast.Attribute(of=ast.Ref(name=of), name=name) if of not in step.unit.scope.parameters:
            column = name
        case ast.Lambda(body=ast.Attribute(of=ast.Ref(), name=name)):
            column = name
        case ast.Lambda(body=ast.Index(of=ast.Ref(), index=ast.Literal(value=str(name)))):
            column = name
        case _:  # any other expression means no column
            column = ""
    return column if column in names else ""
