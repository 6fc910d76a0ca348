"""What may be joined with what: sides that end, streams with what ends, streams with tables."""

from __future__ import annotations

from collections.abc import Sequence

from ghcm.expr import Get, Lambda, Var
from ghcm.lowering.codes import Code
from ghcm.lowering.drafting import Step
from ghcm.lowering.flows import Draft, Flow
from ghcm.operators import ENGINE_OF_STREAMS
from ghcm.spg.joining import JoinKind, is_lookup
from ghcm.types import Shape

__all__ = ["check_sides", "looks_up_key", "report_no_key"]


def check_sides(step: Step, left: Flow, right: Flow, kind: JoinKind) -> bool:
    """Whether the two can be joined so; what cannot is reported."""
    table = right.collection.shape is Shape.TABLE
    span = step.given.span("other")
    if step.given.expr("within") is not None and not _check_interval(step, left, right):
        return False
    if not right.collection.bounded and not table and step.given.expr("within") is None:
        hint = "A table of it, or a part of it that ends, can be joined."
        step.report(Code.NEEDS_BOUNDED, '"join" needs another input that ends, or a table', span, hint=hint)
        return False
    if is_lookup(left.collection, right.collection) and not kind.streams:
        side = "a table" if table else "a stream that never ends"
        step.report(
            Code.BAD_JOIN,
            f"a {kind.value} join with {side} would have to wait for its end",
            step.given.span("kind"),
            detail="What nobody met is known only then.",
            hint="inner, left, semi and anti joins answer for each record on the left by itself.",
        )
        return False
    if table and not right.collection.bounded and _has_event_time(right.draft):
        detail = "The table has event time, so that each record would see its state of that time."
        hint = "Without event_time(...) before the aggregation, records see what the table holds when they come."
        step.report(Code.NOT_YET, "a join with a table of event time does not work yet", span, detail=detail, hint=hint)
        return False
    return True


def _check_interval(step: Step, left: Flow, right: Flow) -> bool:
    span = step.given.span("within")
    if is_lookup(left.collection, right.collection):
        step.not_yet("a look-up within an interval", ENGINE_OF_STREAMS, span)
        return False
    if not (left.collection.timed and right.collection.timed):
        hint = "event_time(...) says when a record happened."
        step.report(Code.NEEDS_TIME, "a join within an interval needs event time on both sides", span, hint=hint)
        return False
    if not (left.collection.bounded and right.collection.bounded):
        step.waits_for_engine("a join of streams within an interval", ENGINE_OF_STREAMS, span)
    return True


def _has_event_time(table: Draft) -> bool:
    return any(producer.collection.timed for producer, _ in table.inputs)


def looks_up_key(keys: Sequence[Lambda]) -> bool:
    """Whether one of the right sides of the equalities is the key of the table."""
    return any(isinstance(key.body, Get) and key.body.field == "key" and isinstance(key.body.of, Var) for key in keys)


def report_no_key(step: Step) -> None:
    """A table is looked up by its key."""
    step.report(
        Code.BAD_JOIN,
        "a join with a table needs an equality with its key",
        step.given.span("on"),
        hint="For example (r, t) => r.name == t.key.",
    )
