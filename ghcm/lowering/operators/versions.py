"""Tables of event time as they were at the time of a record that is joined with them."""

from typing import NoReturn

from ghcm.codes import Code
from ghcm.expr import Get, Lambda, Var
from ghcm.functions import comparable
from ghcm.lowering.drafts import Flow, Step, versions
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.spg.ops import AggregateByKey, Count, Forgetting, GroupByKey, GroupOp, Latest, ReduceByKey
from ghcm.types import Shape, Struct

_BY_ARRIVAL = "Without event_time(...) before the aggregation, records see what the table holds when they come."


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
    if not _of_event_time(right):
        return right
    group, ttl_us = _kept(step, right)
    if not comparable(right.collection.element):
        message = f'"{right.collection.element}" has no order'
        detail = "What a table held at a time is found among records, and maps have no order."
        raise step.report(Code.BAD_JOIN, message, step.given.span("other"), detail=detail)
    return versions(step, right, group, ttl_us)


def _kept(step: Step, right: Flow) -> tuple[GroupOp, int | None]:
    """The aggregation that makes the table, and after how long it forgets a key."""
    match right.draft.op:
        case Forgetting(group=group, ttl_us=ttl):
            return _by_time(step, group), ttl
        case Latest(ttl_us=ttl):
            return _newest(step, right), ttl
        case ReduceByKey() | AggregateByKey() | GroupByKey() | Count() as group:
            return _by_time(step, group), None
        case other:  # nothing else makes a table
            raise AssertionError(f"{other} makes no table of records with event time")


def _by_time(step: Step, group: GroupOp) -> GroupOp:
    if isinstance(group, AggregateByKey) and any(each.arrival for each in group.aggregates):
        _refuse_arrival(step, "order = r => ... goes by the records.")
    return group


def _newest(step: Step, right: Flow) -> GroupOp:
    """The aggregation whose result is the newest record, by an order."""
    value = right.draft.inputs[0][0].collection.pair[1]
    assert isinstance(value, Struct), "values say what is newest"
    if "order" not in value.names:
        _refuse_arrival(step, "latest(..., order = r => r.at) goes by the records.")
    if "deleted" in value.names:
        message = "a join with a table of event time out of which records are deleted does not work yet"
        detail = "Of a key that is deleted nothing is kept that says since when."
        hint = "The stream of changes, joined with asof = true, meets the latest one; filter(...) leaves out deletions."
        raise step.report(Code.NOT_YET, message, step.given.span("other"), detail=detail, hint=f"{hint} {_BY_ARRIVAL}")
    given = Var("v", value)
    record = Lambda((given,), Get(given, "record", right.collection.pair[1]))
    last = Aggregate("value", AggregateFunction.LAST, record, record.body.type, order=Lambda((given,), given))
    return AggregateByKey((last,), scalar=True)


def _refuse_arrival(step: Step, hint: str) -> NoReturn:
    message = "a table that goes by arrival cannot be joined as it was at a time"
    detail = "Which record came last says nothing of the time at which it did."
    raise step.report(Code.NEVER, message, step.given.span("other"), detail=detail, hint=f"{hint} {_BY_ARRIVAL}")
