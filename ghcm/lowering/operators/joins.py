"""Joins: records of two inputs that belong together."""

from __future__ import annotations

from ghcm.codes import Code
from ghcm.expr import Call, Expr, Get, Lambda, Var, walk
from ghcm.functions import FUNCTIONS, resolve
from ghcm.lowering.drafting import Step
from ghcm.lowering.finals import ends_as_pairs, final
from ghcm.lowering.flows import Bound, Flow, Raw
from ghcm.lowering.narrowing import Outcome, known, narrow
from ghcm.lowering.operators.join_sides import check_meeting, check_sides, check_windows, looks_up_key, report_no_key
from ghcm.lowering.operators.sources import settle
from ghcm.spg.graph import Exchange, Global, Hash
from ghcm.spg.joining import JoinKind, is_lookup, joined_collection, joined_element, joined_pair
from ghcm.spg.ops import Join
from ghcm.types import WINDOW, Collection, Shape, Struct, Type, strip

_KINDS = tuple(kind.value for kind in JoinKind)


def join(step: Step, left: Flow) -> Bound:
    """Joins of what ends; of streams with what ends, with tables, and with streams where times or windows meet."""
    kind = JoinKind(step.given.choice("kind", _KINDS, "inner"))
    other = step.given.expr("other")
    bound = None if other is None else step.evaluate(other)
    right = settle(step, bound) if isinstance(bound, Raw) else bound
    if right is not None and ends_as_pairs(right.collection) and not kind.streams and left.collection.bounded:
        right = final(step, right)
    if right is None or not check_sides(step, left, right, kind):
        return None
    if step.given.expr("on") is None:
        return _by_key(step, left, right, kind)
    return _on(step, left, right, kind)


def _by_key(step: Step, left: Flow, right: Flow, kind: JoinKind) -> Bound:
    sides = (left.collection, right.collection)
    if Shape.STREAM in (left.collection.shape, right.collection.shape):
        step.report(
            Code.BAD_JOIN,
            'a join without "on" is of pairs, and one of these is a stream',
            hint="join(other, on = (l, r) => l.id == r.id) says what belongs together.",
        )
        return None
    if not check_windows(step, left, right):
        return None
    windowed = left.collection.windowed
    mine, other = (_pair(side) for side in sides)
    left_key, right_key = mine[0], other[0]
    if strip(left_key) != strip(right_key):
        step.report(Code.BAD_JOIN, f'the keys of a join are of one type, and these are "{left_key}" and "{right_key}"')
        return None
    pair = joined_pair(mine, other, kind, windowed=windowed)
    collection = joined_collection(pair, *sides, kind, by_key=True)
    left_keys, right_keys = (_keys_of(name, side.element, windowed) for name, side in zip("lr", sides, strict=True))
    within, asof = step.given.duration("within"), step.given.flag("asof", False)
    op = Join(kind, left_keys, right_keys, None, True, within, asof)
    if not check_meeting(step, left, right, op):
        return None
    hashed = Hash(("key",))
    return _result(step, op, collection, (left, hashed), (right, hashed))


def _on(step: Step, left: Flow, right: Flow, kind: JoinKind) -> Bound:
    types = (left.collection.element, right.collection.element)
    on = step.function("on", *types, test=True)
    if on is None:
        return None
    left_keys, right_keys, rest = _keys_and_rest(on)
    if not left_keys:
        step.report(
            Code.BAD_JOIN,
            "a join needs an equality between its two sides",
            step.given.span("on"),
            hint="For example (l, r) => l.id == r.id and l.at < r.at.",
        )
        return None
    if ends_as_pairs(right.collection) and not looks_up_key(right_keys):
        right = final(step, right)
    if right.collection.shape is Shape.TABLE and not looks_up_key(right_keys):
        report_no_key(step)
        return None
    facts = known(on.body, Outcome.TRUE)
    kept = (kind.keeps_left or kind is JoinKind.ANTI, kind.keeps_right)
    narrowed = [
        type_ if alone else narrow(type_, facts, side.name)
        for type_, side, alone in zip(types, on.parameters, kept, strict=True)
    ]
    element = joined_element(narrowed[0], narrowed[1], kind)
    collection = joined_collection(element, left.collection, right.collection, kind, by_key=False)
    residual = None if not rest else Lambda(on.parameters, _all_of(rest))
    within, asof = step.given.duration("within"), step.given.flag("asof", False)
    op = Join(kind, tuple(left_keys), tuple(right_keys), residual, False, within, asof)
    if not check_meeting(step, left, right, op):
        return None
    by_left, by_right = _exchanges(left_keys, right_keys)
    return _result(step, op, collection, (left, by_left), (right, by_right))


