"""Laws of operators that take each record by itself: two of them are one.

Both have to be total: the dead letter of a record that fails names one operator and holds what that one was given.
What may fail stays apart here; compression makes one task of it all the same, which keeps its stages.
"""

from dataclasses import replace
from itertools import islice

from ghcm.expr import Call, Expr, Get, Lambda, Literal, MakeStruct, Param, Var, free_names, fresh, mentions, walk
from ghcm.failing import can_fail
from ghcm.optimizer.draft import Draft
from ghcm.optimizer.expressions import substitute
from ghcm.optimizer.rules.nothing import constant_of
from ghcm.optimizer.rules.rule import Apply, Declined, Dropped, Merged, Outcome, Rule
from ghcm.spg.graph import Task
from ghcm.spg.ops import Filter, FlatMap, KeyBy, Map, MapToPair, MapValues, Op
from ghcm.types import Bool, Collection, Nullable, Struct, Type, is_nullable, pair_of, tuple_of

LARGEST = 400
"""Nodes of an expression that two are merged into: longer chains are cheaper as stages of one task."""

_TOO_LARGE = "the expression would be too large to compile well"


def _identity(_draft: Draft, producer: Task, task: Task) -> Outcome | None:
    """A map that makes a stream of pairs is more than an identity."""
    if not isinstance(task.op, Map | MapValues):
        return None
    function = task.op.function
    same = function.body == function.parameters[0] or _rebuilds(function)
    return Dropped("the records are unchanged") if same and producer.collection == task.collection else None


def _always(_draft: Draft, producer: Task, task: Task) -> Outcome | None:
    always = constant_of(task.op) is True
    return Dropped("no record is refused") if always and producer.collection == task.collection else None


def _rebuilds(function: Lambda) -> bool:
    """Whether it makes a record of all fields of its own as they are."""
    (parameter,), body = function.parameters, function.body
    if not isinstance(body, MakeStruct) or body.type != parameter.type or not isinstance(body.type, Struct):
        return False
    return all(
        value == Get(parameter, field.name, field.type)
        for value, field in zip(body.values, body.type.fields, strict=True)
    )


def _filters(_draft: Draft, producer: Task, task: Task) -> Outcome | None:
    if not isinstance(producer.op, Filter) or not isinstance(task.op, Filter):
        return None
    first, second = producer.op.predicate, task.op.predicate
    if can_fail(first.body) or can_fail(second.body):
        return Declined("a record may fail in one of the predicates, and its dead letter names that filter")
    if second.parameters[0].type != first.parameters[0].type:
        return Declined("the second predicate relies on what the first has shown not to be null")
    if is_large(first.body, second.body):
        return Declined(_TOO_LARGE)
    right = substitute(second, first.parameters[0])
    both = list(conjuncts(first.body))
    both += [each for each in conjuncts(right) if each not in both]  # what is asked twice is asked once
    return Merged(Filter(Lambda(first.parameters, conjunction(tuple(both)))))


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """The parts of which an expression is the `and`."""
    if isinstance(expr, Call) and expr.function == "and":
        return tuple(part for each in expr.arguments for part in conjuncts(each))
    return (expr,)


def conjunction(parts: tuple[Expr, ...]) -> Expr:
    """The `and` of these, in their order; as flat as it can be, so that nothing has to be called deeply."""
    if len(parts) == 1:
        return parts[0]
    half = (len(parts) + 1) // 2
    left, right = conjunction(parts[:half]), conjunction(parts[half:])
    type_: Type = Nullable(Bool()) if is_nullable(left.type) or is_nullable(right.type) else Bool()
    return Call("and", (left, right), type_)


def made_of(op: Op, takes: Collection) -> Lambda | None:
    """What an operation on single records makes of one, as a function of the record; None where it is no such thing.
    Pairs are made as records `{key, value}`.
    """
    match op:
        case Map(function=function):
            return function
        case MapToPair(function=Lambda(parameters=parameters, body=MakeStruct(values=(key, value)))):
            return Lambda(parameters, MakeStruct((key, value), pair_of(key.type, value.type)))
        case KeyBy(function=function):
            (record,) = function.parameters
            key = function.body
            return Lambda((record,), MakeStruct((key, record), pair_of(key.type, record.type)))
        case MapValues(function=function) if not takes.windowed:
            element = takes.element
            (value,) = function.parameters
            given = Var(fresh(value.name, free_names(function.body)), element)
            key_type, value_type = takes.pair
            key = Get(given, "key", key_type)
            changed = substitute(function, Get(given, "value", value_type))
            return Lambda((given,), MakeStruct((key, changed), pair_of(key_type, changed.type)))
        case _:  # the others look at more than a record, or make more than one
            return None


