"""Small units around an iteration."""

from __future__ import annotations

from hypothesis import strategies as st

from ghcm.expr import Call, Expr, Get, Lambda, Literal, Var
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.spg.graph import Forward, Input, Program, Task
from ghcm.spg.ops import Distinct, Filter, Iterate, Map, Op, Union, Until
from ghcm.types import Bool, Collection, Field, Int, Nullable, Shape, Struct, Type
from tests.laws.spg_expressions import functions
from tests.laws.spg_values import rows_of, types
from tests.unit.runtime.operators.building import HERE, Builder

__all__ = ["iterate"]


@st.composite
def iterate(draw: st.DrawFn) -> Program:
    """A chain of filters, maps to the same type, unions with another input and distinct, for some rounds."""
    builder = Builder()
    element = draw(types(keys=True, nullable=False))
    sources = [builder.memory(element, draw(rows_of(element))) for _ in range(2)]
    collection = Collection(Shape.STREAM, element, True)
    tasks: list[Task] = []
    last = "$0"
    for number in range(draw(st.integers(0, 3))):
        op, inputs = draw(_inner(element, last))
        edges = tuple(Input(each, Forward()) for each in inputs)
        tasks.append(Task(f"step{number}", op, edges, collection, HERE))
        last = tasks[-1].id
    limit = Literal(draw(st.integers(-1, 3)), Int())
    op = Iterate(tuple(tasks), last, limit, draw(st.one_of(st.none(), _until())))
    builder.to(builder.add(op, collection, *sources))
    return builder.program()


@st.composite
def _inner(draw: st.DrawFn, element: Type, last: str) -> tuple[Op, tuple[str, ...]]:
    match draw(st.sampled_from(["filter", "map", "union", "distinct"])):
        case "filter":
            return Filter(draw(functions(Nullable(Bool()), element))), (last,)
        case "map":
            record = Var("same", element)
            function = draw(functions(element, element))
            same = function if function.body.type == element else Lambda((record,), record)
            return Map(same), (last,)
        case "union":
            return Union(), (last, "$1")
        case _:
            return Distinct(), (last,)


@st.composite
def _until(draw: st.DrawFn) -> Until:
    """The number of records stays the same, or a condition that fails for some."""
    totals = Struct((Field("n", Int()),))
    before, after = Var("before", totals), Var("after", totals)
    count = Aggregate("n", AggregateFunction.COUNT, None, Int())
    one, two = Get(before, "n", Int()), Get(after, "n", Int())
    lefts: list[Expr] = [one, Call("floordiv", (Literal(3, Int()), one), Int())]
    left = draw(st.sampled_from(lefts))
    return Until((count,), (count,), Lambda((before, after), Call("eq", (left, two), Bool())))
