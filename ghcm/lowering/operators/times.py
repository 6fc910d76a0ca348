"""Event time and windows."""

from dataclasses import dataclass, replace

from ghcm.codes import Code
from ghcm.errors import Reported, attempt, sound, suggest
from ghcm.expr import Param
from ghcm.language import ast
from ghcm.lowering.arguments import Given, match_arguments
from ghcm.lowering.drafts import RULES, Bound, Flow, Step, rule
from ghcm.lowering.expressions.functions import whole
from ghcm.lowering.expressions.records import fits
from ghcm.operators import Argument
from ghcm.source import Span
from ghcm.spg.graph import Forward, Global, Hash
from ghcm.spg.labels import duration_text
from ghcm.spg.ops import ArrivalTime, EventTime, Sessions, Window
from ghcm.spg.windows import Assigner, Cumulating, Sliding, Tumbling, TumblingBy
from ghcm.support import Engine
from ghcm.types import WINDOW, Duration, Field, Shape, Struct, Timestamp, strip

_TIME = Argument("time", "name", required=False, positional=False, choices=("event", "processing"))
_OFFSET = Argument("offset", "duration", required=False, positional=False)
WINDOWS = {
    "tumbling": (Argument("size", "duration"), _OFFSET, _TIME),
    "sliding": (Argument("size", "duration"), Argument("every", "duration"), _OFFSET, _TIME),
    "cumulating": (Argument("size", "duration"), Argument("every", "duration"), _OFFSET, _TIME),
    "session": (Argument("gap", "duration"), _TIME),
}
"""What assigns windows, with the arguments."""
_OF_SO_MANY = "chunks(100) gives lists of so many values of a key, preceding(100) each value with so many before it."
_OF_OTHERS = {
    **dict.fromkeys(("count", "rows"), _OF_SO_MANY),
    **dict.fromkeys(("hop", "hopping", "slide"), "sliding(10m, every = 1m) begins one every minute."),
    **dict.fromkeys(("tumble", "fixed"), 'did you mean "tumbling"?'),
    "cumulate": 'did you mean "cumulating"?',
}
"""Windows of other systems, and what to write instead."""


@rule(RULES, "event_time")
def event_time(step: Step, flow: Flow) -> Bound:
    """Declares when records happened; in a stream unit before anything that mixes the partitions of the source."""
    disorder = step.given.duration("disorder")
    function = attempt(step.function, "time", flow.collection.element)
    after = replace(flow.collection, timed=True)
    undrafted = replace(flow, collection=after)
    if flow.collection.timed or (flow.regrouped and not _nothing_late(step)):
        message = f"event time is declared {'twice' if flow.collection.timed else 'behind what regroups'}"
        hint = "event_time(...) stands near the source; what is written to a sink and read again declares it anew."
        step.report(Code.BAD_TIME, message, hint=hint)
        return undrafted
    if function is not None and strip(function.body.type) != Timestamp():
        message = f'event time is "timestamp", but this is "{function.body.type}"'
        hint = "from_micros(n) makes a timestamp of microseconds since 1970."
        step.report(Code.BAD_TIME, message, step.given.span("time"), hint=hint)
        return undrafted
    if not flow.collection.bounded and step.given.expr("disorder") is None and not step.given.dropped:
        hint = "For example event_time(..., disorder = 10s); records that come later still are late."
        step.report(Code.BAD_TIME, "input that never ends has to say how far records may come out of order", hint=hint)
    if function is None:
        return undrafted
    idle = attempt(_idle, step, flow)
    op = EventTime(function, None if _nothing_late(step) else disorder, idle)
    return replace(undrafted, draft=step.row(op, flow, after))


def _nothing_late(step: Step) -> bool:
    """Whether this is a batch unit, whose windows close when its input ends, whatever the order of its records."""
    return step.unit.engine is Engine.SPARK


