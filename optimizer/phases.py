"""Aggregations in phases: a partial one of any part of a group, the state that it leaves, and what merges states.

Only such are taken apart in which no group can fail: a part would otherwise fail where the whole does not. Nothing here
says where the phases stand.
"""

from dataclasses import dataclass, replace

from ghcm.expr import Expr, Get, Lambda, Literal, MakeStruct, Var
from ghcm.optimizer.expressions import substitute
from ghcm.optimizer.reducing import cannot_fail, fits
from ghcm.reducers import Aggregate, AggregateFunction, Builtin, Kind, Phase, splittable
from ghcm.spg import ops
from ghcm.types import Bool, Field, Int, Struct, Type

MERGED_BY = {
    AggregateFunction.COUNT: AggregateFunction.SUM,
    AggregateFunction.SUM: AggregateFunction.SUM,
    AggregateFunction.MIN: AggregateFunction.MIN,
    AggregateFunction.MAX: AggregateFunction.MAX,
    AggregateFunction.FOLD: AggregateFunction.FOLD,
}
"""What puts the states of an aggregate together, which are of its own type; those of a fold are values to its merge."""


_FAILS = "a part of a group may fail where the group does not, as whole numbers do whose sum leaves 64 bits on its way"


@dataclass(frozen=True, slots=True)
class Phases:
    """An aggregation of values of which `value` says what is read: `partial` gives a state of a part of them, which is
    of the type `state`, and `merge` the result of several states.
    """

    value: Expr
    partial: ops.GroupOp
    state: Type
    merge: ops.GroupOp


def phases_of(op: ops.GroupOp, value: Expr) -> Phases | str:
    """The aggregation of such values in phases, or why it has none."""
    match op:
        case ops.Count():
            merge = ops.ReduceByKey(Builtin(Kind.SUM, Int()), Phase.MERGE)
            return Phases(Literal(True, Bool()), replace(op, phase=Phase.PARTIAL), Int(), merge)
        case ops.ReduceByKey(reducer=reducer):
            if not splittable(reducer):
                return "its values are reduced in their order"
            if not cannot_fail(reducer):
                return _FAILS
            partial, merge = (replace(op, phase=phase) for phase in (Phase.PARTIAL, Phase.MERGE))
            return Phases(value, partial, value.type, merge)
        case ops.AggregateByKey(aggregates=aggregates):
            return _aggregated(op, aggregates, value)
        case ops.GroupByKey():
            return "the lists of its groups are in order"


def _aggregated(op: ops.AggregateByKey, aggregates: tuple[Aggregate, ...], value: Expr) -> Phases | str:
    unknown = [each.function.value for each in aggregates if each.function not in MERGED_BY or each.picks_record]
    if unknown:
        return f"{unknown[0]} is not put together of parts"
    if not all(map(fits, aggregates)):
        return _FAILS
    read: dict[Expr, str] = {}
    for each in aggregates:
        if each.argument is not None:
            read.setdefault(substitute(each.argument, value), f"a{len(read)}")
    taken = Struct(tuple(Field(name, part.type) for part, name in read.items()))
    partial = [
        each if each.argument is None else _part(_reading(each, read[substitute(each.argument, value)], taken))
        for each in aggregates
    ]
    state = Struct(tuple(Field(each.name, each.type) for each in partial))
    merge = [replace(_reading(each, each.name, state), function=MERGED_BY[each.function]) for each in aggregates]
    made = MakeStruct(tuple(read), taken) if read else Literal(True, Bool())
    early = ops.AggregateByKey(tuple(partial), phase=Phase.PARTIAL)
    return Phases(made, early, state, replace(op, aggregates=tuple(merge), phase=Phase.MERGE))


def _part(aggregate: Aggregate) -> Aggregate:
    """The aggregate that gives its state."""
    if aggregate.finish is None or aggregate.argument is None:
        return aggregate
    return replace(aggregate, finish=None, type=aggregate.argument.body.type)


def _reading(aggregate: Aggregate, name: str, record: Struct) -> Aggregate:
    """The aggregate of a field of such records."""
    given = Var("v", record)
    return replace(aggregate, argument=Lambda((given,), Get(given, name, record.field_of(name).type)))
