"""Pre-aggregation below joins (eager aggregation, Yan and Larson 1995): groups of what a join gives of its left side
are made of groups of that side, so that the join takes one record of each key.

A record of the left side is joined as often as its key stands on the right; so is its group, whose value is then
reduced as often. What is the same however often, or adds up, is so for both. Only reducers that cannot fail are moved:
a group that no partner has would otherwise have a dead letter.
"""

from dataclasses import replace

from ghcm.expr import Expr, Get, Lambda, MakeStruct, Var, free_names, rebuild
from ghcm.failing import can_fail
from ghcm.optimizer.draft import Change, Draft
from ghcm.optimizer.reducing import cannot_fail
from ghcm.optimizer.rules.rule import Declined, Outcome, Rewritten, Rule
from ghcm.reducers import splittable
from ghcm.spg import ops
from ghcm.spg.graph import Forward, Hash, Input, Task
from ghcm.spg.joining import JoinKind, joined_element
from ghcm.types import Collection, Shape, Type, pair_of, tuple_of


def _below_join(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    """The groups of pairs that are made of the left side of a join, by the key of the join."""
    if not isinstance(task.op, ops.ReduceByKey) or not isinstance(producer.op, ops.MapToPair):
        return None
    join = draft.task(producer.inputs[0].producer)
    if not isinstance(join.op, ops.Join) or draft.unit.kind != "batch" or producer.collection.windowed:
        return None
    found = _of_left(draft, join.op, join, producer.op.function)
    if not isinstance(found, Lambda):
        return found
    if not splittable(task.op.reducer) or not cannot_fail(task.op.reducer):
        return Declined("its values are not reduced in any order, or a group may fail that no record is joined with")
    if draft.is_shared(join.id):
        return Declined(f'"{join.id}" has other readers')
    return _rewritten(draft, join, producer, task, found)


def _of_left(draft: Draft, op: ops.Join, join: Task, pairs: Lambda) -> Lambda | Declined | None:
    """The pairs as made of a record of the left side; None where the law has another shape."""
    body = pairs.body
    if op.kind is not JoinKind.INNER or op.by_key or op.by_time or len(op.left_keys) != 1:
        return None
    if not isinstance(body, MakeStruct) or op.residual is not None:
        return None
    (given,), (key,) = pairs.parameters, op.left_keys
    left = draft.task(join.inputs[0].producer)
    record = Var(key.parameters[0].name, left.collection.element)

    def change(part: Expr) -> Expr:
        is_left = isinstance(part, Get) and part.of == given and part.field == "left" and part.type == record.type
        return record if is_left else part

    made = rebuild(body, change)
    if given.name in free_names(made) or not isinstance(made, MakeStruct) or made.values[0] != key.body:
        return None
    if isinstance(left.op, ops.ReduceByKey):
        return Declined("what is joined is reduced already")
    if can_fail(made) or given.name == record.name:
        return Declined("a record may fail in the pair, and its dead letter holds what was joined")
    return Lambda((record,), made)


def _rewritten(draft: Draft, join: Task, pairs: Task, task: Task, made: Lambda) -> Rewritten:
    assert isinstance(join.op, ops.Join) and isinstance(made.body, MakeStruct)
    key, value = (each.type for each in made.body.values)
    edge = join.inputs[0]
    element = pair_of(key, value)
    part = Collection(Shape.PAIRS, element, bounded=True)
    early = replace(
        pairs,
        id=draft.new_id(f"{task.id}.pairs"),
        op=ops.MapToPair(made),
        inputs=(Input(edge.producer, Forward()),),
        collection=replace(part, timed=draft.task(edge.producer).collection.timed),
        named=False,
        calls=0,
    )
    partial = replace(
        task,
        id=draft.new_id(f"{task.id}.part"),
        inputs=(Input(early.id, Hash(("key",))),),
        collection=part,
        named=False,
        calls=0,
    )
    joined = _joined(draft, join, partial, element)
    sides = Var("j", joined.collection.element)
    left = Get(sides, "left", element)
    pair = MakeStruct((Get(left, "key", key), Get(left, "value", value)), tuple_of(key, value))
    late = replace(pairs, op=ops.MapToPair(Lambda((sides,), pair)))
    late = replace(late, collection=replace(pairs.collection, timed=joined.collection.timed))
    return Rewritten(Change((early, partial, joined, late)), f'its left side is reduced ahead of "{join.id}"')


def _joined(draft: Draft, join: Task, partial: Task, element: Type) -> Task:
    assert isinstance(join.op, ops.Join)
    _, right = join.inputs
    given = Var("p", element)
    key_type = partial.collection.pair[0]
    op = replace(join.op, left_keys=(Lambda((given,), Get(given, "key", key_type)),))
    made = joined_element(element, draft.task(right.producer).collection.element, join.op.kind)
    gives = replace(join.collection, element=made, timed=False)
    return replace(join, op=op, inputs=(Input(partial.id, Hash(("key",))), right), collection=gives)


EAGER_RULES = (Rule("below-join", "reduce(join(a, b) by the key of a) = reduce(join(reduce(a), b))", _below_join),)
