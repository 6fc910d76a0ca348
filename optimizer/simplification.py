"""Removes redundant calls: two operators that are one by an algebraic law become that one.

What it does, each row a law, applied until none fits:

    map(f).map(g)                 =  map(g of f)              likewise before flat_map and map_to_pair
    map_to_pair(f).map_values(g)  =  map_to_pair((k, g(v)))   where f makes its pair on the spot
    filter(p).filter(q)           =  filter(p and q)
    map(x => x)                   =  nothing
    union(union(a, b), c)         =  union(a, b, c)

Why: fewer calls per record, and expressions that an engine can optimise as a whole.
Requires and keeps: live graphs. Keeps the consumer's id; keeps every dead letter, since only expressions in which no
record can fail are merged.
Declines when: a record may fail in what would be merged (its dead letter would name another operator or hold another
input); a costly expression would be evaluated more than once; the producer has other readers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ghcm.expr import Call, Expr, Get, Lambda, Literal, MakeStruct, Param, Var, mentions
from ghcm.optimizer.passes import Fact, Remarks
from ghcm.optimizer.rewrite import each_unit, is_total, merge, remove, rewire, substitute
from ghcm.spg.graph import Program, Task, Unit
from ghcm.spg.ops import Filter, FlatMap, KeyBy, Map, MapToPair, MapValues, Op, Union, traits_of
from ghcm.types import Bool, Nullable, Struct, Type, is_nullable


@dataclass(frozen=True, slots=True)
class RemoveRedundantCalls:
    """The pass; it has no options."""

    name: str = "remove-redundant-calls"
    requires: frozenset[Fact] = frozenset({Fact.LIVE})
    establishes: frozenset[Fact] = frozenset({Fact.SIMPLIFIED})

    def run(self, program: Program, remarks: Remarks) -> Program:
        """The program without redundant calls."""
        return each_unit(program, lambda unit: _simplify(unit, remarks))


def _simplify(unit: Unit, remarks: Remarks) -> Unit:
    """Apply the first law that fits until none does; every application removes a task, so this ends."""
    declined: set[tuple[str, str]] = set()
    while (changed := _once(unit, remarks, declined)) is not unit:
        unit = changed
    return unit


def _once(unit: Unit, remarks: Remarks, declined: set[tuple[str, str]]) -> Unit:
    for task in unit.tasks:
        if _is_identity(unit, task):
            remarks.applied(unit.name, task.id, "map(x => x) = nothing", "the records are unchanged", task.origin)
            return remove(unit, task)
        for edge in task.inputs:
            producer = unit.task(edge.producer)
            attempt = _combine(producer, task)
            if attempt is None:
                continue
            if isinstance(attempt, _Declined) or len(unit.consumers(producer.id)) > 1:
                reason = attempt.reason if isinstance(attempt, _Declined) else f'"{producer.id}" has other readers'
                law = attempt.law
                if (producer.id, task.id) not in declined:
                    remarks.declined(unit.name, task.id, law, reason, task.origin)
                    declined.add((producer.id, task.id))
                continue
            remarks.applied(unit.name, task.id, attempt.law, f'"{producer.id}" became part of it', task.origin)
            merged = rewire(replace(task, op=attempt.op), producer.id, producer.inputs)
            return merge(unit, producer, replace(merged, calls=task.calls + producer.calls))
    return unit


@dataclass(frozen=True, slots=True)
class _Combined:
    law: str
    op: Op


@dataclass(frozen=True, slots=True)
class _Declined:
    law: str
    reason: str


def _combine(producer: Task, consumer: Task) -> _Combined | _Declined | None:
    """What the two are by the laws of this pass, why not, or None where no law has this shape."""
    match producer.op, consumer.op:
        case Union(), Union():
            return _Combined("union(union(a, b), c) = union(a, b, c)", Union())
        case Filter(predicate=first), Filter(predicate=second):
            return _filters(first, second)
        case Map(function=first), (Map() | FlatMap() | MapToPair() | KeyBy()) as op:
            return _maps(first, op)
        case MapToPair(function=first), MapValues(function=second):
            return _values(first, second)
        case _:
            return None


def _filters(first: Lambda, second: Lambda) -> _Combined | _Declined:
    law = "filter(p).filter(q) = filter(p and q)"
    if not (is_total(first.body) and is_total(second.body)):
        return _Declined(law, "a record may fail in one of the predicates, and its dead letter names that filter")
    if second.parameters[0].type != first.parameters[0].type:
        return _Declined(law, "the second predicate relies on what the first has shown not to be null")
    right = substitute(second, first.parameters[0])
    nullable = is_nullable(first.body.type) or is_nullable(right.type)
    type_: Type = Nullable(Bool()) if nullable else Bool()
    return _Combined(law, Filter(Lambda(first.parameters, Call("and", (first.body, right), type_))))


def _maps(first: Lambda, op: Map | FlatMap | MapToPair | KeyBy) -> _Combined | _Declined:
    word = traits_of(op).word
    law = f"map(f).{word}(g) = {word}(g of f)"
    if isinstance(op, KeyBy):
        return _Declined(law, "key_by keeps the record that map made")
    reason = _obstacle(first.body, op.function)
    if reason:
        return _Declined(law, reason)
    return _Combined(law, type(op)(Lambda(first.parameters, substitute(op.function, first.body))))


def _values(first: Lambda, second: Lambda) -> _Combined | _Declined | None:
    law = "map_to_pair(f).map_values(g) = map_to_pair((k, g(v)))"
    pair = first.body
    if not isinstance(pair, MakeStruct) or not isinstance(pair.type, Struct):
        return _Declined(law, "the pair is not made on the spot")
    key, value = pair.values
    reason = _obstacle(value, second) or ("" if is_total(key) else "a record may fail in the key")
    if reason:
        return _Declined(law, reason)
    changed = substitute(second, value)
    fields = (pair.type.fields[0], replace(pair.type.fields[1], type=changed.type))
    return _Combined(
        law, MapToPair(Lambda(first.parameters, MakeStruct((key, changed), Struct(fields, pair.type.name))))
    )


def _obstacle(argument: Expr, function: Lambda) -> str:
    """Why `argument` may not take the place of the function's parameter; empty if it may."""
    if not is_total(argument):
        return "a record may fail in the first function, and its dead letter names that operator"
    if not is_total(function.body):
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
        case _:
            return False


def _is_identity(unit: Unit, task: Task) -> bool:
    """Whether it gives what it takes; a map that makes a stream of pairs is more than that."""
    match task.op:
        case Map(function=function) | MapValues(function=function):
            taken = unit.task(task.inputs[0].producer).collection
            return function.body == function.parameters[0] and taken == task.collection
        case _:
            return False
