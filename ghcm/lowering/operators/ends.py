"""Ends: `to`, `publish`, `reply`."""

from __future__ import annotations

from dataclasses import replace

from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.language import ast
from ghcm.lowering.calls import call_of
from ghcm.lowering.drafting import SinkPlace, Step
from ghcm.lowering.finals import ends_as_pairs, final
from ghcm.lowering.flows import Bound, Flow
from ghcm.spg.connectors import Mode
from ghcm.spg.graph import (
    Forward,
    Global,
)
from ghcm.spg.ops import Policy, Publish, Reply, To
from ghcm.types import Duration, Int, Shape

_MOMENTS = ("window_close", "completion")


def to(step: Step, flow: Flow) -> Bound:
    """Writes to a sink; the collection goes on to `publish`."""
    name = sink_of(step)
    if name is None:
        return replace(flow, written=flow.draft)
    place = step.unit.around.sinks[name]
    if place is not None:
        _check_mode(step, flow, place)
    element = flow.collection.element
    step.unit.around.written(name, element, step.given.span("sink"))
    once = place is not None and place.mode is Mode.APPEND and ends_as_pairs(flow.collection)
    given = final(step, flow) if once else flow
    draft = step.add(To(name), given.collection, (given, Forward()))
    return replace(flow, written=draft)


def publish(step: Step, flow: Flow) -> Bound:
    """Calls a unit by a policy."""
    policy = _policy(step, flow)
    call = call_of(step, flow.collection)
    if policy is None or call is None:
        return replace(flow, ended=True)
    draft = step.add(Publish(call, policy, None), flow.collection, (flow, Global()))
    draft.after = flow.written
    return replace(flow, ended=True)


def reply(step: Step, flow: Flow) -> Bound:
    """The result of the call."""
    if not step.unit.declaration.responsive:
        step.report(
            Code.BAD_REPLY,
            f'"{step.unit.name}" is called by nobody, so that there is no one to reply to',
            hint=f'A unit that answers is written "responsive {step.unit.declaration.kind} {step.unit.name}".',
        )
    elif step.unit.replies > 1:
        step.report(
            Code.BAD_REPLY, "a call is answered once, and this is a second reply", hint="union(...) joins them."
        )
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
            step.report(Code.UNKNOWN_NAME, f'there is no sink "{name}"', span, hint=hint)
        case other:
            hint = "sink x = ...(...) declares one, and to(x) writes to it."
            step.given.wrong("sink", "the name of a sink", None if other is None else other.span, hint=hint)
    return None


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


def _check_mode(step: Step, flow: Flow, place: SinkPlace) -> None:
    span = step.given.span("sink")
    ends = ends_as_pairs(flow.collection)
    if flow.collection.shape is Shape.TABLE and place.mode is not Mode.UPSERT and not ends:
        step.report(
            Code.TABLE_TO_SINK,
            f'a table has one record per key, and sink "{place.name}" has mode {place.mode.value}',
            span,
            hint="A sink of mode upsert keeps the latest record per key, changes() gives each change as a record.",
        )
    elif place.mode is Mode.REPLACE and step.unit.lives_on:
        step.report(
            Code.WRONG_MODE,
            f'a stream unit commits again and again, and each commit would replace all of sink "{place.name}"',
            span,
            hint="mode = append or mode = upsert keeps what was written before.",
        )


def _policy(step: Step, flow: Flow) -> Policy | None:
    given = step.given
    chosen = [name for name in ("every", "when", "on") if given.expr(name) is not None]
    if not chosen and given.dropped:
        return None
    if len(chosen) != 1:
        says = "does not say when" if not chosen else f"says {' and '.join(chosen)} at once"
        step.report(
            Code.BAD_POLICY,
            f'"publish" {says}',
            hint="One of every = 1000, every = 10s, when = r => ..., on = window_close, on = completion.",
        )
        return None
    at_end = given.flag("at_end", False)
    if at_end and chosen != ["every"]:
        step.report(Code.BAD_POLICY, '"at_end" sends what "every" has left over', given.span("at_end"))
    if chosen == ["when"]:
        when = step.function("when", flow.collection.element, test=True)
        return None if when is None else Policy(when=when)
    if chosen == ["on"]:
        return _moment(step, flow)
    return _every(step, at_end)


def _every(step: Step, at_end: bool) -> Policy | None:
    match step.given.expr("every"):
        case ast.Literal(value=int(value), type=Int() | Duration()) as written if value < 1:
            step.report(Code.OUT_OF_RANGE, '"every" of "publish" is less than 1', written.span)
        case ast.Literal(value=int(value), type=Int()):
            return Policy(every_records=value, at_end=at_end)
        case ast.Literal(value=int(value), type=Duration(), span=span):
            if step.unit.lives_on:
                return Policy(every_us=value, at_end=at_end)
            step.report(
                Code.BAD_POLICY,
                "a unit that ends has no clock to publish by",
                span,
                hint="every = 1000 counts records, on = completion waits for the end.",
            )
        case _:
            step.given.wrong("every", "a number of records or a duration such as 10s", step.given.span("every"))
    return None


def _moment(step: Step, flow: Flow) -> Policy | None:
    moment = step.given.choice("on", _MOMENTS, "")
    if moment == "window_close" and (not flow.collection.windowed or flow.open_window):
        step.report(
            Code.BAD_POLICY,
            "no window closes here",
            step.given.span("on"),
            hint="on = window_close stands behind an aggregation in windows.",
        )
        return None
    if moment == "completion" and not flow.collection.bounded:
        message = "a stream that never ends does not complete"
        step.report(Code.BAD_POLICY, message, step.given.span("on"), hint="every = 1000 counts records.")
        return None
    return Policy(on=moment) if moment else None
