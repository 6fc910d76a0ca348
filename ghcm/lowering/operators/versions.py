"""Tables of event time as they were at the time of a record that is joined with them."""

from typing import NoReturn

from ghcm.codes import Code
from ghcm.expr import Expr, Get, If, Lambda, Literal, MakeStruct, Var, substitute
from ghcm.functions import comparable
from ghcm.lowering.drafts import Flow, Step, versions
from ghcm.lowering.expressions.functions import call_of
from ghcm.lowering.narrowing import Facts, to_known
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.spg.ops import AggregateByKey, Count, Forgetting, GroupByKey, GroupOp, Latest, ReduceByKey
from ghcm.types import Bool, Field, Shape, Struct, Type, as_nullable, is_nullable, pair_of

_DELETED = Field("deleted", Bool())
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
    """The right side of a join; of a table of event time what it held at each time. Where records are deleted, that is
    the last record of each key, and whether it is `deleted`.
    """
    if not _of_event_time(right):
        return right
    group, ttl_us, value = _kept(step, right)
    if not comparable(right.collection.element):
        message = f'"{right.collection.element}" has no order'
        detail = "What a table held at a time is found among records, and maps have no order."
        raise step.report(Code.BAD_JOIN, message, step.given.span("other"), detail=detail)
    return versions(step, right, group, ttl_us, value)


def if_there(left: Var, kept: Var, asked: Expr | None = None) -> Lambda:
    """The condition of a join with such a right side: the record is not deleted, and what is asked of the pair of the
    table, which has the same name.
    """
    there = call_of("not", Get(_field(kept, "value"), _DELETED.name, _DELETED.type))
    if asked is not None:
        there = call_of("and", there, substitute(asked, {kept.name: as_shown(kept)}))
    return Lambda((left, kept), there)


def known_of_last(facts: Facts, name: str) -> Facts:
    """What is known of the pairs of the table, said of the right side of that name."""
    return frozenset((name, "value", "record", *path[2:]) if path[:2] == (name, "value") else path for path in facts)


def as_shown(kept: Expr, *, by_key: bool = False) -> Expr:
    """The pair of the table, or by key its value, as such a right side has it; null where there is none."""
    if is_nullable(kept.type):
        made = as_shown(to_known(kept), by_key=by_key)
        nullable = as_nullable(made.type)
        return If(call_of("is_null", kept), Literal(None, nullable), made, nullable)
    if by_key:
        return _field(kept, "record")
    pair = (_field(kept, "key"), _field(_field(kept, "value"), "record"))
    return MakeStruct(pair, pair_of(*(part.type for part in pair)))


def _field(of: Expr, name: str) -> Expr:
    assert isinstance(of.type, Struct), "pairs, and what is kept as their values"
    return Get(of, name, of.type.field_of(name).type)


def _kept(step: Step, right: Flow) -> tuple[GroupOp, int | None, Type]:
    """The aggregation that makes the table, after how long it forgets a key, and what it makes of one."""
    value = right.collection.pair[1]
    match right.draft.op:
        case Forgetting(group=group, ttl_us=ttl):
            return _by_time(step, group), ttl, value
        case Latest(ttl_us=ttl):
            last = _newest(step, right)
            return AggregateByKey((last,), scalar=True), ttl, last.type
        case ReduceByKey() | AggregateByKey() | GroupByKey() | Count() as group:
            return _by_time(step, group), None, value
        case other:  # nothing else makes a table
            raise AssertionError(f"{other} makes no table of records with event time")


def _by_time(step: Step, group: GroupOp) -> GroupOp:
    if isinstance(group, AggregateByKey) and any(each.arrival for each in group.aggregates):
        _refuse_arrival(step, "order = r => ... goes by the records.")
    return group


def _newest(step: Step, right: Flow) -> Aggregate:
    """The newest record, by an order; with `deleted` where there are such."""
    value = right.draft.inputs[0][0].collection.pair[1]
    assert isinstance(value, Struct), "values say what is newest"
    if "order" not in value.names:
        _refuse_arrival(step, "latest(..., order = r => r.at) goes by the records.")
    given = Var("v", value)
    last: Expr = Get(given, "record", right.collection.pair[1])
    if "deleted" in value.names:
        last = MakeStruct((last, _is_true(_field(given, "deleted"))), Struct((Field("record", last.type), _DELETED)))
    return Aggregate("value", AggregateFunction.LAST, Lambda((given,), last), last.type, order=Lambda((given,), given))


def _is_true(test: Expr) -> Expr:
    return call_of("coalesce", test, Literal(False, Bool())) if is_nullable(test.type) else test


def _refuse_arrival(step: Step, hint: str) -> NoReturn:
    message = "a table that goes by arrival cannot be joined as it was at a time"
    detail = "Which record came last says nothing of the time at which it did."
    raise step.report(Code.NEVER, message, step.given.span("other"), detail=detail, hint=f"{hint} {_BY_ARRIVAL}")
