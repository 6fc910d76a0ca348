"""The conformance tests catch mistakes: errors planted in the emitters of every engine are found one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.spg import reference
from tests.conformance import test_functions as conformance
from tests.conformance.functions.case import Case
from tests.conformance.functions.families import FAMILY_CASES
from tests.conformance.functions.units import family_program, grouped
from tests.conformance.plants import PLANTS, Plant, planted
from tests.conformance.spark_runs import run_on_spark

CASES = [case for cases in FAMILY_CASES.values() for case in cases]


def case_of(plant: Plant) -> Case:
    """The case of the conformance tests that shows it."""
    fitting = [case for case in CASES if case.function == plant.function and case.types == plant.types]
    return min(fitting, key=lambda case: bool(case.constants))


def caught(check: Callable[[Case], None], case: Case) -> bool:
    """Whether the comparison finds something."""
    try:
        check(case)
    except AssertionError:
        return True
    return False


def test_there_are_plants_of_fifteen_functions() -> None:
    assert len({plant.function for plant in PLANTS}) >= 15


@pytest.mark.parametrize("plant", PLANTS, ids=str)
@pytest.mark.parametrize("engine", ["rows", "columns"])
def test_native_comparison_catches_it(engine: str, plant: Plant) -> None:
    case = case_of(plant)
    check = conformance.test_rows_agree if engine == "rows" else conformance.test_columns_agree
    with planted(engine, plant):
        assert caught(check, case)
    assert not caught(check, case)


@pytest.mark.slow
def test_comparison_on_spark_catches_all(spark: SparkSession, tmp_path: Path) -> None:
    cases = [case_of(plant) for plant in PLANTS]
    program = family_program(cases)
    with planted("spark", *PLANTS):
        found = run_on_spark(spark, program, "functions", tmp_path)
    expected = reference.run(program, "functions")
    wrong: set[str] = set()
    for number, group in enumerate(grouped(cases)):
        letters = sorted((each.task, each.reason.value, each.input) for each in expected.dead)
        mine = [each for each in letters if each[0] == f"map{number}"]
        if mine != [each for each in found.dead if each[0] == f"map{number}"]:
            wrong |= {case.function for case in group}
        rows = {_place(row): _values(row) for row in expected.reply or [] if _place(row)[0] == number}
        there = {_place(row): _values(row) for row in found.reply if _place(row)[0] == number}
        for place in rows.keys() & there.keys():
            pairs = zip(group, rows[place], there[place], strict=True)
            wrong |= {case.function for case, one, two in pairs if one != two}
    assert wrong == {plant.function for plant in PLANTS}


def _place(row: object) -> tuple[object, object]:
    """The group and the row."""
    parts = list(row.values()) if isinstance(row, dict) else list(row) if isinstance(row, tuple) else []
    return parts[0], parts[1]


def _values(row: object) -> list[object]:
    """The results of the cases of the group; floats as text, for NaN and for their JSON."""
    parts = list(row.values()) if isinstance(row, dict) else list(row) if isinstance(row, tuple) else []
    return [str(each) for part in parts[2:] if isinstance(part, list) for each in part]
