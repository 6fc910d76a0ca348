"""Small units around operators on single records."""

from __future__ import annotations

from hypothesis import strategies as st

from ghcm.expr import Lambda, MakeStruct
from ghcm.spg.graph import Program
from ghcm.spg.ops import (
    Filter,
    FlatMap,
    Fused,
    KeyBy,
    Map,
    MapToPair,
    MapValues,
    Op,
    PythonBatch,
    PythonCall,
    Stage,
    Union,
    Window,
)
from ghcm.spg.windows import Tumbling
from ghcm.types import (
    Bool,
    Collection,
    Field,
    Float,
    Int,
    List,
    Nullable,
    Shape,
    String,
    Struct,
    Timestamp,
    Type,
    is_nullable,
    pair_of,
    strip,
    tuple_of,
)
from tests.laws.spg_expressions import functions
from tests.laws.spg_values import records, rows_of, types
from tests.unit.runtime.operators.building import Builder, timed_stream, windowed

__all__ = ["python_batch", "python_call", "rows", "union"]

WHOLE, F, S, B = Int(), Float(), String(), Bool()


@st.composite
def row_stage(draw: st.DrawFn, collection: Collection) -> tuple[Op, Collection]:
    """A row operation on a collection, and what it gives."""
    element = collection.element
    ways = ["filter", "map", "flat_map", "map_to_pair", "key_by"]
    ways += ["map_values"] * 2 if collection.shape is Shape.PAIRS else []
    ways += ["window"] if collection.timed and not collection.windowed else []
    timed, plain = collection.timed, Collection(Shape.STREAM, element, True, collection.timed)
    match draw(st.sampled_from(ways)):
        case "filter":
            return Filter(draw(functions(Nullable(B), element))), collection
        case "map":
            function = draw(functions(draw(types()), element))
            return Map(function), Collection(Shape.STREAM, function.body.type, True, timed)
        case "flat_map":
            item = draw(types())
            lists: list[Type] = [List(item), Nullable(List(item))]
            function = draw(functions(draw(st.sampled_from(lists)), element))
            list_ = strip(function.body.type)
            assert isinstance(list_, List)
            return FlatMap(function), Collection(Shape.STREAM, list_.item, True, timed)
        case "map_to_pair":
            key, value = draw(types(keys=True)), draw(types())
            function = draw(functions(key, element))
            other = draw(functions(value, element))
            body = MakeStruct((function.body, other.body), tuple_of(function.body.type, other.body.type))
            gives = pair_of(function.body.type, other.body.type)
            return MapToPair(Lambda(function.parameters, body)), Collection(Shape.PAIRS, gives, True, timed)
        case "key_by":
            function = draw(functions(draw(types(keys=True)), element))
            return KeyBy(function), Collection(Shape.PAIRS, pair_of(function.body.type, element), True, timed)
        case "map_values":
            assert isinstance(element, Struct)
            function = draw(functions(draw(types()), element.fields[1].type))
            made = [Field("value", function.body.type) if part.name == "value" else part for part in element.fields]
            return MapValues(function), Collection(Shape.PAIRS, Struct(tuple(made)), True, timed, collection.windowed)
        case _:
            return Window(Tumbling(2_000_000), 0), Collection(
                plain.shape if collection.shape is Shape.STREAM else Shape.PAIRS, windowed(element), True, True, True
            )


@st.composite
def rows(draw: st.DrawFn) -> Program:
    """Row operations after each other, apart or fused."""
    builder = Builder()
    element = draw(types()) if draw(st.booleans()) else draw(records())
    if draw(st.booleans()) and isinstance(element, Struct):
        at = draw(timed_stream(builder, element))
    else:
        at = builder.memory(element, draw(rows_of(element)))
    stages: list[Stage] = []
    collection = builder.of(at)
    fused = draw(st.booleans())
    for number in range(draw(st.integers(1, 4))):
        op, gives = draw(row_stage(collection))
        if isinstance(strip(gives.element), Struct) and is_nullable(gives.element):
            break
        if fused:
            stages.append(Stage(f"stage{number}", op, gives.element, f"test.istream:{number}:1"))  # type: ignore[arg-type]
        else:
            at = builder.add(op, gives, at)
        collection = gives
    if stages:
        at = builder.add(Fused(tuple(stages)), collection, at)
    builder.to(at)
    return builder.program()


@st.composite
def union(draw: st.DrawFn) -> Program:
    builder = Builder()
    element = draw(types())
    ids: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        source = builder.memory(element, draw(rows_of(element)))
        keep = Filter(draw(functions(Nullable(B), element)))
        ids.append(builder.add(keep, builder.of(source), source) if draw(st.booleans()) else source)
    builder.to(builder.add(Union(), Collection(Shape.STREAM, element, True), *ids))
    return builder.program()


@st.composite
def python_batch(draw: st.DrawFn) -> Program:
    """A user's function by batch that fails for some records and gives wrong things for others."""
    builder = Builder()
    element = Struct((Field("at", Timestamp()), Field("size", Nullable(WHOLE)), Field("name", S)), "Flow")
    source = builder.memory(element, draw(rows_of(element)))
    gives = Struct((Field("name", S), Field("at", Timestamp()), Field("size", WHOLE)), "Sized")
    op = PythonBatch("tests.unit.runtime.operators.user_functions", "sized_batch")
    builder.to(builder.add(op, Collection(Shape.STREAM, gives, True), source))
    return builder.program()


def python_call() -> st.SearchStrategy[Program]:
    """A user's function that fails for some records and gives wrong things for others."""

    @st.composite
    def make(draw: st.DrawFn) -> Program:
        builder = Builder()
        element = Struct((Field("at", Timestamp()), Field("size", Nullable(WHOLE)), Field("name", S)), "Flow")
        source = builder.memory(element, draw(rows_of(element)))
        gives = Struct((Field("name", S), Field("at", Timestamp()), Field("size", WHOLE)), "Sized")
        called = builder.add(
            PythonCall("tests.unit.runtime.operators.user_functions", "sized"),
            Collection(Shape.STREAM, gives, True),
            source,
        )
        builder.to(called)
        return builder.program()

    return make()