def _idle(step: Step, flow: Flow) -> int | None:
    """After how long a silence a partition no longer holds event time back; None: never."""
    idle, span = step.given.duration("idle", least=1), step.given.span("idle")
    if idle is None:
        return None
    if step.unit.engine is Engine.SPARK:
        message = "a batch unit has no idle sources"
        detail = "All of its input is there when its windows close, so that nothing waits for a silent source."
        raise step.report(Code.NEVER, message, span, detail=detail, hint="event_time(...) without idle.")
    if step.given.expr("disorder") is None and flow.collection.bounded:
        message = "no window closes before the input ends, idle sources or not"
        hint = "disorder = 10s says how far records may come out of order; windows close behind it."
        raise step.report(Code.BAD_TIME, message, span, hint=hint)
    return idle


@rule(RULES, "window")
def window(step: Step, flow: Flow) -> Bound:
    """Puts records into windows: the column `window`."""
    assigned = attempt(_assigned, step)
    given = step.given.duration("allowed_lateness") or 0
    lateness = 0 if _nothing_late(step) else given
    by_clock = assigned is not None and assigned.by_clock
    collection = replace(flow.collection, timed=True) if by_clock else flow.collection
    element = collection.element
    if not collection.timed:
        hint = "event_time(x => x.ts) near the source declares it."
        if flow.regrouped:
            hint = "window(...) stands before what regroups, event_time(x => x.ts) near the source."
        raise step.report(Code.NEEDS_TIME, '"window" needs event time, and these records have none', hint=hint)
    if collection.windowed or (isinstance(element, Struct) and element.get("window")):
        message = "the records are in windows" if collection.windowed else 'the records have a field "window"'
        raise step.report(Code.BAD_WINDOW, f"{message} already", hint="map(...) makes records without it.")
    if by_clock and lateness:
        message = "no record is late for a window of processing time"
        hint = "Without allowed_lateness each record is in the windows that are open when it comes."
        step.report(Code.BAD_WINDOW, message, step.given.span("allowed_lateness"), hint=hint)
    if assigned is None or assigned.windows is None:
        raise Reported
    windows = assigned.windows
    if by_clock:
        stamped = step.add(ArrivalTime(), collection, (flow, Forward()), calls=0)
        stamped.word, lateness = "arrival_time", 0
        flow = replace(flow, draft=stamped, collection=collection)
    if isinstance(windows, Sessions):
        return put_into(step, flow, replace(windows, allowed_lateness_us=lateness))
    return put_into(step, flow, Window(windows, lateness))


def put_into(step: Step, flow: Flow, windows: Window | Sessions) -> Flow:
    """The records in these windows. Where a session ends is known once all of its records are, so that they have to
    meet.
    """
    collection, element = flow.collection, flow.collection.element
    fields = element.fields if isinstance(element, Struct) else (Field("value", element),)
    after = replace(collection, element=Struct((*fields, Field("window", WINDOW))), windowed=True)
    if isinstance(windows, Window):
        return replace(flow, draft=step.row(windows, flow, after), collection=after, open_window=True)
    exchange = Hash(("key",)) if after.shape is Shape.PAIRS else Global()
    return Flow(step.add(windows, after, (flow, exchange)), after, regrouped=True, open_window=True)


@dataclass(frozen=True, slots=True)
class _Assigned:
    """Windows, None after a report, and whether they are of the time at which records come."""

    windows: Assigner | Sessions | None
    by_clock: bool = False