def _composed(kind: type[Map | FlatMap | MapToPair | MapValues | KeyBy]) -> Apply:
    """What makes one record of one, before an operation of that kind."""

    def apply(draft: Draft, producer: Task, task: Task) -> Outcome | None:
        if not isinstance(task.op, kind) or not producer.inputs:
            return None
        first = made_of(producer.op, draft.task(producer.inputs[0].producer).collection)
        second = task.op.function if isinstance(task.op, FlatMap) else made_of(task.op, producer.collection)
        if first is None or second is None:
            return None
        reason = obstacle(first.body, second)
        if reason:
            return Declined(reason)
        return Merged(_operation(task.op, Lambda(first.parameters, substitute(second, first.body))))

    return apply


def _operation(op: Op, function: Lambda) -> Op:
    """The operation of the kind of `op` that makes what the function does."""
    if isinstance(op, Map | FlatMap):
        return replace(op, function=function)
    body = function.body
    if isinstance(body, MakeStruct):
        body = MakeStruct(body.values, tuple_of(*(value.type for value in body.values)))
    return MapToPair(Lambda(function.parameters, body))


def obstacle(argument: Expr, function: Lambda) -> str:
    """Why `argument` may not take the place of the function's parameter; empty if it may."""
    if can_fail(argument):
        return "a record may fail in the first function, and its dead letter names that operator"
    if can_fail(function.body):
        return "a record may fail in the second function, and its dead letter holds what the first made"
    (parameter,) = function.parameters
    if argument.type != parameter.type:
        return "what is made is known more exactly than what is taken"
    if is_large(argument, function.body):
        return _TOO_LARGE
    if any(count > 1 and not is_cheap(value) for value, count in uses(argument, function)):
        return "a value that is costly to compute would be computed more than once"
    return ""


def uses(argument: Expr, function: Lambda) -> list[tuple[Expr, int]]:
    """How often the function reads the parts of what it is given."""
    (parameter,) = function.parameters
    found = list(mentions(function.body, parameter.name))
    if not isinstance(argument, MakeStruct) or not isinstance(argument.type, Struct):
        return [(argument, len(found))]
    taken = [part.field for part in found if isinstance(part, Get)]
    whole = len(found) - len(taken)
    pairs = zip(argument.values, argument.type.names, strict=True)
    return [(value, taken.count(name) + whole) for value, name in pairs]


def is_cheap(expr: Expr) -> bool:
    """Whether a value may as well be taken again: it is there already."""
    match expr:
        case Literal() | Var() | Param():
            return True
        case Get(of=of):
            return is_cheap(of)
        case MakeStruct(values=values):
            return all(map(is_cheap, values))
        case _:  # anything else is computed
            return False


def is_large(*exprs: Expr) -> bool:
    """Whether the expressions have more parts together than one should have."""
    parts = (part for expr in exprs for part in walk(expr))
    return sum(1 for _ in islice(parts, LARGEST + 1)) > LARGEST


ROW_RULES = (
    Rule("identity", "map(x => x) = nothing", _identity),
    Rule("always", "filter(true) = nothing", _always),
    Rule("filters", "filter(p).filter(q) = filter(p and q)", _filters),
    Rule("map-map", "map(f).map(g) = map(g of f)", _composed(Map)),
    Rule("map-flat-map", "map(f).flat_map(g) = flat_map(g of f)", _composed(FlatMap)),
    Rule("map-pair", "map(f).map_to_pair(g) = map_to_pair(g of f)", _composed(MapToPair)),
    Rule("map-values", "map_to_pair(f).map_values(g) = map_to_pair((k, g(v)))", _composed(MapValues)),
    Rule("map-key", "map(f).key_by(g) = map_to_pair((g of f, f))", _composed(KeyBy)),
)
"""The first function may be of anything that makes one record of one: `map`, `map_to_pair`, `map_values`, `key_by`."""
