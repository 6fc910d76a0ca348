"""Laws of operators that bring records together: unions, groups, orders, and what is different."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from ghcm.expr import Call, Expr, Get, Lambda, Var, bound_names, free_names, fresh, rebuild
from ghcm.failing import can_fail
from ghcm.optimizer.draft import Change, Draft
from ghcm.optimizer.rules.rule import Declined, Dropped, Merged, Outcome, Rewritten, Rule, Without
from ghcm.reducers import Aggregate, AggregateFunction, Custom, Fields, Reducer
from ghcm.spg import ops
from ghcm.spg.graph import Task
from ghcm.types import Field, Struct, Type


def _unions(_draft: Draft, producer: Task, task: Task) -> Outcome | None:
    if not isinstance(producer.op, ops.Union) or not isinstance(task.op, ops.Union):
        return None
    return Merged(ops.Union()) if producer.inputs else None  # what stands for the input of a step reads nothing


def _distinct_twice(_draft: Draft, producer: Task, task: Task) -> Outcome | None:
    twice = isinstance(producer.op, ops.Distinct) and isinstance(task.op, ops.Distinct)
    return Dropped("the records are different already") if twice else None


# --- orders ----------------------------------------------------------------------------------------------------------


def _unseen_order(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    if not isinstance(producer.op, ops.Sort):
        return None
    behind = _behind_rows(draft, task)
    if behind is None or not isinstance(behind.op, _FORGETFUL):
        return None
    if not _forgets_order(behind.op):
        return Declined(f'"{behind.id}" takes records as they come')
    if can_fail(producer.op.by.body):
        return Declined("a record may fail in the function of the order")
    return Without("its order is not seen")


_FORGETFUL = (
    ops.Count | ops.Distinct | ops.Sort | ops.Top | ops.GroupByKey | ops.AggregateByKey | ops.ReduceByKey | ops.Join
)
"""What may give the same of its records in any order."""


def _behind_rows(draft: Draft, task: Task) -> Task | None:
    """The task, or the one behind it and others on single records that nobody else reads from; None where there are
    several.
    """
    seen = ops.Filter | ops.Map | ops.FlatMap | ops.MapToPair | ops.MapValues | ops.KeyBy
    while isinstance(task.op, seen):
        if draft.is_shared(task.id) or not draft.readers(task.id):
            return None
        (task,) = draft.readers(task.id)
    return task


def _forgets_order(op: ops.Op) -> bool:
    """Whether it gives the same of its records in any order, and in an order of its own if at all."""
    match op:
        case ops.Count() | ops.Distinct() | ops.Sort() | ops.Top() | ops.GroupByKey():
            return True
        case ops.AggregateByKey(aggregates=aggregates):
            merges = (each.reducer for each in aggregates if each.reducer is not None)
            return not any(each.arrival for each in aggregates) and all(map(_any_order, merges))
        case ops.ReduceByKey(reducer=reducer):
            return _any_order(reducer)
        case ops.Join():
            return not op.by_time
        case _:  # the others show it, or may
            return False


def _any_order(reducer: Reducer) -> bool:
    match reducer:
        case Custom(claimed=claimed):
            return not claimed  # one that is claimed gives what it gives in the order in which records come
        case Fields(parts=parts):
            return all(map(_any_order, parts))
        case _:  # the built-in ones
            return True


# --- groups that are folded ------------------------------------------------------------------------------------------

_FOLDS = {
    "length": AggregateFunction.COUNT,
    "list_sum": AggregateFunction.SUM,
    "list_min": AggregateFunction.MIN,
    "list_max": AggregateFunction.MAX,
    "list_mean": AggregateFunction.MEAN,
}
"""What a function of the list of a group comes to without the list."""


def _folded(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    """The aggregates of groups of which only these are read."""
    groups = _groups_behind(draft, producer)
    if groups is None or not isinstance(task.op, ops.MapValues):
        return None
    function = task.op.function
    (values,) = function.parameters
    found: dict[Expr, Aggregate] = {}
    name = fresh("totals", free_names(function.body) | bound_names(function.body))
    element = draft.task(groups.inputs[0].producer).collection.pair[1]

    def is_fold(part: Expr) -> TypeGuard[Call]:
        return isinstance(part, Call) and part.function in _FOLDS and part.arguments == (values,)

    def collect(part: Expr) -> Expr:
        if is_fold(part):
            found.setdefault(part, _aggregate(f"a{len(found)}", part, element))
        return part

    rebuild(function.body, collect)
    if not found or values.name in bound_names(function.body):
        return None
    totals = Struct(tuple(Field(each.name, each.type) for each in found.values()))
    single = len(found) == 1 and is_fold(function.body)
    row = Var(name, next(iter(found.values())).type if single else totals)

    def change(part: Expr) -> Expr:
        if is_fold(part):
            each = found[part]
            return row if single else Get(row, each.name, each.type)
        return part

    body = rebuild(function.body, change)
    if values.name in free_names(body):
        return Declined("the list of the group is read in other ways, too")
    reason = _obstacle(draft, groups, function, tuple(found.values()))
    if reason:
        return Declined(reason)
    return _as_aggregates(draft, groups, producer, task, tuple(found.values()), Lambda((row,), body), single=single)


def _groups_behind(draft: Draft, task: Task) -> Task | None:
    """The lists of groups that a task gives, or of which it gives the final pairs."""
    if isinstance(task.op, ops.Changes) and task.op.final:
        task = draft.task(task.inputs[0].producer)
    return task if isinstance(task.op, ops.GroupByKey) else None


def _aggregate(name: str, call: Call, element: Type) -> Aggregate:
    function = _FOLDS[call.function]
    record = Var("v", element)
    argument = None if function is AggregateFunction.COUNT else Lambda((record,), record)
    return Aggregate(name, function, argument, call.type)


def _obstacle(draft: Draft, groups: Task, function: Lambda, found: tuple[Aggregate, ...]) -> str:
    if draft.is_shared(groups.id):
        return f'"{groups.id}" has other readers'
    if can_fail(function.body):
        return "a group may fail, and its dead letter holds the list"
    return ""


def _as_aggregates(
    draft: Draft,
    groups: Task,
    producer: Task,
    task: Task,
    aggregates: tuple[Aggregate, ...],
    function: Lambda,
    *,
    single: bool,
) -> Rewritten:
    """The groups as aggregates under the id of the groups; what is made of these behind them."""
    del draft
    value = function.parameters[0].type
    made = replace(groups, op=ops.AggregateByKey(aggregates, scalar=single))
    made = replace(made, collection=replace(made.collection, element=_with_value(groups, value)))
    between = (
        ()
        if groups.id == producer.id
        else (replace(producer, collection=replace(producer.collection, element=_with_value(producer, value))),)
    )
    reason = f"only {' and '.join(each.function.value for each in aggregates)} of its lists are read"
    if single:
        return Rewritten(Change((made, *between), (task.id,), {task.id: producer.id}), reason)
    behind = replace(task, op=ops.MapValues(function))
    return Rewritten(Change((made, *between, behind)), reason)


def _with_value(task: Task, value: Type) -> Struct:
    element = task.collection.element
    assert isinstance(element, Struct)
    fields = (element.fields[0], Field("value", value), *element.fields[2:])
    return Struct(fields)


GROUP_RULES = (
    Rule("unions", "union(union(a, b), c) = union(a, b, c)", _unions),
    Rule("distinct", "distinct().distinct() = distinct()", _distinct_twice),
    Rule("unseen-order", "sort() before what forgets the order = nothing", _unseen_order),
    Rule("folded", "group_by_key().map_values(fold) = aggregate_by_key(fold)", _folded),
)