def _assigned(step: Step) -> _Assigned:
    match step.given.expr("assigner"):
        case ast.Apply(function=ast.Ref(name=name)) as written if name in WINDOWS:
            given = match_arguments(name, WINDOWS[name], written, step.context)
        case ast.Apply(function=ast.Ref(name=name, span=span)):
            hint = _OF_OTHERS.get(name, "") or suggest(name, WINDOWS)
            hint = hint or "Windows are tumbling, sliding, cumulating and session."
            raise step.report(Code.BAD_WINDOW, f'there are no windows "{name}"', span, hint=hint)
        case _:  # anything else is none
            raise step.given.wrong("assigner", "windows such as tumbling(10s)")
    by_clock = given.choice("time", "event") == "processing"
    if (parameter := _parameter(step, given)) is not None:
        return _Assigned(_sized_by(step, name, given, parameter, by_clock=by_clock), by_clock)
    size = given.duration("gap" if name == "session" else "size", least=1)
    every = given.duration("every", least=1)
    offset = given.duration("offset") or 0
    if by_clock and _refuse_clock(step, given.span("time")):
        return _Assigned(None, by_clock)
    size = sound(size)
    if name == "session":
        return _Assigned(Sessions(size, 0), by_clock)
    begin = size if every is None or name == "cumulating" else every
    if offset >= begin:
        _report_offset(step, offset, begin, given.span("offset"))
        raise Reported
    if every is None:
        return _Assigned(Tumbling(size, offset), by_clock)
    if name == "cumulating":
        if size % every:
            message = f"a window of {duration_text(size)} does not grow by {duration_text(every)}"
            hint = "It is as long as a whole number of parts, cumulating(1h, every = 5m)."
            raise step.report(Code.BAD_WINDOW, message, given.span("every"), hint=hint)
        return _Assigned(Cumulating(size, every, offset), by_clock)
    if every > size:
        hint = "every is at most as long as the windows; filter(...) leaves records out."
        message = "records between these windows would be in none of them"
        step.report(Code.BAD_WINDOW, message, given.span("every"), hint=hint)
        return _Assigned(None, by_clock)
    return _Assigned(Sliding(size, every, offset), by_clock)


_SIZES = ("size", "gap", "every", "offset")


def _parameter(step: Step, given: Given) -> str | None:
    """The argument that is a parameter of the unit in place of a constant duration."""
    for name in _SIZES:
        written = given.expr(name)
        if isinstance(written, ast.Ref) and written.name in step.scope.parameters:
            return name
    return None


def _sized_by(step: Step, name: str, given: Given, argument: str, *, by_clock: bool) -> TumblingBy:
    """Windows whose size is a parameter of a batch unit, whose windows wait for the end of its input."""
    span = given.span(argument)
    if step.unit.declaration.kind != "batch":
        message = "the windows of a stream unit have one size"
        detail = "They are open in snapshots, and close as event time goes on, whatever a call says."
        hint = "A responsive batch unit takes the size of its windows from a parameter."
        raise step.report(Code.NEVER, message, span, detail=detail, hint=hint)
    if by_clock and _refuse_clock(step, given.span("time")):
        raise Reported
    if name != "tumbling" or given.expr("offset") is not None:
        message = f'"{argument}" of "{name}" is a constant duration'
        hint = "Windows of tumbling(size) without an offset may be as long as a parameter says."
        raise step.report(Code.NOT_CONSTANT, message, span, hint=hint)
    what = '"size" of "tumbling"'
    size = fits(whole(given.required("size"), step.scope, what), Duration(), what, span, step.context)
    assert isinstance(size, Param), "a parameter that is a duration"
    return TumblingBy(size)


def _report_offset(step: Step, offset: int, every: int, span: Span | None) -> None:
    message = f"windows that begin every {duration_text(every)} are not shifted by {duration_text(offset)}"
    hint = f"offset = {duration_text(offset % every)} gives the same windows."
    step.report(Code.BAD_WINDOW, message, span, hint=hint)


def _refuse_clock(step: Step, span: Span | None) -> bool:
    """Whether there are no windows of processing time in this unit, which is reported."""
    if step.unit.engine is not Engine.SPARK:
        return False
    detail = "Its records were there before it began, so that no clock tells when they came."
    hint = "event_time(x => x.ts) near the source, and windows of event time."
    step.report(Code.NEVER, "a batch unit has no windows of processing time", span, detail=detail, hint=hint)
    return True
