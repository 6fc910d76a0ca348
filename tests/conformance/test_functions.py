"""Every function means on every engine what it means in the reference: hard values in rows, in columns and on Spark."""

from __future__ import annotations

from itertools import chain, combinations
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.codegen.native.columns.expressions import ColumnScope
from ghcm.codegen.native.columns.functions import COLUMN_FUNCTIONS, REFUSALS, refusal
from ghcm.codegen.native.rows.functions import HANDLED, ROW_FUNCTIONS
from ghcm.codegen.spark.functions import EMITTED
from ghcm.expr import Call, Get, Var
from ghcm.functions import FAMILIES, FUNCTIONS, Nulls
from ghcm.runtime.contract import Form
from ghcm.spg.graph import Program
from ghcm.spg.reference import run
from ghcm.spg.reference.functions import MEANINGS
from ghcm.support import Never
from ghcm.verification.compare import compare_dead, compare_rows, letters
from tests.conformance.functions.case import Case, call_of, fields_of, rows_of
from tests.conformance.functions.families import FAMILY_CASES
from tests.conformance.functions.units import (
    case_program,
    constant_program,
    failing_program,
    family_program,
    grouped,
    stream,
)
from tests.conformance.spark_runs import agree
from tests.unit.runtime.operators.harness import Given, run_unit

ALL = [case for cases in FAMILY_CASES.values() for case in cases]
CASES = [pytest.param(case, id=str(case)) for case in ALL]
SEVERAL = [pytest.param(case, id=str(case)) for case in ALL if len(fields_of(case)) > 1]
LAZY = {"and", "or", "coalesce"}


def test_every_layer_has_every_function() -> None:
    columnar = {name for name, function in FUNCTIONS.items() if not isinstance(function.polars, Never)}
    assert MEANINGS.keys() | LAZY == FUNCTIONS.keys()
    assert ROW_FUNCTIONS.keys() | HANDLED.keys() == FUNCTIONS.keys()
    assert HANDLED.keys() == {name for name, function in FUNCTIONS.items() if function.nulls is Nulls.HANDLED}
    assert COLUMN_FUNCTIONS.keys() == columnar
    assert REFUSALS.keys() <= columnar
    assert EMITTED.keys() == FUNCTIONS.keys()


def test_every_function_has_a_case_in_its_family() -> None:
    named = {family: {case.function for case in cases} for family, cases in FAMILY_CASES.items()}
    assert named == {family: {row.name for row in table} for family, table in FAMILIES.items()}


@pytest.mark.parametrize("case", CASES)
def test_only_the_tables_refuse(case: Case) -> None:
    record = Var("r", stream({f"a{place}": each for place, each in enumerate(fields_of(case))}))
    call = call_of(case, [Get(record, f"a{place}", each) for place, each in enumerate(fields_of(case))])
    scope = ColumnScope()
    scope.bind(record)
    if isinstance(call, Call):
        if reason := refusal(call):
            assert len(reason) > 20
        else:
            assert 'pl.col("a0")' in scope.value(call).text


def run_as_expected(program: Program, form: Form, size: int) -> Given:
    """The unit run natively: it replies what the reference replies."""
    expected, unit = run(program, "functions"), program.unit("functions")
    found = run_unit(program, unit, form, size=size)
    element = unit.tasks[-1].collection.element
    assert compare_rows(expected.reply or [], found.reply or [], element, ordered=True, inexact=expected.inexact) == []
    assert compare_dead(expected.dead, letters(found.letters)) == []
    return found


@pytest.mark.parametrize("case", CASES)
def test_rows_agree(case: Case) -> None:
    program = case_program(case, list(rows_of(case)))
    found = run_as_expected(program, "rows", 1000)
    assert found.counts["made"]["columns"] == 0


@pytest.mark.parametrize("case", CASES)
def test_columns_agree(case: Case) -> None:
    """Once all together, where one failure sends the batch to the row form; once only what does not fail, which the
    columnar form must do alone but for the texts that it leaves to the other; once some that fail, one by one.
    """
    rows = list(rows_of(case))
    done = run(case_program(case, rows), "functions").reply or []
    good = {row[0] for row in done if isinstance(row, tuple)}
    failing = [row for number, row in enumerate(rows) if number not in good]
    parts = (
        (rows, 64),
        ([row for number, row in enumerate(rows) if number in good], 4),
        (failing[:: len(failing) // 16 + 1], 1),
    )
    for part, size in parts:
        program = case_program(case, part)
        found = run_as_expected(program, "columns", size)
        if size == 4 and part and not _is_refused(case):
            assert found.counts["made"]["columns"] > 0
        if size == 1:
            assert found.counts["made"]["columns"] == 0


@pytest.mark.parametrize("case", SEVERAL)
def test_constants_beside_columns_agree(case: Case) -> None:
    """One value for all records and columns for the others: Polars has functions that take these for one record."""
    rows = list(rows_of(case))
    places = range(len(fields_of(case)))
    for constant in chain.from_iterable(combinations(places, count) for count in range(1, len(places))):
        groups: dict[str, list[tuple[object, ...]]] = {}
        for row in rows:
            groups.setdefault(repr([row[place] for place in constant]), []).append(row)
        for group in list(groups.values())[:: max(1, len(groups) // 2)]:
            for part in (group, _working(case, group)):
                run_as_expected(constant_program(case, constant, part), "columns", 64)


@pytest.mark.parametrize("case", SEVERAL)
@pytest.mark.parametrize("form", ["rows", "columns"])
def test_of_arguments_that_fail_the_first_is_named(case: Case, form: Form) -> None:
    row = next(row for row in rows_of(case) if all(each is not None for each in row))
    run_as_expected(failing_program(case, row), form, 8)


def _working(case: Case, rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """The rows that do not fail."""
    done = run(case_program(case, rows), "functions").reply or []
    return [rows[number] for number in sorted(row[0] for row in done if isinstance(row, tuple))]


def _is_refused(case: Case) -> bool:
    fields = fields_of(case)
    record = Var("r", stream({f"a{place}": each for place, each in enumerate(fields)}))
    call = call_of(case, [Get(record, f"a{place}", each) for place, each in enumerate(fields)])
    return isinstance(call, Call) and bool(refusal(call))


@pytest.mark.slow
@pytest.mark.usefixtures("operators_apart")
@pytest.mark.parametrize("family", FAMILY_CASES)
def test_spark_agrees(family: str, spark: SparkSession, tmp_path: Path) -> None:
    """A few tasks at a time: each task of a union takes all of the plan with it."""
    groups = grouped(FAMILY_CASES[family])
    for first in range(0, len(groups), 10):
        some = [*chain.from_iterable(groups[first : first + 10])]
        agree(spark, family_program(some), "functions", tmp_path)
