"""Planted errors: laws that do not hold, as a mistake in a rule would be; each has to be seen in generated programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ghcm.expr import Expr, Get, Lambda, Literal, MakeStruct, Var, free_names, rebuild, walk
from ghcm.optimizer import optimise
from ghcm.optimizer.draft import Change, Draft
from ghcm.optimizer.liveness import DROP_UNUSED, LIVE
from ghcm.optimizer.passes import Pass, Remarks
from ghcm.optimizer.rules import Dropped, Merged, Outcome, Rewritten, Rule, Without, simplified
from ghcm.optimizer.rules.eager import EAGER_RULES
from ghcm.optimizer.rules.nothing import constant_of
from ghcm.reducers import Builtin, Kind
from ghcm.spg import ops
from ghcm.spg.graph import Forward, Input, Program, Task, Unit
from ghcm.types import Bool, Shape
from tests.laws.optimising import keeps_its_meaning

__all__ = ["WRONG", "Wrong"]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A law that does not hold, for a producer and a task of these kinds."""

    name: str
    producer: type
    task: type
    apply: Callable[[Draft, Task, Task], Outcome | None]

    def shows(self, program: Program) -> bool:
        """Whether the program means something else by it."""

        def apply(draft: Draft, producer: Task, task: Task) -> Outcome | None:
            fits = isinstance(producer.op, self.producer) and isinstance(task.op, self.task)
            return self.apply(draft, producer, task) if fits else None

        def change(unit: Unit, remarks: Remarks) -> Unit:
            return simplified(unit, (Rule(self.name, self.name, apply),), remarks)

        planted = Pass("planted", change, frozenset(), requires=frozenset({LIVE}))
        if not optimise(program, (DROP_UNUSED, planted)).steps[1].changed:
            return False
        try:
            keeps_its_meaning(program, (DROP_UNUSED, planted))
        except (AssertionError, LookupError):
            return True
        return False


def _swapped(_draft: Draft, producer: Task, task: Task) -> Outcome:
    """The task ahead of its producer, whatever it reads."""
    return _ahead(producer, task, 0)


def _ahead(producer: Task, task: Task, at: int) -> Outcome:
    edges = tuple(replace(edge, producer=task.id) if here == at else edge for here, edge in enumerate(producer.inputs))
    moved = replace(task, inputs=(replace(task.inputs[0], producer=producer.inputs[at].producer),))
    return Rewritten(Change((moved, replace(producer, inputs=edges)), instead={task.id: producer.id}), "swapped")


def _dropped(_draft: Draft, _producer: Task, _task: Task) -> Outcome:
    return Dropped("planted")


def _without(_draft: Draft, _producer: Task, _task: Task) -> Outcome:
    return Without("planted")


def _second(_draft: Draft, _producer: Task, task: Task) -> Outcome:
    """The two are the second."""
    return Merged(task.op)


