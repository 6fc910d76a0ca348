"""Where generated programs meet each way in which a function fails: arguments that fail, and each operator that may
call the function. Where it stands in a `try`, nothing fails.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import islice

from hypothesis import strategies as st

from ghcm.expr import Call, Expr, Get, If, Lambda, Literal, MakeList, MakeStruct, Try, Var
from ghcm.functions import FUNCTIONS, Failure, comparable
from ghcm.reducers import Aggregate, AggregateFunction, Custom
from ghcm.spg.connectors import Memory
from ghcm.spg.graph import Global, Hash, entry_of
from ghcm.spg.joining import JoinKind, joined_element
from ghcm.spg.ops import (
    AggregateByKey,
    EventTime,
    Filter,
    FlatMap,
    Iterate,
    Join,
    KeyBy,
    Map,
    MapToPair,
    MapValues,
    ReduceByKey,
    Sort,
    Source,
    Top,
    Until,
)
from ghcm.spg.reference.functions import Failed, Types
from ghcm.spg.reference.functions import call as called
from ghcm.types import (
    Bool,
    Collection,
    Field,
    Int,
    List,
    Shape,
    Struct,
    Timestamp,
    Type,
    as_nullable,
    pair_of,
    tuple_of,
)
from tests.conformance.functions.case import Case, argument_types, call_of, fields_of, result_of, rows_of
from tests.conformance.functions.families import FAMILY_CASES
from tests.laws.spg_expressions import is_refused
from tests.laws.spg_flows import Chain, Flow
from tests.laws.spg_groups import grouped

__all__ = ["failing"]

_LOOKED_AT = 20_000
"""Arguments of a case."""
_Ways = dict[tuple[str, str], list[tuple[Case, tuple[object, ...]]]]


@cache
def _ways() -> _Ways:
    """Arguments that fail, by function and reason: some of each case."""
    found: _Ways = {}
    cases = [case for cases in FAMILY_CASES.values() for case in cases if FUNCTIONS[case.function].failures]
    for case in cases:
        types = Types(argument_types(case), result_of(case))
        seen: dict[str, int] = {}
        for row in islice(rows_of(case), _LOOKED_AT):
            if None in row:
                continue
            try:
                called(case.function, types, [*row, *case.constants])
            except Failed as failed:
                reason = failed.reason.value
                seen[reason] = seen.get(reason, 0) + 1
                if seen[reason] <= 5:
                    found.setdefault((case.function, reason), []).append((case, row))
    return found


@cache
def _by_reason() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for way in sorted(_ways()):
        found.setdefault(way[1], []).append(way)
    return found


@cache
def _by_name() -> dict[str, list[tuple[Case, tuple[object, ...]]]]:
    found: dict[str, list[tuple[Case, tuple[object, ...]]]] = {}
    for (name, _), ways in sorted(_ways().items()):
        found.setdefault(name, []).extend(ways)
    return found


def failing(draw: st.DrawFn, chain: Chain) -> Flow:
    """A source of arguments, the first and last of which fail, and an operator that calls the function."""
    if draw(st.integers(0, 3)) == 0:
        return _tried(draw, chain)
    reasons = sorted(set(_by_reason()) - {Failure.BAD_RECORD.value}) * 3 + [Failure.BAD_RECORD.value]
    ways = sorted(_ways()) if draw(st.integers(0, 3)) == 0 else _by_reason()[draw(st.sampled_from(reasons))]
    case, row = draw(st.sampled_from(_ways()[draw(st.sampled_from(ways))]))
    element = Struct(tuple(Field(f"a{place}", each) for place, each in enumerate(fields_of(case))))
    others = list(islice(rows_of(case), draw(st.integers(0, 40)), 45))[:: draw(st.integers(4, 9))]
    source = Source(Memory((row, *others, row)))
    flow = chain.add("rows", source, Collection(Shape.STREAM, element, bounded=True))
    record = Var("x", element)
    made = call_of(case, [Get(record, each.name, each.type) for each in element.fields])
    literals: list[Expr] = [Literal(value, each) for value, each in zip(row, fields_of(case), strict=True)]
    constant = call_of(case, literals)
    refused = isinstance(constant, Call) and is_refused(constant)
    if draw(st.integers(0, 9)) == 0 and comparable(element) and not refused:
        return _iterated(chain, flow, constant)
    return draw(st.sampled_from(_PLACES))(chain, flow, record, made)


def _tried(draw: st.DrawFn, chain: Chain) -> Flow:
    """A source of arguments of several functions, which fail in the first and last record, where that gives null."""
    names = sorted({name for name, _ in _ways()})
    chosen = [draw(st.sampled_from(_by_name()[draw(st.sampled_from(names))])) for _ in range(4)]
    fields = [each for case, _ in chosen for each in fields_of(case)]
    element = Struct(tuple(Field(f"a{place}", each) for place, each in enumerate(fields)))
    first = tuple(value for _, row in chosen for value in row)
    skipped = draw(st.integers(0, 40))
    several = [islice(rows_of(case), skipped, skipped + 5) for case, _ in chosen]
    others = [tuple(value for row in rows for value in row) for rows in zip(*several, strict=False)]
    source = Source(Memory((first, *others, first)))
    flow = chain.add("rows", source, Collection(Shape.STREAM, element, bounded=True))
    record = Var("x", element)
    left: list[Expr] = [Get(record, each.name, each.type) for each in element.fields]
    made: list[Expr] = []
    for case, row in chosen:
        call = call_of(case, left[: len(row)])
        left = left[len(row) :]
        made.append(Try(call, as_nullable(call.type)))
    gives = Struct(tuple(Field(f"b{place}", each.type) for place, each in enumerate(made)))
    return chain.row("map", Map(Lambda((record,), MakeStruct(tuple(made), gives))), flow, element=gives)


_Place = Callable[[Chain, Flow, Var, Expr], Flow]


def _mapped(chain: Chain, flow: Flow, record: Var, made: Expr) -> Flow:
    given: list[Expr] = [Get(record, each.name, each.type) for each in flow.collection.columns.fields]
    gives = Struct((*flow.collection.columns.fields, Field("made", made.type)))
    return chain.row("map", Map(Lambda((record,), MakeStruct((*given, made), gives))), flow, element=gives)


def _filtered(chain: Chain, flow: Flow, record: Var, made: Expr) -> Flow:
    return chain.row("filter", Filter(Lambda((record,), _is_there(made))), flow)


def _is_there(made: Expr) -> Expr:
    return Call("is_not_null", (made,), Bool())


def _flat_mapped(chain: Chain, flow: Flow, record: Var, made: Expr) -> Flow:
    function = Lambda((record,), MakeList((made, made), List(made.type)))
    return chain.row("flat_map", FlatMap(function), flow, element=made.type)


def _key_of(made: Expr) -> Expr:
    return made if comparable(made.type) else _is_there(made)


def _paired(chain: Chain, flow: Flow, record: Var, made: Expr) -> Flow:
    body = MakeStruct((_key_of(made), made), tuple_of(_key_of(made).type, made.type))
    element = pair_of(_key_of(made).type, made.type)
    return chain.row("map_to_pair", MapToPair(Lambda((record,), body)), flow, shape=Shape.PAIRS, element=element)


def _keyed(chain: Chain, flow: Flow, record: Var, made: Expr) -> Flow:
    key = _key_of(made)
    element = pair_of(key.type, flow.collection.element)
    return chain.row("key_by", KeyBy(Lambda((record,), key)), flow, shape=Shape.PAIRS, element=element)


def _under_one_key(chain: Chain, flow: Flow, record: Var) -> Flow:
    return _keyed(chain, flow, record, Literal(1, Int()))


def _new_values(chain: Chain, flow: Flow, record: Var, made: Expr) -> Flow:
    given = _under_one_key(chain, flow, record)
    element = pair_of(Int(), made.type)
    return chain.row("map_values", MapValues(Lambda((record,), made)), given, element=element)


def _timed(chain: Chain, flow: Flow, record: Var, made: Expr) -> Flow:
    time = If(_is_there(made), Literal(5_000_000, Timestamp()), Literal(0, Timestamp()), Timestamp())
    return chain.row("event_time", EventTime(Lambda((record,), time), None), flow, timed=True)


def _sorted(chain: Chain, flow: Flow, record: Var, made: Expr) -> Flow:
    if not comparable(flow.collection.element):
        return _filtered(chain, flow, record, made)
    return chain.add("sort", Sort(Lambda((record,), _key_of(made)), False), flow.collection, (flow, Global()))


def _first_few(chain: Chain, flow: Flow, record: Var, made: Expr) -> Flow:
    if not comparable(flow.collection.element):
        return _filtered(chain, flow, record, made)
    op = Top(Literal(3, Int()), Lambda((record,), _key_of(made)), True)
    return chain.add("top", op, flow.collection, (flow, Global()))


def _aggregated(chain: Chain, flow: Flow, record: Var, made: Expr) -> Flow:
    count = Aggregate("n", AggregateFunction.COUNT, Lambda((record,), made), Int())
    given = _under_one_key(chain, flow, record)
    return grouped(chain, given, "aggregate_by_key", AggregateByKey((count,), True), Int())


def _reduced(chain: Chain, flow: Flow, record: Var, made: Expr) -> Flow:
    """One that fails where it looks at a record before another; the order is that of numbers, so all are looked at."""
    other = Var("y", record.type)
    function = Lambda((record, other), If(_is_there(made), other, record, record.type))
    order = Lambda((record,), Literal(0, Int()))
    given = _under_one_key(chain, flow, record)
    op = ReduceByKey(Custom(function, claimed=False, order=order))
    return grouped(chain, given, "reduce_by_key", op, record.type)


def _joined(chain: Chain, flow: Flow, record: Var, made: Expr) -> Flow:
    """With two records, by a key that fails, or on a condition that does."""
    right = Struct((Field("k", Bool()),))
    held = Source(Memory(((True,), (False,))))
    other = chain.add("rows", held, Collection(Shape.STREAM, right, bounded=True))
    its = Var("y", right)
    by_key = len(flow.collection.columns.fields) % 2 == 0
    mine = Lambda((record,), _is_there(made) if by_key else Literal(True, Bool()))
    condition = None if by_key else Lambda((record, its), _is_there(made))
    op = Join(JoinKind.LEFT, (mine,), (Lambda((its,), Get(its, "k", Bool())),), condition, False)
    gives = Collection(Shape.STREAM, joined_element(flow.collection.element, right, JoinKind.LEFT), bounded=True)
    return chain.add("join", op, gives, (flow, Hash(())), (other, Hash(("k",))))


_PLACES: tuple[_Place, ...] = (
    _mapped, _filtered, _flat_mapped, _paired, _keyed, _new_values, _timed, _sorted, _first_few, _aggregated,
    _reduced, _joined,
)  # fmt: skip


def _iterated(chain: Chain, flow: Flow, made: Expr) -> Flow:
    """Rounds whose condition fails."""
    inside = Chain(chain.kind)
    keep = Lambda((Var("x", flow.collection.element),), Literal(True, Bool()))
    inner = inside.row("iterate1/step/filter", Filter(keep), Flow(entry_of(0), flow.collection))
    counts = (Aggregate("n", AggregateFunction.COUNT, None, Int()),)
    totals: Type = Struct((Field("n", Int()),))
    condition = Lambda((Var("before", totals), Var("after", totals)), _is_there(made))
    op = Iterate(tuple(inside.tasks), inner.id, Literal(2, Int()), Until(counts, counts, condition))
    return chain.add("iterate", op, flow.collection, (flow, Global()))
