"""Whether groups can fail: a sum that does not fit, or a function of one's own."""

from ghcm.failing import can_fail
from ghcm.reducers import Aggregate, AggregateFunction, Builtin, Fields, Kind, Reducer
from ghcm.spg import ops
from ghcm.types import Float, strip


def always_gives(op: ops.Op) -> bool:
    """Whether no record and no group can fail in an aggregation."""
    match op:
        case ops.Count() | ops.GroupByKey():
            return True
        case ops.ReduceByKey(reducer=reducer):
            return cannot_fail(reducer)
        case ops.AggregateByKey(aggregates=aggregates):
            return all(map(fits, aggregates))
        case _:  # no aggregation
            return False


def cannot_fail(reducer: Reducer) -> bool:
    """Whether every group has a value."""
    match reducer:
        case Builtin(kind=kind, type=type_):
            return kind is not Kind.SUM or isinstance(strip(type_), Float)
        case Fields(parts=parts):
            return all(map(cannot_fail, parts))
        case _:  # a function of one's own
            return not can_fail(reducer.function.body) and (reducer.order is None or not can_fail(reducer.order.body))


def fits(what: Aggregate) -> bool:
    """Whether an aggregate has a value of all records, whatever they are."""
    functions = [each for each in (what.argument, what.order, what.finish) if each is not None]
    if what.reducer is not None and not cannot_fail(what.reducer):
        return False
    sums = what.function is AggregateFunction.SUM and not isinstance(strip(what.type), Float)
    return all(not can_fail(each.body) for each in functions) and not sums