def _null_side(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    """A condition on the side of an outer join that may be null, asked before the join."""
    assert isinstance(producer.op, ops.Join) and isinstance(task.op, ops.Filter)
    (given,), body = task.op.predicate.parameters, task.op.predicate.body
    if not producer.op.kind.keeps_left:
        return None

    def of_side(part: Expr) -> Expr:
        return Var("side", part.type) if isinstance(part, Get) and part.of == given and part.field == "right" else part

    asked = rebuild(body, of_side)
    if given.name in free_names(asked) or asked == body:
        return None
    right = draft.task(producer.inputs[1].producer)
    taken = next(part.type for part in walk(asked) if isinstance(part, Var) and part.name == "side")
    moved = replace(task, op=ops.Filter(replace(task.op.predicate, parameters=(Var("side", taken),), body=asked)))
    return _ahead(producer, replace(moved, collection=right.collection), 1)


def _nearly_identity(_draft: Draft, producer: Task, task: Task) -> Outcome | None:
    """A map that copies all fields but one."""
    assert isinstance(task.op, ops.Map)
    body, (given,) = task.op.function.body, task.op.function.parameters
    if producer.collection != task.collection or not isinstance(body, MakeStruct):
        return None
    copied = sum(isinstance(each, Get) and each.of == given for each in body.values)
    return Dropped("it copies nearly all") if copied >= 3 else None


def _one_branch(_draft: Draft, _producer: Task, task: Task) -> Outcome | None:
    change = Change((replace(task, inputs=task.inputs[:1]),))
    return Rewritten(change, "one branch is enough") if len(task.inputs) > 1 else None


def _greatest(_draft: Draft, _producer: Task, task: Task) -> Outcome | None:
    assert isinstance(task.op, ops.ReduceByKey)
    reducer = task.op.reducer
    if not isinstance(reducer, Builtin) or reducer.kind is not Kind.SUM:
        return None
    return Rewritten(Change((replace(task, op=ops.ReduceByKey(Builtin(Kind.MAX, reducer.type))),)), "planted")


def _counts_of_counts(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    """An aggregate that is not associative is split as if it were: parts are counted, and then their counts."""
    split = isinstance(producer.op, ops.Count) or task.id.endswith(".part")
    if split or task.collection.shape is not Shape.PAIRS:
        return None
    part = replace(task, id=draft.new_id(f"{task.id}.part"), named=False)
    whole = replace(task, inputs=(replace(task.inputs[0], producer=part.id),))
    return Rewritten(Change((part, whole)), "split")


def _parts_counted(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    """Of the parts that are made ahead of a join it is counted how many there are, and not what they hold."""
    (rule,) = EAGER_RULES
    outcome = rule.apply(draft, producer, task)
    if not isinstance(outcome, Rewritten):
        return outcome
    *others, merge = outcome.change.put
    return replace(outcome, change=replace(outcome.change, put=(*others, replace(merge, op=ops.Count()))))


def _refused(draft: Draft, task: Task) -> Outcome:
    """Nothing comes of the task."""
    given = replace(task, id=draft.new_id(f"{task.id}.part"), named=False)
    never = ops.Filter(Lambda((Var("r", task.collection.element),), Literal(False, Bool())))
    none = replace(task, op=never, inputs=(Input(given.id, Forward()),))
    return Rewritten(Change((given, none)), "planted")


def _of_nothing(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    """Whatever the task makes of it: an aggregation of all has one record, an outer join those of the other side."""
    return _refused(draft, task) if constant_of(producer.op) is False and not task.id.endswith(".part") else None


def _never_ahead(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    """What has a record fail goes with what would be refused."""
    taken = draft.task(producer.inputs[0].producer).collection
    never = ops.Filter(Lambda((Var("r", taken.element),), Literal(False, Bool())))
    moved = replace(task, op=never, collection=taken)
    return _ahead(producer, moved, 0) if constant_of(task.op) is False else None


WRONG = (
    Wrong("nothing.count() = nothing", ops.Filter, ops.Count, _of_nothing),
    Wrong("any join(a, nothing) = nothing", ops.Filter, ops.Join, _of_nothing),
    Wrong("map(f).filter(false) = filter(false).map(f)", ops.Map, ops.Filter, _never_ahead),
    Wrong("groups(join(a, b)) = groups(join(partial groups(a), b))", ops.MapToPair, ops.Count, _parts_counted),
    Wrong("count() = count() of count()", object, ops.Count, _counts_of_counts),
    Wrong("a filter is gone for one reader of two", ops.Filter, ops.Union, _without),
    Wrong("a condition on the null side of an outer join is asked before it", ops.Join, ops.Filter, _null_side),
    Wrong("distinct() = nothing", ops.FlatMap, ops.Distinct, _dropped),
    Wrong("distinct().map(f) = map(f).distinct()", ops.Distinct, ops.Map, _swapped),
    Wrong("distinct().flat_map(f) = flat_map(f).distinct()", ops.Distinct, ops.FlatMap, _swapped),
    Wrong("top().filter(p) = filter(p).top()", ops.Top, ops.Filter, _swapped),
    Wrong("map(f).filter(p) = filter(p).map(f)", ops.Map, ops.Filter, _swapped),
    Wrong("flat_map(f).filter(p) = filter(p).flat_map(f)", ops.FlatMap, ops.Filter, _swapped),
    Wrong("a sort is gone that may fail", ops.Sort, ops.Distinct, _without),
    Wrong("filter(p).filter(q) = filter(q)", ops.Filter, ops.Filter, _second),
    Wrong("map(f).map(g) = map(g)", ops.Map, ops.Map, _second),
    Wrong("a map that copies all fields but one is nothing", ops.Filter, ops.Map, _nearly_identity),
    Wrong("union(a, b) = a", ops.Source, ops.Union, _one_branch),
    Wrong("the sum is the greatest", ops.MapToPair, ops.ReduceByKey, _greatest),
    Wrong("an iteration is nothing", ops.Map, ops.Iterate, _dropped),
)
"""Each a mistake of its own."""