def _keys_and_rest(on: Lambda) -> tuple[list[Lambda], list[Lambda], list[Expr]]:
    """The sides of the equalities of a condition, and its other parts."""
    mine, other = on.parameters
    left_keys: list[Lambda] = []
    right_keys: list[Lambda] = []
    rest: list[Expr] = []
    for part in _conjuncts(on.body):
        sides = _equality(part, mine, other)
        if sides is None:
            rest.append(part)
        else:
            left_keys.append(Lambda((mine,), sides[0]))
            right_keys.append(Lambda((other,), sides[1]))
    return left_keys, right_keys, rest


def _result(step: Step, op: Join, collection: Collection, *inputs: tuple[Flow, Exchange]) -> Flow:
    left, right = (flow for flow, _ in inputs)
    regrouped = left.regrouped or not is_lookup(left.collection, right.collection)
    return Flow(step.add(op, collection, *inputs, keeps_state=True), collection, regrouped)


def _pair(collection: Collection) -> tuple[Type, Type]:
    element = collection.element
    assert isinstance(element, Struct), "pairs are structs"
    return element.fields[0].type, element.fields[1].type


def _keys_of(name: str, element: Type, windowed: bool) -> tuple[Lambda, ...]:
    """The key of a pair, and its window where it is in one."""
    assert isinstance(element, Struct), "pairs are structs"
    parameter = Var(name, element)
    window = Get(parameter, "window", WINDOW)
    parts = [Get(parameter, "key", element.fields[0].type)]
    parts += [Get(window, field.name, field.type) for field in WINDOW.fields] if windowed else []
    return tuple(Lambda((parameter,), part) for part in parts)


def _conjuncts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Call) and expr.function == "and":
        return [part for side in expr.arguments for part in _conjuncts(side)]
    return [expr]


def _equality(expr: Expr, left: Var, right: Var) -> tuple[Expr, Expr] | None:
    """The two sides of an equality of which each looks at one input, the left input's first."""
    if not isinstance(expr, Call) or expr.function != "eq":
        return None
    first, second = expr.arguments
    looks = [_looks_at(side, left, right) for side in (first, second)]
    if looks == [{"left"}, {"right"}]:
        return first, second
    return (second, first) if looks == [{"right"}, {"left"}] else None


def _looks_at(expr: Expr, left: Var, right: Var) -> set[str]:
    parts = list(walk(expr))
    return {name for name, variable in (("left", left), ("right", right)) if variable in parts}


def _all_of(parts: list[Expr]) -> Expr:
    result = parts[0]
    for part in parts[1:]:
        resolution = resolve(FUNCTIONS["and"], (result.type, part.type))
        assert resolution is not None, "conditions are bool"
        result = Call("and", (result, part), resolution.result)
    return result


def _exchanges(left: list[Lambda], right: list[Lambda]) -> tuple[Exchange, Exchange]:
    """By those keys that are columns on both sides; where there are none, one instance takes all."""
    pairs = [(_column(one), _column(other)) for one, other in zip(left, right, strict=True)]
    columns = [(mine, its) for mine, its in pairs if mine is not None and its is not None]
    if not columns:
        return Global(), Global()
    return Hash(tuple(mine for mine, _ in columns)), Hash(tuple(its for _, its in columns))


def _column(key: Lambda) -> str | None:
    """The column that a key is; a record that may be null is one column, whose fields are none."""
    match key.body:
        case Get(of=Var(type=Struct()), field=field):
            return field
        case _:
            return None
