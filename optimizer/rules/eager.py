"""Pre-aggregation below joins (eager aggregation, Yan and Larson 1995): groups of what a join gives of its left side
are made of groups of that side by the keys of the join, so that the join takes one record of each of its keys.

A record of the left side is joined as often as its key stands on the right; so is the state of its part, which is then
merged as often. Whatever the groups are by, they are by what the join gives of its right side and by the keys, so that
no part belongs to two of them. Only aggregations that cannot fail are moved: a part that no partner has would otherwise
have a dead letter.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ghcm.expr import Expr, Get, Lambda, MakeStruct, Var, free_names, fresh, rebuild, substitute
from ghcm.failing import can_fail
from ghcm.optimizer.draft import Change, Draft
from ghcm.optimizer.phases import Phases, phases_of
from ghcm.optimizer.rules.rule import Declined, Outcome, Rewritten, Rule
from ghcm.reducers import Phase
from ghcm.spg import ops
from ghcm.spg.graph import Exchange, Forward, Global, Hash, Input, Task
from ghcm.spg.joining import JoinKind, joined_element
from ghcm.types import Collection, Float, Shape, Struct, Type, pair_of, parts, strip, tuple_of


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the left side is grouped by and aggregated of, as functions of its records; the key of the groups behind the
    join, as a function of what that gives then.
    """

    pairs: Lambda
    phases: Phases
    sides: Var
    key: Expr


def _below_join(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    if not isinstance(task.op, ops.Phased) or not isinstance(producer.op, ops.MapToPair):
        return None
    join, pairs = draft.task(producer.inputs[0].producer), producer.op.function
    if not isinstance(join.op, ops.Join) or draft.unit.kind != "batch" or producer.collection.windowed:
        return None
    op = join.op
    if op.kind is not JoinKind.INNER or op.by_key or op.by_time or op.residual is not None:
        return None
    if not isinstance(pairs.body, MakeStruct) or not op.left_keys:
        return None
    left, right = (draft.task(edge.producer) for edge in join.inputs)
    if isinstance(left.op, ops.Phased):
        done = left.op.phase is Phase.PARTIAL
        return None if done else Declined("what is joined is reduced already")
    if can_fail(pairs.body) or any(can_fail(key.body) for key in op.left_keys):
        return Declined("a record may fail in the pair, and its dead letter holds what was joined")
    if draft.is_shared(join.id):
        return Declined(f'"{join.id}" has other readers')
    phases = phases_of(task.op, pairs.body.values[1])
    if isinstance(phases, str):
        return Declined(phases)
    found = _parts(op, pairs, phases, left.collection.element, right.collection.element)
    return _rewritten(draft, join, producer, task, found) if isinstance(found, _Parts) else Declined(found)


def _parts(op: ops.Join, pairs: Lambda, phases: Phases, left: Type, right: Type) -> _Parts | str:
    """The parts of the left side, or why there are none."""
    assert isinstance(pairs.body, MakeStruct)
    (given,) = pairs.parameters
    record = Var(fresh("left", {given.name}), left)
    keys = [substitute(key.body, {key.parameters[0].name: record}) for key in op.left_keys]
    if any(isinstance(strip(each), Float) for key in keys for each in (key.type, *parts(key.type))):
        return "of equal floats, which may be written 0.0 and -0.0, the groups would see others"
    side = Get(given, "left", left)
    value = rebuild(phases.value, lambda part: record if part == side else part)
    if given.name in free_names(value):
        return "it aggregates what is not of the left side alone"
    key = keys[0] if len(keys) == 1 else MakeStruct(tuple(keys), tuple_of(*(each.type for each in keys)))
    element = pair_of(key.type, phases.state)
    sides = Var(fresh("j", {given.name}), joined_element(element, right, op.kind))
    known: dict[Expr, Expr] = {Get(given, "right", right): Get(sides, "right", right)}
    behind = _keys_of(Get(sides, "left", element), key.type, len(keys))
    for each, new in zip(keys, behind, strict=True):
        known[substitute(each, {record.name: side})] = new
    grouped = rebuild(pairs.body.values[0], lambda part: known.get(part, part))
    if given.name in free_names(grouped):
        return "it groups by more of the left side than the keys of the join"
    made_of = MakeStruct((key, value), tuple_of(key.type, value.type))
    return _Parts(Lambda((record,), made_of), phases, sides, grouped)


def _keys_of(pair: Expr, key: Type, count: int) -> Sequence[Expr]:
    """The keys of the join, of a pair whose key they are."""
    whole = Get(pair, "key", key)
    if count == 1:
        return (whole,)
    assert isinstance(key, Struct)
    return [Get(whole, part.name, part.type) for part in key.fields]


def _rewritten(draft: Draft, join: Task, pairs: Task, task: Task, found: _Parts) -> Rewritten:
    assert isinstance(join.op, ops.Join) and isinstance(found.pairs.body, MakeStruct)
    key, value = (each.type for each in found.pairs.body.values)
    edge = join.inputs[0]
    new = replace(task, named=False, calls=0)
    early = replace(
        new,
        id=draft.new_id(f"{task.id}.pairs"),
        op=ops.MapToPair(found.pairs),
        inputs=(Input(edge.producer, Forward()),),
        collection=replace(
            Collection(Shape.PAIRS, pair_of(key, value), bounded=True), timed=draft.task(edge.producer).collection.timed
        ),
    )
    partial = replace(
        new,
        id=draft.new_id(f"{task.id}.part"),
        op=found.phases.partial,
        inputs=(Input(early.id, Hash(("key",))),),
        collection=Collection(Shape.PAIRS, pair_of(key, found.phases.state), bounded=True),
    )
    joined = _joined(join, partial, found)
    state = Get(Get(found.sides, "left", partial.collection.element), "value", found.phases.state)
    pair = MakeStruct((found.key, state), tuple_of(found.key.type, state.type))
    late = replace(
        pairs,
        op=ops.MapToPair(Lambda((found.sides,), pair)),
        collection=replace(
            pairs.collection, element=pair_of(found.key.type, state.type), timed=joined.collection.timed
        ),
    )
    merge = replace(task, op=found.phases.merge)
    return Rewritten(Change((early, partial, joined, late, merge)), f'its left side is reduced ahead of "{join.id}"')


def _joined(join: Task, partial: Task, found: _Parts) -> Task:
    assert isinstance(join.op, ops.Join)
    given, count = Var("p", partial.collection.element), len(join.op.left_keys)
    keys = _keys_of(given, partial.collection.pair[0], count)
    left, right = join.inputs
    by_key: Exchange = Hash(("key",))
    if count > 1 or isinstance(left.exchange, Global):  # what has no column on both sides is taken by one instance
        by_key, right = Global(), replace(right, exchange=Global())
    op = replace(join.op, left_keys=tuple(Lambda((given,), each) for each in keys))
    gives = replace(join.collection, element=found.sides.type, timed=False)
    return replace(join, op=op, inputs=(Input(partial.id, by_key), right), collection=gives)


EAGER_RULES = (Rule("below-join", "groups(join(a, b)) = merged groups(join(partial groups(a), b))", _below_join),)
