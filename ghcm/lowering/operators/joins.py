"""Joins: records of two inputs that belong together, and which inputs may be joined: sides that end, streams with what
ends, streams with tables.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn

from ghcm.codes import Code
from ghcm.expr import Call, Expr, Get, Lambda, Literal, MakeStruct, Var, substitute, walk
from ghcm.functions import FUNCTIONS, comparable, resolve
from ghcm.language import ast
from ghcm.lowering.drafts import RULES, Bound, Draft, Flow, Raw, Step, ends_as_pairs, final, revised, rule
from ghcm.lowering.expressions.functions import mentions_names
from ghcm.lowering.narrowing import Outcome, known, narrow
from ghcm.lowering.operators.columns import beside_each_other, condition_of
from ghcm.lowering.operators.sources import settle
from ghcm.lowering.operators.versions import as_it_was, as_shown, check_time_of_table, if_there, known_of_last
from ghcm.spg.graph import Exchange, Global, Hash
from ghcm.spg.joining import (
    FOREVER_US,
    JoinKind,
    is_endless,
    is_lookup,
    joined_collection,
    joined_element,
    joined_pair,
    shares_window,
)
from ghcm.spg.ops import Join, Map, MapValues, Sessions, Versions, Window
from ghcm.types import WINDOW, Collection, Duration, Field, Int, Shape, Struct, strip


@rule(RULES, "join")
def join(step: Step, left: Flow) -> Bound:
    """Joins of what ends; of streams with what ends, with tables, and with streams where times or windows meet."""
    kind = JoinKind(step.given.choice("kind", "inner"))
    bound = step.evaluate(step.given.required("other"))
    right = settle(step, bound) if isinstance(bound, Raw) else bound
    if ends_as_pairs(right.collection) and not kind.streams and left.collection.bounded:
        right = final(step, right)
    if left.collection.changing and right.collection.shape is Shape.TABLE and not right.collection.bounded:
        right = revised(step, right)
    check_sides(step, left, right, kind)
    shown = right.collection.element
    right = as_it_was(step, right)
    hides = right.collection.element != shown
    shared: tuple[str, ...] | None = None
    if (on := step.given.expr("on")) is None:
        joined = _by_key(step, left, right, kind, hides=hides)
    else:
        types = (left.collection.element, shown)
        over_names = mentions_names(on)
        test, shared = condition_of(step, on, *types) if over_names else (step.function("on", *types, test=True), None)
        joined = _on(step, left, right, kind, test, hides=hides)
    if hides and not kind.left_alone:
        joined = _together(step, joined, lambda one, other: _both(one, as_shown(other, by_key=on is None)))
    if step.given.expr("as") is None:
        if shared is None or kind.left_alone:
            return joined
        return _together(step, joined, lambda one, other: beside_each_other(step, one, other, shared, kind))
    if kind.left_alone:
        message = f'"as" puts two records together, and a {kind.value} join gives those of the left side as they are'
        raise step.report(Code.BAD_JOIN, message, step.given.span("as"), hint="map(...) behind it makes others.")
    return put_together(step, joined)


@rule(RULES, "cross")
def cross(step: Step, left: Flow) -> Bound:
    """Each record beside each of another input: a join by a key that all have."""
    bound = step.evaluate(step.given.required("other"))
    right = settle(step, bound) if isinstance(bound, Raw) else bound
    if ends_as_pairs(right.collection):
        right = final(step, right)
    if not right.collection.bounded:
        hint = "A table is joined by its key; a sink that is read ends."
        message = '"cross" needs another input that ends'
        raise step.report(Code.NEEDS_BOUNDED, message, step.given.span("other"), hint=hint)
    sides = (left.collection, right.collection)
    element = joined_element(left.collection.element, right.collection.element, JoinKind.INNER)
    collection = joined_collection(element, *sides, JoinKind.INNER, by_key=False)
    mine, other = (
        Lambda((Var(name, side.element),), Literal(0, Int())) for name, side in zip("lr", sides, strict=True)
    )
    op = Join(JoinKind.INNER, (mine,), (other,), None, by_key=False)
    joined = _result(step, op, collection, (left, Global()), (right, Global()))
    return put_together(step, joined)


def put_together(step: Step, joined: Flow) -> Flow:
    """What `as` makes of the left and the right record of each pair, which stay as they are where nothing is said; of
    pairs joined by key it is the value.
    """
    if step.given.expr("as") is None:
        return joined

    def made(left: Expr, right: Expr) -> Expr:
        function = step.function("as", left.type, right.type)
        names = [each.name for each in function.parameters]
        return substitute(function.body, dict(zip(names, (left, right), strict=True)))

    return _together(step, joined, made)


def _together(step: Step, joined: Flow, make: Callable[[Expr, Expr], Expr]) -> Flow:
    """What is made of the left and the right record of each pair."""
    collection, element = joined.collection, joined.collection.element
    assert isinstance(element, Struct), "what is joined are two records"
    by_key = collection.shape is Shape.PAIRS
    pair = Var("joined", collection.pair[1] if by_key else element)
    assert isinstance(pair.type, Struct), "what is joined are two records"
    left, right = (Get(pair, each.name, each.type) for each in pair.type.fields)
    made = Lambda((pair,), make(left, right))
    if not by_key:
        after = replace(collection, element=made.body.type, windowed=False)
        return replace(joined, draft=step.row(Map(made), joined, after), collection=after)
    fields = (replace(each, type=made.body.type) if each.name == "value" else each for each in element.fields)
    after = replace(collection, element=replace(element, fields=tuple(fields)))
    return replace(joined, draft=step.row(MapValues(made), joined, after), collection=after)


def _both(left: Expr, right: Expr) -> Expr:
    return MakeStruct((left, right), Struct((Field("left", left.type), Field("right", right.type))))


def _by_key(step: Step, left: Flow, right: Flow, kind: JoinKind, *, hides: bool) -> Flow:
    sides = (left.collection, right.collection)
    if Shape.STREAM in (left.collection.shape, right.collection.shape):
        hint = "join(other, on = (l, r) => l.id == r.id) says what belongs together."
        raise step.report(Code.BAD_JOIN, 'a join without "on" is of pairs, and one of these is a stream', hint=hint)
    check_windows(step, left, right)
    windowed = left.collection.windowed
    mine, other = left.collection.pair, right.collection.pair
    if strip(mine[0]) != strip(other[0]):
        message = f'the keys of a join are of one type, and these are "{mine[0]}" and "{other[0]}"'
        raise step.report(Code.BAD_JOIN, message)
    pair = joined_pair(mine, other, kind, windowed=windowed)
    collection = joined_collection(pair, *sides, kind, by_key=True)
    left_keys, right_keys = (_keys_of(name, side, windowed) for name, side in zip("lr", sides, strict=True))
    residual = if_there(*(Var(name, side.element) for name, side in zip("lr", sides, strict=True))) if hides else None
    op = _in_interval(step, Join(kind, left_keys, right_keys, residual, by_key=True), right)
    return _result(step, op, collection, (left, Hash(("key",))), (right, Hash(("key",))))


def _on(step: Step, left: Flow, right: Flow, kind: JoinKind, on: Lambda, *, hides: bool) -> Flow:
    types, facts = (left.collection.element, right.collection.element), known(on.body, Outcome.TRUE)
    versions = isinstance(right.draft.op, Versions)
    left_keys, right_keys, rest = _keys_and_rest(on, only_key=versions)
    if not left_keys:
        _refuse_no_key(step) if versions else _refuse_no_equality(step)
    if right.collection.shape is Shape.TABLE and not looks_up_key(right_keys):
        if not ends_as_pairs(right.collection):
            _refuse_no_key(step)
        right = final(step, right)
    residual = Lambda(on.parameters, _all_of(rest)) if rest else None
    if hides:
        last = Var(on.parameters[1].name, types[1])
        facts = known_of_last(facts, last.name)
        right_keys = [Lambda((last,), Get(last, "key", each.body.type)) for each in right_keys]
        residual = if_there(on.parameters[0], last, _all_of(rest) if rest else None)
    kept = (kind.keeps_left or kind is JoinKind.ANTI, kind.keeps_right)
    narrowed = [
        type_ if alone else narrow(type_, facts, side.name)
        for type_, side, alone in zip(types, on.parameters, kept, strict=True)
    ]
    element = joined_element(narrowed[0], narrowed[1], kind)
    collection = joined_collection(element, left.collection, right.collection, kind, by_key=False)
    op = _in_interval(step, Join(kind, tuple(left_keys), tuple(right_keys), residual, by_key=False), right)
    by_left, by_right = _exchanges(left_keys, right_keys)
    return _result(step, op, collection, (left, by_left), (right, by_right))


def _refuse_no_equality(step: Step) -> NoReturn:
    message = "a join needs an equality between its two sides"
    hint = "For example (l, r) => l.id == r.id and l.at < r.at; cross(other) puts one single record beside all."
    raise step.report(Code.BAD_JOIN, message, step.given.span("on"), hint=hint)


def _refuse_no_key(step: Step) -> NoReturn:
    message = "a join with a table needs an equality with its key"
    raise step.report(Code.BAD_JOIN, message, step.given.span("on"), hint="For example (r, t) => r.name == t.key.")


def _in_interval(step: Step, op: Join, right: Flow) -> Join:
    """The join with what is said of event times."""
    if isinstance(right.draft.op, Versions):
        ttl = right.draft.op.ttl_us
        return replace(op, asof=True, versions=True, within_us=None if ttl is None else ttl - 1)
    asof, least, most = step.given.flag("asof"), None, None
    match step.given.expr("within"):
        case ast.TupleExpr(items=(first, last)) if not asof:
            least, most = _micros(first), _micros(last)
            if least is None or most is None:
                raise step.given.wrong("within", "two durations, such as (-1m, 5m)")
            if least > most:
                message = "the interval ends before it begins"
                hint = "(-1m, 5m): the right record is a minute earlier at most, and five minutes later at most."
                step.report(Code.OUT_OF_RANGE, message, step.given.span("within"), hint=hint)
        case ast.Ref(name="forever") if not asof:
            most = FOREVER_US
        case ast.TupleExpr() | ast.Ref() if asof:
            message = '"within" of a join as of a time is how far back it looks'
            step.report(Code.BAD_JOIN, message, step.given.span("within"), hint="For example within = 1h.")
        case None | ast.Literal():
            most = step.given.duration("within")
        case _:  # whatever else is written is no interval
            raise step.given.wrong("within", "a duration such as 10s, two such as (-1m, 5m), or forever")
    return replace(op, within_us=most, asof=asof, from_us=least)


def _micros(written: ast.Expr) -> int | None:
    match written:
        case ast.Literal(value=int(value), type=Duration()):
            return value
        case ast.Unary(op="-", operand=ast.Literal(value=int(value), type=Duration())):
            return -value
        case _:  # nothing else is a constant duration
            return None


def _keys_and_rest(on: Lambda, *, only_key: bool) -> tuple[list[Lambda], list[Lambda], list[Expr]]:
    """The sides of the equalities of a condition, and its other parts; `only_key`: of those with the key of a table."""
    mine, other = on.parameters
    left_keys: list[Lambda] = []
    right_keys: list[Lambda] = []
    rest: list[Expr] = []
    for part in _conjuncts(on.body):
        sides = _equality(part, mine, other)
        if sides is None or (only_key and not looks_up_key([Lambda((other,), sides[1])])):
            rest.append(part)
        else:
            left_keys.append(Lambda((mine,), sides[0]))
            right_keys.append(Lambda((other,), sides[1]))
    return left_keys, right_keys, rest


def _result(step: Step, op: Join, collection: Collection, *inputs: tuple[Flow, Exchange]) -> Flow:
    left, right = (flow for flow, _ in inputs)
    check_meeting(step, left, right, op)
    regrouped = left.regrouped or not is_lookup(left.collection, right.collection)
    return Flow(step.add(op, collection, *inputs, keeps_state=True), collection, regrouped)


def _keys_of(name: str, side: Collection, windowed: bool) -> tuple[Lambda, ...]:
    """The key of a pair, and its window where it is in one."""
    parameter = Var(name, side.element)
    window = Get(parameter, "window", WINDOW)
    parts = [Get(parameter, "key", side.pair[0])]
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
        case _:  # any other key is computed
            return None


def check_sides(step: Step, left: Flow, right: Flow, kind: JoinKind) -> None:
    """Report two that cannot be joined so, whatever belongs together."""
    asof = step.given.flag("asof")
    if asof or step.given.expr("within") is not None:
        _check_times(step, left, right, kind, asof)
    if is_lookup(left.collection, right.collection) and not kind.streams:
        held = right.collection.shape is Shape.TABLE or right.collection.changing
        side = "a table" if held else "a stream that never ends"
        message = f"a {kind.value} join with {side} would have to wait for its end"
        detail = "What nobody met is known only then."
        hint = "inner, left, semi and anti joins answer for each record on the left by itself."
        raise step.report(Code.BAD_JOIN, message, step.given.span("kind"), detail=detail, hint=hint)
    check_time_of_table(step, left, right)


def _check_times(step: Step, left: Flow, right: Flow, kind: JoinKind, asof: bool) -> None:
    what, span = ("as of a time" if asof else "within an interval"), step.given.span("asof" if asof else "within")
    if right.collection.shape is Shape.TABLE:
        hint = "A join with a table sees its state; one of two streams goes by their event times."
        raise step.report(Code.BAD_JOIN, f"a table cannot be joined {what}", span, hint=hint)
    if not (left.collection.timed and right.collection.timed):
        hint = "event_time(...) says when a record happened."
        raise step.report(Code.NEEDS_TIME, f"a join {what} needs event time on both sides", span, hint=hint)
    if asof and not kind.streams:
        hint = "inner, left, semi and anti joins answer for each record on the left."
        message = f"a {kind.value} join cannot be as of a time"
        raise step.report(Code.BAD_JOIN, message, step.given.span("kind"), hint=hint)
    if asof and not comparable(right.collection.element):
        message = f'"{right.collection.element}" has no order'
        detail = "Of several records at one time the greatest is taken, and maps have no order."
        raise step.report(Code.BAD_JOIN, message, step.given.span("other"), detail=detail)


def check_meeting(step: Step, left: Flow, right: Flow, op: Join) -> None:
    """Report records that are not found together in bounded time; and what the engine of streams has not."""
    if op.by_time:
        endless = is_endless(left.collection, right.collection)
        if op.asof and endless and op.residual is not None and op.within_us is None and not op.versions:
            message = "a join of streams as of a time by more than equalities needs an interval"
            detail = "Any earlier record might belong to one that comes, so that none could be forgotten."
            hint = "within = 1h says how far back it looks."
            raise step.report(Code.BAD_JOIN, message, step.given.span("on"), detail=detail, hint=hint)
    elif not right.collection.bounded and right.collection.shape is not Shape.TABLE and not right.collection.changing:
        windowed = left.collection.windowed and right.collection.windowed
        if not (windowed and shares_window(op.left_keys, op.right_keys)):
            message = '"join" needs another input that ends, or a table'
            hint = "A table of it can be joined, two streams within an interval (within = 10s), or by window."
            raise step.report(Code.NEEDS_BOUNDED, message, step.given.span("other"), hint=hint)


def check_windows(step: Step, left: Flow, right: Flow) -> None:
    """Report pairs that are joined by key and are not in the same windows, or in none."""
    if not (left.collection.windowed or right.collection.windowed):
        return
    if left.collection.windowed != right.collection.windowed:
        hint = "Both are in windows, or neither; join(other, on = ...) compares other fields."
        raise step.report(Code.BAD_JOIN, "pairs in windows are joined with pairs in windows", hint=hint)
    mine, its = _assigners(left.draft), _assigners(right.draft)
    if any(isinstance(each, Sessions) for each in mine | its):
        detail = "The sessions of two inputs begin and end by themselves, so that none would be in both."
        raise step.report(Code.BAD_JOIN, "sessions are not shared by two inputs", detail=detail)
    if mine != its:
        hint = "The same window(...) before both."
        raise step.report(Code.BAD_JOIN, "the two are in windows of different kinds", hint=hint)


def _assigners(draft: Draft) -> set[object]:
    """The windows that records of the task are in."""
    match draft.op:
        case Window(assigner=assigner):
            return {assigner}
        case Sessions():
            return {draft.op}
        case _:  # other operators keep the windows of their inputs
            return {
                each for producer, _ in draft.inputs if producer.collection.windowed for each in _assigners(producer)
            }


def looks_up_key(keys: Sequence[Lambda]) -> bool:
    """Whether one of the right sides of the equalities is the key of the table."""
    return any(isinstance(key.body, Get) and key.body.field == "key" and isinstance(key.body.of, Var) for key in keys)
