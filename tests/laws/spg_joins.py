"""Steps that join what flows with another source: by a condition, by key, in windows, and by event time."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from ghcm.expr import Get, Lambda, MakeStruct, Var
from ghcm.functions import comparable
from ghcm.spg.connectors import Memory
from ghcm.spg.graph import Global, Hash
from ghcm.spg.joining import JoinKind, joined_element, joined_pair
from ghcm.spg.ops import EventTime, Join, MapToPair, Source, Window
from ghcm.types import (
    WINDOW,
    Bool,
    Collection,
    Field,
    Shape,
    Struct,
    Timestamp,
    Type,
    as_nullable,
    pair_of,
    strip,
    tuple_of,
)
from tests.laws.spg_expressions import functions
from tests.laws.spg_flows import Chain, Flow, part_of, source, type_like
from tests.laws.spg_values import types

__all__ = ["join"]


def join(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    """With another source, whose keys are from the first one's values or anywhere; perhaps with a condition."""
    takes = flow.collection
    if takes.windowed:
        return _join_in_windows(draw, chain, flow)
    if takes.shape is Shape.PAIRS and draw(st.booleans()):
        return _join_by_key(draw, chain, flow)
    by_time = takes.timed and draw(st.integers(0, 3)) > 0
    left = takes.element
    wanted = type_like(draw, left, keys=True, nullable=False)
    mine = draw(functions(draw(st.sampled_from([wanted, as_nullable(wanted)])), left, depth=draw(st.integers(0, 1))))
    key = strip(mine.body.type)
    right = Struct((Field("k", draw(st.sampled_from([key, as_nullable(key)]))), Field("v", draw(types(0)))))
    right = replace(right, fields=(*right.fields, Field("at", Timestamp()))) if by_time else right
    other = source(draw, chain, right, most=5, known={"k": _seen(chain, key), "at": _seen(chain, Timestamp())})
    other = _timed(chain, other) if by_time else other
    record = Var("x", right)
    its = Lambda((record,), Get(record, "k", right.fields[0].type))
    residual = draw(functions(as_nullable(Bool()), left, right)) if draw(st.booleans()) else None
    kind = draw(st.sampled_from(list(JoinKind)))
    within = draw(st.sampled_from([0, 1_000_000, 5_000_000, 86_400_000_000])) if by_time else None
    asof = by_time and kind.streams and comparable(right) and draw(st.booleans())
    if asof and draw(st.booleans()):
        within = None
    earlier = None if within is None or asof else draw(st.sampled_from([None, -1_000_000, 0]))
    op = Join(kind, (mine,), (its,), residual, False, within, asof, earlier)
    timed = takes.timed and (by_time or kind.left_alone)
    gives = Collection(Shape.STREAM, joined_element(left, right, kind), bounded=True, timed=timed)
    return chain.add("join", op, gives, (flow, Global()), (other, Hash(("k",))))


def _timed(chain: Chain, flow: Flow) -> Flow:
    """The other source with its event time, of which nothing is late."""
    record = Var("x", flow.collection.element)
    time = Lambda((record,), Get(record, "at", Timestamp()))
    return chain.row("event_time", EventTime(time, None), flow, timed=True)


def _seen(chain: Chain, type_: Type) -> list[object]:
    """Values of that type in the first source, so that keys meet."""
    first = chain.tasks[0]
    if not isinstance(first.op, Source) or not isinstance(first.op.connector, Memory):
        return []
    places = [i for i, each in enumerate(first.schema.fields) if strip(each.type) == strip(type_)]
    return [row[place] for row in first.op.connector.rows[:4] for place in places if row[place] is not None]


def _join_by_key(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow:
    other = _pairs(draw, chain, part_of(flow, "key"), None)
    return _by_key(draw, chain, flow, other)


def _join_in_windows(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    """With pairs in windows of the same kind."""
    windows = [task.op for task in chain.tasks if isinstance(task.op, Window)]
    if flow.collection.shape is not Shape.PAIRS or not windows or flow.inexact:
        return None
    return _by_key(draw, chain, flow, _pairs(draw, chain, part_of(flow, "key"), replace(windows[-1])))


def _pairs(draw: st.DrawFn, chain: Chain, key: Type, window: Window | None) -> Flow:
    """Pairs of another source whose keys may meet, perhaps in windows."""
    pair = pair_of(draw(st.sampled_from([strip(key), key])), draw(types(0)))
    element = pair if window is None else replace(pair, fields=(*pair.fields, Field("at", Timestamp())))
    known = {"key": _seen(chain, key), "at": _seen(chain, Timestamp())}
    held = source(draw, chain, element, most=5, known=known)
    held = held if window is None else _timed(chain, held)
    record = Var("x", held.collection.columns)
    parts = tuple(Get(record, each.name, each.type) for each in pair.fields)
    body = MakeStruct(parts, tuple_of(*(each.type for each in pair.fields)))
    made = chain.row("map_to_pair", MapToPair(Lambda((record,), body)), held, shape=Shape.PAIRS, element=pair)
    if window is None:
        return made
    columns = Struct((*pair.fields, Field("window", WINDOW)))
    return chain.row("window", window, made, element=columns, windowed=True)


def _by_key(draw: st.DrawFn, chain: Chain, flow: Flow, other: Flow) -> Flow:
    windowed = flow.collection.windowed
    keys: list[tuple[Lambda, ...]] = []
    for name, side in (("l", flow), ("r", other)):
        of = Var(name, side.collection.element)
        window = Get(of, "window", WINDOW)
        parts = [Get(of, "key", part_of(side, "key"))]
        parts += [Get(window, each.name, each.type) for each in WINDOW.fields] if windowed else []
        keys.append(tuple(Lambda((of,), each) for each in parts))
    kind = draw(st.sampled_from(list(JoinKind)))
    sides = [(part_of(side, "key"), part_of(side, "value")) for side in (flow, other)]
    timed = flow.collection.timed and (windowed or kind.left_alone)
    element = joined_pair(sides[0], sides[1], kind, windowed=windowed)
    gives = Collection(Shape.PAIRS, element, bounded=True, timed=timed, windowed=windowed)
    op = Join(kind, keys[0], keys[1], None, by_key=True)
    return chain.add("join", op, gives, (flow, Hash(("key",))), (other, Hash(("key",))))
