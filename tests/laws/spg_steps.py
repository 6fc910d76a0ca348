"""Steps that only whole programs take: samples, iterations, user functions; and where whole programs begin."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from ghcm import types
from ghcm.expr import Call, Expr, Get, Lambda, Literal, MakeStruct, Var
from ghcm.functions import FUNCTIONS, comparable
from ghcm.lowering.expressions.unions import tag_is
from ghcm.lowering.operators.rows import sampled
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.spg.graph import Global, entry_of
from ghcm.spg.ops import Filter, Iterate, Map, PythonBatch, PythonCall, Until
from ghcm.types import Bool, Field, Int, List, Nullable, Shape, String, Struct, Type, as_nullable, narrowed_union
from tests.laws.spg_expressions import functions
from tests.laws.spg_flows import Chain, Flow, in_window
from tests.laws.spg_signatures import signatures
from tests.laws.spg_values import SCALARS, unions, variants_of

__all__ = ["call_any", "choosing", "iterate", "python", "sample"]

USER = Struct((Field("number", Nullable(Int())), Field("text", Nullable(String()))), "User")
_MORE: tuple[Type, ...] = (*SCALARS, List(String()), types.Map(String(), Int()), Struct((Field("x", Bool()),)))
"""What a user's function may be given, and gives back, beside the fields that it looks at."""


def call_any(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    """A map to what any function of the table gives, the rare types among them."""
    if in_window(flow):
        return None
    names = sorted(signatures())
    names += [name for name in names if FUNCTIONS[name].failures] * 2
    name = draw(st.sampled_from(names))
    result = draw(st.sampled_from(signatures()[name])).result
    made = draw(functions(result, flow.collection.element, parameters=chain.parameters, depth=1, calls=name))
    fields = (Field("a", made.body.type), Field("b", flow.collection.element))
    element = Struct(fields)
    body = MakeStruct((made.body, made.parameters[0]), element)
    return chain.row("map", Map(Lambda(made.parameters, body)), flow, shape=Shape.STREAM, element=element)


def choosing(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    """A filter by which records a union is, which cannot be others behind it."""
    union = flow.collection.element
    possible = variants_of(union) if isinstance(union, Struct) else ()
    if not isinstance(union, Struct) or len(possible) < 2 or flow.collection.shape is not Shape.STREAM:
        return None
    left = tuple(draw(st.permutations(possible))[: draw(st.integers(1, len(possible) - 1))])
    record = Var("x", union)
    tests = [tag_is(record, each) for each in left]
    predicate: Expr = tests[0] if len(tests) == 1 else Call("or", (tests[0], tests[1]), Bool())
    element = narrowed_union(union, left)
    return chain.row("choosing", Filter(Lambda((record,), predicate)), flow, element=element)


def sample(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    """Half of the records."""
    windowed = flow.collection.windowed
    predicate = sampled(flow.collection.element, 0.5, draw(st.integers(0, 9)), windowed=windowed)
    return None if predicate is None else chain.row("sample", Filter(predicate), flow)


def python(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    """A user's function, by row or by batch, of a record that the task before makes."""
    if in_window(flow):
        return None
    more = draw(unions(0)) if draw(st.integers(0, 3)) == 0 else draw(st.sampled_from(_MORE))
    user = replace(USER, fields=(*USER.fields, Field("more", draw(st.sampled_from([more, as_nullable(more)])))))
    made = draw(functions(user, flow.collection.element, depth=1))
    if made.body.type != user:
        return None
    given = chain.row("map", Map(made), flow, shape=Shape.STREAM, element=user)
    module = "tests.laws.user_functions"
    op = PythonCall(module, "by_row") if draw(st.booleans()) else PythonBatch(module, "by_batch")
    return chain.row("python", op, given)


def iterate(draw: st.DrawFn, chain: Chain, flow: Flow) -> Flow | None:
    """Rounds of filters and maps, up to a limit or until nothing changes in number."""
    takes = flow.collection
    if takes.windowed or not takes.bounded or not comparable(takes.element):
        return None
    gives = replace(takes, timed=False)
    inside = Chain(chain.kind)
    inner = Flow(entry_of(0), gives)
    word = f"iterate{len(chain.tasks)}/step"
    for place in range(draw(st.integers(1, 2))):
        if takes.shape is Shape.STREAM and draw(st.booleans()):
            function = draw(functions(takes.element, takes.element, depth=2))
            if function.body.type == takes.element:
                inner = inside.row(f"{word}/map{place}", Map(function), inner)
                continue
        predicate = draw(functions(as_nullable(Bool()), takes.element, depth=1))
        inner = inside.row(f"{word}/filter{place}", Filter(predicate), inner)
    until = _settled(failing=draw(st.integers(0, 3)) == 3) if draw(st.booleans()) else None
    op = Iterate(tuple(inside.tasks), inner.id, chain.number(draw, st.integers(0, 3)), until)
    return chain.add("iterate", op, gives, (flow, Global()))


def _settled(*, failing: bool) -> Until:
    """Until the number of records does not change; `failing`: that is when the condition divides by zero."""
    counts = (Aggregate("n", AggregateFunction.COUNT, None, Int()),)
    totals = Struct((Field("n", Int()),))
    before, after = Var("before", totals), Var("after", totals)
    parts: tuple[Expr, ...] = (Get(before, "n", Int()), Get(after, "n", Int()))
    if failing:
        change = Call("sub", parts, Int())
        parts = (Call("floordiv", (parts[0], change), Int()), Literal(0, Int()))
    return Until(counts, counts, Lambda((before, after), Call("eq", parts, Bool())))
