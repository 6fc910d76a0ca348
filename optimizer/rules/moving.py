"""Laws that move filters towards the sources, so that less is made, kept and sent of what is refused later anyway.

A filter moves only if no record can fail in its predicate, nor in what it moves ahead of: what would have been refused
there first would otherwise be a dead letter or none. It never moves below the side of an outer join that may be null.
"""

from __future__ import annotations

from dataclasses import replace

from ghcm.expr import Expr, Get, Lambda, Var, bound_names, free_names, fresh, mentions, rebuild
from ghcm.expr import substitute as named
from ghcm.failing import can_fail
from ghcm.optimizer.draft import Change, Draft
from ghcm.optimizer.expressions import substitute
from ghcm.optimizer.reducing import always_gives
from ghcm.optimizer.rules.nothing import constant_of, is_whole
from ghcm.optimizer.rules.rows import is_cheap, is_large, made_of, uses
from ghcm.optimizer.rules.rule import Declined, Outcome, Rewritten, Rule
from ghcm.spg import ops
from ghcm.spg.graph import Forward, Input, Task
from ghcm.types import Float, Shape, Struct, Type, is_nullable, parts, strip

_FAILS = "a record may fail in the predicate, and its dead letter holds what the filter is given now"
_NARROWS = "what is behind the filter relies on what it has shown not to be null"
_LOST = "a record may fail there, and its dead letter would be lost"


_EXACT = "what is joined is known more exactly than that side"
_ZEROS = "of equal floats, which may be written 0.0 and -0.0, the predicate would see others"


def _has_float(type_: Type) -> bool:
    return any(isinstance(strip(each), Float) for each in (type_, *parts(type_)))


def _predicate(producer: Task, task: Task) -> Lambda | Declined | None:
    """The predicate of a filter that might move ahead of its producer."""
    if not isinstance(task.op, ops.Filter):
        return None
    predicate = task.op.predicate
    if can_fail(predicate.body):
        return Declined(_FAILS)
    return Declined(_NARROWS) if task.collection != producer.collection else predicate


def _ahead(
    draft: Draft, producer: Task, task: Task, predicate: Lambda, at: int = 0, below: Task | None = None
) -> Rewritten:
    """The filter between the producer, or a task `below` it, and its input of that number."""
    below = below or producer
    edge = below.inputs[at]
    taken = draft.task(edge.producer).collection
    parallelism = draft.task(edge.producer).parallelism
    moved = replace(
        task,
        op=ops.Filter(predicate),
        inputs=(Input(edge.producer, Forward()),),
        collection=taken,
        parallelism=parallelism,
    )
    edges = tuple(replace(each, producer=task.id) if here == at else each for here, each in enumerate(below.inputs))
    behind = replace(below, inputs=edges)
    reason = f'it stands ahead of "{below.id}"'
    return Rewritten(Change((moved, behind), instead={task.id: producer.id}), reason)


