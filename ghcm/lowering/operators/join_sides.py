"""What may be joined with what: sides that end, streams with what ends, streams with tables."""

from __future__ import annotations

from collections.abc import Sequence

from ghcm.codes import Code
from ghcm.expr import Get, Lambda, Var
from ghcm.functions import comparable
from ghcm.lowering.drafting import Step
from ghcm.lowering.flows import Draft, Flow
from ghcm.operators import ENGINE_OF_STREAMS
from ghcm.spg.joining import JoinKind, is_lookup, shares_window
from ghcm.spg.ops import Join, Sessions, Window
from ghcm.types import Shape


def check_sides(step: Step, left: Flow, right: Flow, kind: JoinKind) -> bool:
    """Whether the two can be joined so, whatever belongs together; what cannot is reported."""
    table = right.collection.shape is Shape.TABLE
    asof = step.given.flag("asof", False)
    if (asof or step.given.expr("within") is not None) and not _check_times(step, left, right, kind, asof):
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
    return _check_table(step, left, right)


def _check_times(step: Step, left: Flow, right: Flow, kind: JoinKind, asof: bool) -> bool:
    """Whether both sides have the times by which records belong together."""
    what, span = (
        ("as of a time", step.given.span("asof")) if asof else ("within an interval", step.given.span("within"))
    )
    if right.collection.shape is Shape.TABLE:
        hint = "A join with a table sees its state; one of two streams goes by their event times."
        step.report(Code.BAD_JOIN, f"a table cannot be joined {what}: its pairs have no time", span, hint=hint)
        return False
    if not (left.collection.timed and right.collection.timed):
        hint = "event_time(...) says when a record happened."
        step.report(Code.NEEDS_TIME, f"a join {what} needs event time on both sides", span, hint=hint)
        return False
    if asof and not kind.streams:
        hint = "inner, left, semi and anti joins answer for each record on the left."
        step.report(Code.BAD_JOIN, f"a {kind.value} join cannot be as of a time", step.given.span("kind"), hint=hint)
        return False
    if asof and not comparable(right.collection.element):
        detail = "Of several records at one time the greatest is taken, and maps have no order."
        step.report(
            Code.BAD_JOIN, f'"{right.collection.element}" has no order', step.given.span("other"), detail=detail
        )
        return False
    return True


def _check_table(step: Step, left: Flow, right: Flow) -> bool:
    """A table of event time is seen as it was at the time of each record."""
    if not _as_of_event_time(right):
        return True
    span = step.given.span("other")
    hint = "Without event_time(...) before the aggregation, records see what the table holds when they come."
    if not left.collection.timed:
        step.report(
            Code.NEEDS_TIME,
            "a join with a table of event time needs event time on both sides",
            span,
            detail="Each record sees the state of the table at its own time.",
            hint=hint,
        )
        return False
    if not step.context.for_reference:
        detail = "The table has event time, so that each record sees its state of that time."
        message = "a join with a table of event time does not work yet"
        step.report(
            Code.NOT_YET,
            message,
            span,
            detail=f"{detail} The native engine does not have such joins yet.",
            hint=hint,
        )
    return True


def check_meeting(step: Step, left: Flow, right: Flow, op: Join) -> bool:
    """Whether records that belong together are found in bounded time; and what the engine of streams has not."""
    ends = left.collection.bounded and right.collection.bounded
    lookup = is_lookup(left.collection, right.collection)
    if op.by_time:
        if op.asof and not ends:
            step.waits_for_engine("a join of streams as of a time", ENGINE_OF_STREAMS, step.given.span("asof"))
        elif not ends and not lookup:
            what = "a join of streams within an interval"
            step.waits_for_engine(what, ENGINE_OF_STREAMS, step.given.span("within"))
    elif not right.collection.bounded and right.collection.shape is not Shape.TABLE:
        windowed = left.collection.windowed and right.collection.windowed
        if not (windowed and shares_window(op.left_keys, op.right_keys)):
            step.report(
                Code.NEEDS_BOUNDED,
                '"join" needs another input that ends, or a table',
                step.given.span("other"),
                hint="A table of it can be joined, two streams within an interval (within = 10s), or by window.",
            )
            return False
        step.waits_for_engine("a join of streams by window", ENGINE_OF_STREAMS, step.given.span("other"))
    return True


def check_windows(step: Step, left: Flow, right: Flow) -> bool:
    """Whether pairs that are joined by key are in the same windows, or in none."""
    if not (left.collection.windowed or right.collection.windowed):
        return True
    if left.collection.windowed != right.collection.windowed:
        hint = "Both are in windows, or neither; join(other, on = ...) compares other fields."
        step.report(Code.BAD_JOIN, "pairs in windows are joined with pairs in windows", hint=hint)
        return False
    mine, its = _assigners(left.draft), _assigners(right.draft)
    if any(isinstance(each, Sessions) for each in mine | its):
        detail = "The sessions of two inputs begin and end by themselves, so that none would be in both."
        step.report(Code.BAD_JOIN, "sessions are not shared by two inputs", detail=detail)
        return False
    if mine != its:
        step.report(
            Code.BAD_JOIN, "the two are in windows of different kinds", hint="The same window(...) before both."
        )
        return False
    return True


def _assigners(draft: Draft) -> set[object]:
    """The windows that records of the task are in."""
    match draft.op:
        case Window(assigner=assigner):
            return {assigner}
        case Sessions():
            return {draft.op}
        case _:
            return {
                each for producer, _ in draft.inputs if producer.collection.windowed for each in _assigners(producer)
            }


def _as_of_event_time(table: Flow) -> bool:
    """Whether it is a table whose state at any time is known."""
    live = table.collection.shape is Shape.TABLE and not table.collection.bounded
    return live and any(producer.collection.timed for producer, _ in table.draft.inputs)


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
