"""Removes redundant calls: two operators that are one by an algebraic law become that one; `RULES` has the laws.

What it does: applies the laws until none fits.
Why: fewer calls per record, and expressions that an engine can optimise as a whole.
Example: the first two become the third (`tests/golden/optimiser/filters.spg` in full)::

    few = filter((l: {n: int}) => l.n > 1) <- lines
    some = filter((l: {n: int}) => l.n < 9) <- few
    some = filter((l: {n: int}) => l.n > 1 and l.n < 9) <- lines

Requires and keeps: live graphs. Keeps the consumer's id, and every dead letter.
Declines when: a record may fail in what would be merged (its dead letter would name another operator or hold another
input); a costly expression would be evaluated more than once; the producer has other readers.

A rule is given a task and one that it reads from, and says what the two become, why they stay two, or nothing where its
law has another shape. It changes nothing itself.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from ghcm.expr import Call, Expr, Get, Lambda, Literal, MakeStruct, Param, Var, mentions
from ghcm.failing import can_fail
from ghcm.optimizer.liveness import LIVE
from ghcm.optimizer.passes import Fact, Pass, Remarks, merge, remove, substitute
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Filter, FlatMap, KeyBy, Map, MapToPair, MapValues, Op, Union
from ghcm.types import Bool, Nullable, Struct, Type, is_nullable


@dataclass(frozen=True, slots=True)
class Merged:
    """The two are this operation."""

    op: Op


@dataclass(frozen=True, slots=True)
class Dropped:
    """The task is nothing."""

    reason: str


@dataclass(frozen=True, slots=True)
class Declined:
    """The law has this shape and must not be applied."""

    reason: str


Outcome: TypeAlias = Merged | Dropped | Declined


@dataclass(frozen=True, slots=True)
class Rule:
    """One law. `apply` is given the producer and the task that reads from it."""

    name: str
    law: str
    apply: Callable[[Task, Task], Outcome | None]


def _identity(producer: Task, task: Task) -> Outcome | None:
    """A map that makes a stream of pairs is more than an identity."""
    if not isinstance(task.op, Map | MapValues):
        return None
    function = task.op.function
    same = function.body == function.parameters[0] and producer.collection == task.collection
    return Dropped("the records are unchanged") if same else None


def _unions(producer: Task, task: Task) -> Outcome | None:
    return Merged(Union()) if isinstance(producer.op, Union) and isinstance(task.op, Union) else None


def _filters(producer: Task, task: Task) -> Outcome | None:
    if not isinstance(producer.op, Filter) or not isinstance(task.op, Filter):
        return None
    first, second = producer.op.predicate, task.op.predicate
    if can_fail(first.body) or can_fail(second.body):
        return Declined("a record may fail in one of the predicates, and its dead letter names that filter")
    if second.parameters[0].type != first.parameters[0].type:
        return Declined("the second predicate relies on what the first has shown not to be null")
    right = substitute(second, first.parameters[0])
    nullable = is_nullable(first.body.type) or is_nullable(right.type)
    type_: Type = Nullable(Bool()) if nullable else Bool()
    return Merged(Filter(Lambda(first.parameters, Call("and", (first.body, right), type_))))


def _composed(kind: type[Map] | type[FlatMap] | type[MapToPair]) -> Callable[[Task, Task], Outcome | None]:
    """A map before another function of the record."""

    def apply(producer: Task, task: Task) -> Outcome | None:
        if not isinstance(producer.op, Map) or not isinstance(task.op, kind):
            return None
        first, second = producer.op.function, task.op.function
        reason = _obstacle(first.body, second)
        return Declined(reason) if reason else Merged(kind(Lambda(first.parameters, substitute(second, first.body))))

    return apply


def _keyed(producer: Task, task: Task) -> Outcome | None:
    both = isinstance(producer.op, Map) and isinstance(task.op, KeyBy)
    return Declined("key_by keeps the record that map made") if both else None


def _values(producer: Task, task: Task) -> Outcome | None:
    if not isinstance(producer.op, MapToPair) or not isinstance(task.op, MapValues):
        return None
    first, second = producer.op.function, task.op.function
    pair = first.body
    if not isinstance(pair, MakeStruct) or not isinstance(pair.type, Struct):
        return Declined("the pair is not made on the spot")
    key, value = pair.values
    reason = _obstacle(value, second) or ("a record may fail in the key" if can_fail(key) else "")
    if reason:
        return Declined(reason)
    changed = substitute(second, value)
    fields = (pair.type.fields[0], replace(pair.type.fields[1], type=changed.type))
    return Merged(MapToPair(Lambda(first.parameters, MakeStruct((key, changed), Struct(fields, pair.type.name)))))


def _obstacle(argument: Expr, function: Lambda) -> str:
    """Why `argument` may not take the place of the function's parameter; empty if it may."""
    if can_fail(argument):
        return "a record may fail in the first function, and its dead letter names that operator"
    if can_fail(function.body):
        return "a record may fail in the second function, and its dead letter holds what the first made"
    (parameter,) = function.parameters
    if argument.type != parameter.type:
        return "what is made is known more exactly than what is taken"
    found = list(mentions(function.body, parameter.name))
    if isinstance(argument, MakeStruct) and isinstance(argument.type, Struct):
        taken = [part.field for part in found if isinstance(part, Get)]
        whole = len(found) - len(taken)
        counts = [
            (value, taken.count(name) + whole) for value, name in zip(argument.values, argument.type.names, strict=True)
        ]
    else:
        counts = [(argument, len(found))]
    if any(count > 1 and not _is_cheap(value) for value, count in counts):
        return "a value that is costly to compute would be computed more than once"
    return ""