def _through_maps(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    found = _predicate(producer, task) if isinstance(producer.op, _MAKERS) else None
    if not isinstance(found, Lambda):
        return found
    made = made_of(producer.op, draft.task(producer.inputs[0].producer).collection)
    if made is None:
        return None
    if can_fail(made.body):
        return Declined(_LOST)
    if made.body.type != found.parameters[0].type:
        return Declined("what is made is known more exactly than what is taken")
    if any(count and not is_cheap(value) for value, count in uses(made.body, found)):
        return Declined("what the predicate reads is computed there, and would be computed twice")
    if is_large(made.body, found.body):
        return Declined("the expression would be too large to compile well")
    return _ahead(draft, producer, task, Lambda(made.parameters, substitute(found, made.body)))


_MAKERS = ops.Map | ops.MapToPair | ops.MapValues | ops.KeyBy


def _through_unions(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    """Into the branches that end in an operator on single records, with which it will be one task."""
    if not isinstance(producer.op, ops.Union) or not producer.inputs:
        return None
    found = _predicate(producer, task)
    if not isinstance(found, Lambda):
        return found
    branches = [draft.task(edge.producer) for edge in producer.inputs]
    if not all(isinstance(each.op, ops.ChainOp) and not draft.is_shared(each.id) for each in branches):
        return Declined("a branch ends in what it could not be one with, so that there would be more tasks")
    if len({each.id for each in branches}) < len(branches):
        return Declined("a branch stands in the union twice")
    copies = [
        replace(
            task,
            id=draft.new_id(f"{task.id}.{each.id}"),
            inputs=(Input(each.id, Forward()),),
            collection=each.collection,
            parallelism=each.parallelism,
            named=False,
            calls=task.calls if place == 0 else 0,
        )
        for place, each in enumerate(branches)
    ]
    edges = tuple(replace(edge, producer=copy.id) for edge, copy in zip(producer.inputs, copies, strict=True))
    change = Change((*copies, replace(producer, inputs=edges)), (task.id,), {task.id: producer.id})
    return Rewritten(change, f'it stands in the {len(copies)} branches of "{producer.id}"')


def _through_orders(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    if not isinstance(producer.op, ops.Sort | ops.Distinct):
        return None
    found = _predicate(producer, task)
    if not isinstance(found, Lambda):
        return found
    if isinstance(producer.op, ops.Sort) and can_fail(producer.op.by.body):
        return Declined(_LOST)
    if isinstance(producer.op, ops.Distinct) and _has_float(producer.collection.element):
        return Declined(_ZEROS)
    return _ahead(draft, producer, task, found)


def _through_groups(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    """A filter of groups by their key, or window."""
    groups = groups_of(draft, producer)
    if groups is None:
        return None
    found = _predicate(producer, task)
    if not isinstance(found, Lambda):
        return found
    (given,) = found.parameters
    read = list(mentions(found.body, given.name))
    taken = draft.task(groups.inputs[0].producer).collection.element
    keys = ("window",) if producer.collection.shape is Shape.STREAM else ("key", "window")
    never = constant_of(task.op) is False and not is_whole(draft, groups)
    if not (read or never) or not all(isinstance(each, Get) and each.field in keys for each in read):
        return Declined("it looks at what is made of the groups")
    if _has_float(producer.collection.pair[0] if groups.collection.shape is not Shape.STREAM else taken):
        return Declined(_ZEROS)
    if not always_gives(groups.op):
        return Declined("a group may fail, and its dead letter would be lost")
    if draft.is_shared(groups.id):
        return Declined(f'"{groups.id}" has other readers')
    record = Var(given.name, taken)
    body = named(found.body, {given.name: record})
    return _ahead(draft, producer, task, Lambda((record,), body), below=groups)


def groups_of(draft: Draft, task: Task) -> Task | None:
    """The groups that a task gives, or of which it gives the final pairs; None where it gives none."""
    if isinstance(task.op, ops.Changes) and task.op.final:
        task = draft.task(task.inputs[0].producer)
    kinds = ops.ReduceByKey | ops.AggregateByKey | ops.GroupByKey | ops.Count
    return task if isinstance(task.op, kinds) else None


def _through_joins(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    """To the side that it reads, where records of that side are never missing in what the join gives."""
    op = producer.op
    if not isinstance(op, ops.Join):
        return None
    found = _predicate(producer, task)
    if not isinstance(found, Lambda):
        return found
    if op.by_time or draft.unit.kind != "batch":
        return Declined("what is refused earlier would no longer move event time on")
    keys = all(not can_fail(key.body) for key in (*op.left_keys, *op.right_keys))
    if not keys or (op.residual is not None and can_fail(op.residual.body)):
        return Declined(_LOST)
    elements = [draft.task(edge.producer).collection.element for edge in producer.inputs]
    if op.kind.left_alone:
        exact = producer.collection.element == elements[0]
        return _ahead(draft, producer, task, found) if exact else Declined(_EXACT)
    missing = (op.kind.keeps_right, op.kind.keeps_left)
    for at in (0, 1):
        predicate = _of_side(op, found, at, elements[at])
        if predicate is not None and not missing[at]:
            exact = _side(op, producer.collection.element, at) == _value(op, elements[at])
            return _ahead(draft, producer, task, predicate, at) if exact else Declined(_EXACT)
        if predicate is not None:
            return Declined("that side is null where a record has no partner, which is not refused there")
    return Declined("it reads both sides")


def _side(op: ops.Join, joined: Type, at: int) -> Type:
    """The type of a side in what a join gives."""
    assert isinstance(joined, Struct)
    sides = strip(joined.fields[1].type) if op.by_key else joined
    assert isinstance(sides, Struct)
    return sides.fields[at].type


def _value(op: ops.Join, element: Type) -> Type:
    """The type of what a join takes of a side."""
    return element.fields[1].type if op.by_key and isinstance(element, Struct) else element


def _of_side(op: ops.Join, predicate: Lambda, at: int, element: Type) -> Lambda | None:
    """The predicate as one of the records of a side; None where it reads anything else."""
    (given,), body = predicate.parameters, predicate.body
    record = Var(fresh(given.name, free_names(body) | bound_names(body)), element)
    side = ("left", "right")[at]

    def of_pairs(part: Expr) -> Expr:
        match part:
            case Get(of=Get(of=of, field="value"), field=field) if of == given and field == side:
                return Get(record, "value", part.type)
            case Get(of=of, field="key" | "window" as field) if of == given and not is_nullable(part.type):
                return Get(record, field, part.type)
            case _:  # not of that side
                return part

    def of_records(part: Expr) -> Expr:
        return record if isinstance(part, Get) and part.of == given and part.field == side else part

    changed = rebuild(body, of_pairs if op.by_key else of_records)
    shadowed = given.name in bound_names(body)
    return None if shadowed or given.name in free_names(changed) else Lambda((record,), changed)


MOVING_RULES = (
    Rule("filter-map", "map(f).filter(p) = filter(p of f).map(f)", _through_maps),
    Rule("filter-union", "union(a, b).filter(p) = union(a.filter(p), b.filter(p))", _through_unions),
    Rule("filter-order", "sort().filter(p) = filter(p).sort(), and so of distinct", _through_orders),
    Rule("filter-group", "groups.filter(p of the key) = groups of filter(p of the key)", _through_groups),
    Rule("filter-join", "join(a, b).filter(p of a) = join(a.filter(p), b)", _through_joins),
)
