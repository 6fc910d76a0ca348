"""Event time and windows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.language import ast
from ghcm.lowering.arguments import match_arguments
from ghcm.lowering.drafts import RULES, Bound, Flow, Step, rule
from ghcm.operators import ENGINE_OF_STREAMS, Argument
from ghcm.source import Span
from ghcm.spg.graph import Forward, Global, Hash
from ghcm.spg.labels import duration_text
from ghcm.spg.ops import ArrivalTime, EventTime, Sessions, Sliding, Tumbling, Window
from ghcm.support import Engine
from ghcm.types import WINDOW, Collection, Field, Shape, Struct, Timestamp, Type, strip

_TIME = Argument("time", "name", required=False, positional=False, choices=("event", "processing"))
_OFFSET = Argument("offset", "duration", required=False, positional=False)
WINDOWS = {
    "tumbling": (Argument("size", "duration"), _OFFSET, _TIME),
    "sliding": (Argument("size", "duration"), Argument("every", "duration"), _OFFSET, _TIME),
    "session": (Argument("gap", "duration"), _TIME),
}
"""What assigns windows, with the arguments."""


@rule(RULES, "event_time")
def event_time(step: Step, flow: Flow) -> Bound:
    """Declares when records happened; before anything that mixes the partitions of the source."""
    disorder = step.given.duration("disorder")
    function = step.function("time", flow.collection.element)
    after = replace(flow.collection, timed=True)
    if flow.collection.timed or flow.regrouped:
        step.report(
            Code.BAD_TIME,
            "event time is declared twice" if flow.collection.timed else "event time is declared behind what regroups",
            hint="event_time(...) stands near the source; what is written to a sink and read again declares it anew.",
        )
        return replace(flow, collection=after)
    if function is not None and strip(function.body.type) != Timestamp():
        message = f'event time is "timestamp", but this is "{function.body.type}"'
        hint = "from_micros(n) makes a timestamp of microseconds since 1970."
        step.report(Code.BAD_TIME, message, step.given.span("time"), hint=hint)
        return replace(flow, collection=after)
    if not flow.collection.bounded and step.given.expr("disorder") is None and not step.given.dropped:
        hint = "For example event_time(..., disorder = 10s); records that come later still are late."
        step.report(Code.BAD_TIME, "input that never ends has to say how far records may come out of order", hint=hint)
    if function is None:
        return replace(flow, collection=after)
    op = EventTime(function, disorder, _idle(step, flow))
    return replace(flow, draft=step.row(op, flow, after), collection=after)


def _idle(step: Step, flow: Flow) -> int | None:
    """After how long a silence a partition no longer holds event time back; None: never, or after a report."""
    idle = step.given.duration("idle", least=1)
    if idle is None:
        return None
    if step.unit.engine is Engine.SPARK:
        message = "a batch unit has no idle sources"
        detail = "All of its input is there when its windows close, so that nothing waits for a silent source."
        hint = "event_time(...) without idle."
        return step.report(Code.NEVER, message, step.given.span("idle"), detail=detail, hint=hint)
    if step.given.expr("disorder") is None and flow.collection.bounded:
        message = "no window closes before the input ends, idle sources or not"
        hint = "disorder = 10s says how far records may come out of order; windows close behind it."
        return step.report(Code.BAD_TIME, message, step.given.span("idle"), hint=hint)
    return idle


@rule(RULES, "window")
def window(step: Step, flow: Flow) -> Bound:
    """Puts records into windows: the column `window`."""
    assigner = _assigner(step)
    lateness = step.given.duration("allowed_lateness", 0) or 0
    by_clock = isinstance(assigner, _OfClock)
    collection = replace(flow.collection, timed=True) if by_clock else flow.collection
    element = collection.element
    if not collection.timed:
        step.report(
            Code.NEEDS_TIME,
            '"window" needs event time, and these records have none',
            hint="event_time(x => x.ts) near the source declares it."
            if not flow.regrouped
            else "window(...) stands before what regroups, event_time(x => x.ts) near the source.",
        )
        return None
    if collection.windowed or (isinstance(element, Struct) and element.get("window")):
        step.report(
            Code.BAD_WINDOW,
            "the records are in windows already"
            if collection.windowed
            else 'the records have a field "window" already',
            hint="map(...) makes records without it.",
        )
        return None
    if assigner is None:
        return None
    if isinstance(assigner, _OfClock):
        return _by_clock(step, flow, collection, assigner.windows)
    windowed = replace(collection, element=_with_window(element), windowed=True)
    if isinstance(assigner, _Gap):
        return _sessions(step, flow, windowed, Sessions(assigner.us, lateness))
    draft = step.row(Window(assigner, lateness), flow, windowed)
    return replace(flow, draft=draft, collection=windowed, open_window=True)


def _by_clock(step: Step, flow: Flow, timed: Collection, windows: Tumbling | Sliding | None) -> Bound:
    """Windows of the time at which records come here."""
    if step.given.duration("allowed_lateness", 0):
        message = "no record is late for a window of processing time"
        hint = "Without allowed_lateness each record is in the windows that are open when it comes."
        step.report(Code.BAD_WINDOW, message, step.given.span("allowed_lateness"), hint=hint)
    if windows is None:
        return None
    stamped = step.add(ArrivalTime(), timed, (flow, Forward()), calls=0)
    stamped.word = "arrival_time"
    after = replace(timed, element=_with_window(timed.element), windowed=True)
    draft = step.add(Window(windows, 0), after, (replace(flow, draft=stamped, collection=timed), Forward()))
    return replace(flow, draft=draft, collection=after, open_window=True)


def _sessions(step: Step, flow: Flow, after: Collection, op: Sessions) -> Flow:
    """Where a session ends is known once all of its records are, so that they have to meet."""
    if step.unit.engine is Engine.ROW:
        step.waits_for_engine('a window of kind "session"', ENGINE_OF_STREAMS, step.given.span("assigner"))
    exchange = Hash(("key",)) if after.shape is Shape.PAIRS else Global()
    draft = step.add(op, after, (flow, exchange))
    return Flow(draft, after, regrouped=True, open_window=True)


def _with_window(element: Type) -> Struct:
    column = Field("window", WINDOW)
    if isinstance(element, Struct):
        return Struct((*element.fields, column))
    return Struct((Field("value", element), column))


@dataclass(frozen=True, slots=True)
class _Gap:
    """Sessions, by the time that has to pass between two of them."""

    us: int


@dataclass(frozen=True, slots=True)
class _OfClock:
    """Windows by the time at which records come; None after a report."""

    windows: Tumbling | Sliding | None


def _assigner(step: Step) -> Tumbling | Sliding | _Gap | _OfClock | None:
    """The windows; None after a report."""
    written = step.given.expr("assigner")
    match written:
        case ast.Apply(function=ast.Ref(name=name)) if name in WINDOWS:
            given = match_arguments(name, WINDOWS[name], written, step.context)
        case ast.Apply(function=ast.Ref(name=name, span=span)):
            hint = suggest(name, WINDOWS)
            return step.report(Code.BAD_WINDOW, f'there are no windows "{name}"', span, hint=hint)
        case _:  # anything else is none
            return step.given.wrong("assigner", "windows such as tumbling(10s)")
    if given is None:
        return None
    time = given.choice("time", ("event", "processing"), "event")
    size = given.duration("gap" if name == "session" else "size", least=1)
    every = given.duration("every", least=1)
    offset = given.duration("offset") or 0
    by_clock = time == "processing"
    if by_clock and _refuse_clock(step, name, given.span("time")):
        return _OfClock(None)
    if size is None:
        return None
    if name == "session":
        return _Gap(size)
    if offset >= (size if every is None else every):
        _report_offset(step, offset, size if every is None else every, given.span("offset"))
        return None
    windows = Tumbling(size, offset) if every is None else _sliding(step, size, every, offset, given.span("every"))
    return _OfClock(windows) if by_clock else windows


def _report_offset(step: Step, offset: int, every: int, span: Span | None) -> None:
    message = f"windows that begin every {duration_text(every)} are not shifted by {duration_text(offset)}"
    hint = f"offset = {duration_text(offset % every)} gives the same windows."
    step.report(Code.BAD_WINDOW, message, span, hint=hint)


def _refuse_clock(step: Step, name: str, span: Span | None) -> bool:
    """Whether there are no such windows of processing time in this unit, which is reported."""
    if step.unit.engine is Engine.SPARK:
        detail = "Its records were there before it began, so that no clock tells when they came."
        hint = "event_time(x => x.ts) near the source, and windows of event time."
        step.report(Code.NEVER, "a batch unit has no windows of processing time", span, detail=detail, hint=hint)
        return True
    if name == "session":
        step.not_yet("a session of processing time", "belongs to the issue of the native engine's streams", span)
        return True
    return False


def _sliding(step: Step, size: int, every: int, offset: int, span: Span | None) -> Sliding | None:
    if every <= size:
        return Sliding(size, every, offset)
    hint = "every is at most as long as the windows; filter(...) leaves records out."
    return step.report(Code.BAD_WINDOW, "records between these windows would be in none of them", span, hint=hint)
