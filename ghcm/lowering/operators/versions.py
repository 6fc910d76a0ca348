"""Tables of event time as they were at the time of a record that is joined with them."""

from ghcm.codes import Code
from ghcm.functions import comparable
from ghcm.lowering.drafts import Flow, Step, versions
from ghcm.spg.ops import AggregateByKey, Count, GroupByKey, GroupOp, ReduceByKey
from ghcm.types import Shape

_BY_ARRIVAL = "Without event_time(...) before the aggregation, records see what the table holds when they come."
_OTHERWISE = f"The latest record at a time is met by a join with the stream itself, asof = true. {_BY_ARRIVAL}"


def _of_event_time(right: Flow) -> bool:
    """Whether it is a table that never ends of records that have event time."""
    live = right.collection.shape is Shape.TABLE and not right.collection.bounded
    return live and any(producer.collection.timed for producer, _ in right.draft.inputs)


def check_time_of_table(step: Step, left: Flow, right: Flow) -> None:
    """A table of event time is seen as it was at the time of each record."""
    if _of_event_time(right) and not left.collection.timed:
        message = "a join with a table of event time needs event time on both sides"
        detail = "Each record sees the state of the table at its own time."
        span = step.given.span("other")
        raise step.report(Code.NEEDS_TIME, message, span, detail=detail, hint=_BY_ARRIVAL)


def as_it_was(step: Step, right: Flow) -> Flow:
    """The right side of a join; of a table of event time what it held at each time."""
    op = right.draft.op
    if not _of_event_time(right):
        return right
    if isinstance(op, ReduceByKey | AggregateByKey | GroupByKey | Count) and not _by_arrival(op):
        if not comparable(right.collection.element):
            message = f'"{right.collection.element}" has no order'
            detail = "What a table held at a time is found among records, and maps have no order."
            raise step.report(Code.BAD_JOIN, message, step.given.span("other"), detail=detail)
        return versions(step, right, op)
    message = "a join with this table of event time does not work yet"
    detail = (
        "Each record sees the state of the table at its own time. Of tables that go by arrival (latest, order = "
        "arrival), that forget (ttl), or that follow other tables, it is not kept."
    )
    raise step.report(Code.NOT_YET, message, step.given.span("other"), detail=detail, hint=_OTHERWISE)


def _by_arrival(op: GroupOp) -> bool:
    return isinstance(op, AggregateByKey) and any(each.arrival for each in op.aggregates)
