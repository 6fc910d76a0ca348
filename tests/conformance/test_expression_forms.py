"""Lambdas over lists, `let`, `try`, functions, `match`, `with` and `only` on every engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.expr import Lambda, Literal, MakeStruct, Var
from ghcm.failing import can_fail
from ghcm.runtime.contract import Form as Way
from ghcm.spg.ops import FlatMap, Map, Reply, Union
from ghcm.spg.reference import run
from ghcm.types import List, as_nullable, strip
from ghcm.verification.compare import differences, letters
from tests.conformance.expression_forms import FORMS, Form, function_of, rows
from tests.conformance.functions.units import batch_unit, memory, program_of, stream, task
from tests.conformance.spark_runs import agree
from tests.conformance.test_native_expressions import pipeline
from tests.unit.runtime.operators.harness import run_unit


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.text)
def test_both_forms_mean_what_the_reference_does(form: Form) -> None:
    function, element, given = function_of(form)
    program = pipeline(element, rows(), Map(function), given)
    expected = run(program, "u")
    ways: tuple[Way, ...] = ("rows", "columns")
    for way in ways:
        found = run_unit(program, program.unit("u"), way, size=1)
        assert differences(program, expected, sinks=found.sinks, dead=letters(found.letters), ordered=True) == []
        if way == "columns":
            assert (found.counts["made"]["columns"] > 0) == form.columnar, found.counts["made"]


@pytest.mark.slow
@pytest.mark.usefixtures("operators_apart")
def test_all_agree_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    element = function_of(FORMS[0])[1]
    bodies = {f"form{number}": function_of(form)[0].body for number, form in enumerate(FORMS)}
    total = {name: body for name, body in bodies.items() if not can_fail(body)}
    gives = stream({name: as_nullable(body.type) for name, body in bodies.items()})
    tasks = [memory("rows", element, rows())]
    for names in [list(total), *([name] for name in bodies if name not in total)]:
        missing = {each.name: Literal(None, each.type) for each in gives.fields if each.name not in names}
        parts = (missing.get(name, body) for name, body in bodies.items())
        function = Lambda((Var("r", element),), MakeStruct(tuple(parts), gives))
        tasks.append(task(f"made_{names[0]}", Map(function), ["rows"], gives))
    tasks += [task("all", Union(), [each.id for each in tasks[1:]], gives), task("reply", Reply(), ["all"], gives)]
    agree(spark, program_of(batch_unit("forms", tasks)), "forms", tmp_path)


_FLAT = (
    "r => r.ints.map(x => { value: x, name: r.s })",
    "r => r.ints.map(x => x // 2)",
    "r => r.items.filter(i => i.price > r.n)",
    "r => r.items.map(i => i)",
    "r => r.some.map(x => x ?? 0)",
    "r => r.ints.map(x => { value: x + r.n })",
    "r => let top = r.n + 1 in r.ints.map(x => { over: x > top, top: top })",
    "r => r.deep.map(xs => xs.map(x => x // 3))",
    "r => r.texts.map(x => try(to_int(x)))",
)


@pytest.mark.parametrize("text", _FLAT)
def test_lists_made_for_flat_map(text: str) -> None:
    function, element, given = function_of(Form(text))
    items = strip(given)
    assert isinstance(items, List)
    program = pipeline(element, rows(), FlatMap(function), items.item)
    expected = run(program, "u")
    for way in ("rows", "columns"):
        found = run_unit(program, program.unit("u"), way, size=1)
        assert differences(program, expected, sinks=found.sinks, dead=letters(found.letters), ordered=True) == []