def _is_cheap(expr: Expr) -> bool:
    match expr:
        case Literal() | Var() | Param():
            return True
        case Get(of=of):
            return _is_cheap(of)
        case _:  # anything else is computed
            return False


RULES = (
    Rule("identity", "map(x => x) = nothing", _identity),
    Rule("unions", "union(union(a, b), c) = union(a, b, c)", _unions),
    Rule("filters", "filter(p).filter(q) = filter(p and q)", _filters),
    Rule("map-map", "map(f).map(g) = map(g of f)", _composed(Map)),
    Rule("map-flat-map", "map(f).flat_map(g) = flat_map(g of f)", _composed(FlatMap)),
    Rule("map-pair", "map(f).map_to_pair(g) = map_to_pair(g of f)", _composed(MapToPair)),
    Rule("map-key", "map(f).key_by(g) = key_by(g of f)", _keyed),
    Rule("pair-values", "map_to_pair(f).map_values(g) = map_to_pair((k, g(v)))", _values),
)
"""Tried in this order at each task, for each of its inputs."""


def _redundant(unit: Unit) -> Iterator[str]:
    for rule, producer, task, outcome in _matches(unit):
        if not _reason(unit, producer, outcome):
            yield f'"{unit.name}.{task.id}" behind "{producer.id}" is redundant: {rule.law}'


def _simplify(unit: Unit, remarks: Remarks) -> Unit:
    """Apply the first law that fits until none does; every application removes a task, so this ends."""
    declined: set[tuple[str, str]] = set()
    while (changed := _once(unit, remarks, declined)) is not unit:
        unit = changed
    return unit


def _matches(unit: Unit) -> Iterator[tuple[Rule, Task, Task, Outcome]]:
    """What the laws say of each task and the ones that it reads from."""
    for task in unit.tasks:
        for edge in task.inputs:
            producer = unit.task(edge.producer)
            for rule in RULES:
                outcome = rule.apply(producer, task)
                if outcome is not None:
                    yield rule, producer, task, outcome
                    break


def _reason(unit: Unit, producer: Task, outcome: Outcome) -> str:
    """Why nothing comes of it; empty where something does."""
    if isinstance(outcome, Declined):
        return outcome.reason
    alone = isinstance(outcome, Dropped) or len(unit.consumers(producer.id)) == 1
    return "" if alone else f'"{producer.id}" has other readers'


def _once(unit: Unit, remarks: Remarks, declined: set[tuple[str, str]]) -> Unit:
    for rule, producer, task, outcome in _matches(unit):
        reason = _reason(unit, producer, outcome)
        if isinstance(outcome, Declined) or reason:
            if (producer.id, task.id) not in declined:
                remarks.declined(unit, task, rule.law, reason)
                declined.add((producer.id, task.id))
        elif isinstance(outcome, Dropped):
            remarks.applied(unit, task, rule.law, outcome.reason)
            return remove(unit, task)
        else:
            remarks.applied(unit, task, rule.law, f'"{producer.id}" became part of it')
            return merge(unit, producer, task, outcome.op)
    return unit


SIMPLIFIED = Fact("no redundant calls are left", _redundant)
REMOVE_REDUNDANT_CALLS = Pass("remove-redundant-calls", _simplify, frozenset({SIMPLIFIED}), requires=frozenset({LIVE}))
