"""Every function, and generated expressions of all functions, in both forms of the native engine and in the
reference.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghcm.expr import Expr, Get, Lambda, Literal, Var
from ghcm.functions import FUNCTIONS
from ghcm.runtime.contract import Form
from ghcm.source import Origin
from ghcm.spg.connectors import Files, Format, Memory, Mode
from ghcm.spg.graph import Forward, Input, Program, Sink, Task, Unit
from ghcm.spg.ops import Filter, Map, Op, Source, To
from ghcm.spg.reference import run
from ghcm.types import Bool, Collection, Float, Int, List, Nullable, Shape, Timestamp, Type, tuple_of
from ghcm.values.timestamps import FIRST_MICROS, LAST_MICROS
from ghcm.verification.compare import differences, letters
from tests.campaigns import times
from tests.laws.spg_expressions import SIGNATURES, call_of, constants_of, functions
from tests.laws.spg_values import records, rows_of, types
from tests.unit.runtime.operators.harness import run_unit

HERE = Origin("test.istream", 1, 1)


def pipeline(element: Type, rows: tuple[tuple[object, ...], ...], op: Op, given: Type) -> Program:
    def task(id: str, op: Op, element: Type, *inputs: str) -> Task:
        return Task(
            id, op, tuple(Input(each, Forward()) for each in inputs), Collection(Shape.STREAM, element, True), HERE
        )

    tasks = (
        task("source", Source(Memory(rows)), element),
        task("made", op, given, "source"),
        task("out", To("out"), given, "made"),
    )
    unit = Unit("u", "stream", False, (), None, tasks, HERE)
    return Program("p", (), (Sink("out", Files("out", Format("json")), Mode.APPEND, None, given, HERE),), (unit,))


def check(program: Program) -> dict[str, int]:
    """Both forms give what the reference gives; the counts of the columnar run."""
    unit = program.unit("u")
    expected = run(program, "u")
    counts: dict[str, int] = {}
    forms: tuple[Form, ...] = ("rows", "columns")
    for form in forms:
        found = run_unit(program, unit, form, size=4)
        assert differences(program, expected, sinks=found.sinks, dead=letters(found.letters), ordered=True) == []
        counts = found.counts["made"]
    return counts


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=times(12))
@given(st.data())
@pytest.mark.parametrize(
    "name", sorted({name for name, _, _ in SIGNATURES} | {"eq", "ne", "lt", "le", "gt", "ge", "least", "greatest"})
)
def test_each_function(name: str, data: st.DataObject) -> None:
    fitting = [parameters for each, _, parameters in SIGNATURES if each == name]
    any_two = (data.draw(types(keys=True, nullable=False)),) * 2
    parameters = data.draw(st.sampled_from(fitting)) if fitting else any_two
    nullable = data.draw(st.booleans())
    element = tuple_of(*(Nullable(each) if nullable else each for each in parameters))
    record = Var("r", element)
    arguments: list[Expr] = [Get(record, f"_{index}", part.type) for index, part in enumerate(element.fields, 1)]
    for place in FUNCTIONS[name].constants:
        if place < len(arguments):
            arguments[place] = data.draw(constants_of(name, place))
    call = call_of(name, *arguments)
    assert call is not None
    rows = data.draw(rows_of(element))
    check(pipeline(element, rows, Map(Lambda((record,), call)), call.type))


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=times(50))
@given(st.data())
def test_generated_maps(data: st.DataObject) -> None:
    element, result = data.draw(records()), data.draw(types())
    function = data.draw(functions(result, element, depth=3))
    given_type = function.body.type
    check(pipeline(element, data.draw(rows_of(element)), Map(function), given_type))


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=times(50))
@given(st.data())
def test_generated_filters(data: st.DataObject) -> None:
    element = data.draw(records())
    predicate = data.draw(functions(Nullable(Bool()), element, depth=3))
    check(pipeline(element, data.draw(rows_of(element)), Filter(predicate), element))


def test_a_constant_list_holds_every_float() -> None:
    element = tuple_of(Float())
    record = Var("r", element)
    some = Literal([float("nan"), float("inf"), -float("inf"), 1.5], List(Float()))
    call = call_of("contains", some, Get(record, "_1", Float()))
    assert call is not None
    rows = tuple((value,) for value in (float("nan"), float("inf"), -float("inf"), 1.5, 0.0))
    check(pipeline(element, rows, Map(Lambda((record,), call)), call.type))


def test_the_text_of_a_moment_is_cut_anywhere() -> None:
    """Up to its day it is not written as a whole, and moments of few days are not written one by one."""
    element = tuple_of(Nullable(Timestamp()))
    moments = [None, -1, 0, 1, FIRST_MICROS - 1, FIRST_MICROS, LAST_MICROS, LAST_MICROS + 1, *range(-5, 10**9, 10**8)]
    record = Var("r", element)
    text = call_of("to_string", Get(record, "_1", Nullable(Timestamp())))
    assert text is not None
    for count in (-1, 0, 4, 10, 11):
        cut = call_of("left", text, Literal(count, Int()))
        assert cut is not None
        check(pipeline(element, tuple((each,) for each in moments), Map(Lambda((record,), cut)), cut.type))
