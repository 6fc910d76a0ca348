"""Cases that nobody here wrote: the programs beside this file give what the other projects expect, on every engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.errors import GhcmError
from ghcm.runtime.contract import Form
from tests.campaigns import times
from tests.conformance.foreign.cases import CaseSet
from tests.conformance.foreign.catalogue import SETS, table
from tests.conformance.foreign.rows import differences
from tests.conformance.foreign.running import compiled, differs_natively, differs_on_spark, differs_on_the_reference
from tests.conformance.foreign.telling import chosen, met_by_each
from tests.conftest import ROOT, Golden

CASES = [pytest.param(each, name, id=f"{each.name}/{name}") for each in SETS for name in each.run]
REFUSED = [pytest.param(each, name, id=f"{each.name}/{name}") for each in SETS for name in sorted(each.refused)]
BATCHES = [
    pytest.param(each, name, id=f"{each.name}/{name}") for each in SETS for name in each.run if name not in each.late
]
ON_SPARK = [each for each in BATCHES if times(1) > 1 or each.id in chosen()]
FORMS: tuple[Form, ...] = ("rows", "columns")


@pytest.mark.parametrize(("cases", "name"), CASES)
def test_the_reference_gives_what_is_expected(cases: CaseSet, name: str, shared: Path, tmp_path: Path) -> None:
    assert differs_on_the_reference(cases.program(name), cases.case(shared, name), tmp_path) == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("cases", "name"), CASES)
def test_the_native_engine_gives_what_is_expected(
    cases: CaseSet, name: str, form: Form, shared: Path, tmp_path: Path
) -> None:
    assert differs_natively(cases.program(name), cases.case(shared, name), tmp_path, form) == []


@pytest.mark.slow
@pytest.mark.usefixtures("operators_apart")
@pytest.mark.parametrize(("cases", "name"), ON_SPARK)
def test_spark_gives_what_is_expected(
    cases: CaseSet, name: str, shared: Path, tmp_path: Path, spark: SparkSession
) -> None:
    assert differs_on_spark(spark, cases.program(name), cases.case(shared, name), tmp_path) == []


def test_the_cases_that_run_on_spark_meet_all_that_the_others_do() -> None:
    met = met_by_each()
    missing = frozenset[str]().union(*met.values()) - frozenset[str]().union(*(met[each] for each in chosen()))
    assert not missing, "python -m tests.conformance.foreign.telling chooses them anew"


@pytest.mark.parametrize(("cases", "name"), REFUSED)
def test_a_wrong_program_is_refused(cases: CaseSet, name: str, golden: Golden) -> None:
    path = cases.program(name)
    with pytest.raises(GhcmError) as refusal:
        compiled(path)
    golden(path.with_suffix(".txt"), f"{refusal.value}\n")


def test_rows_that_differ_are_named() -> None:
    assert differences([[1, "2015-07-15 00:00:01"], [2.0]], [[2], [1, "2015-07-15T00:00:01Z"]]) == []
    assert differences([[1], [1], [2]], [[1], [3]]) == ["missing (1,)", "missing (2,)", "surplus (3,)"]
    assert differences([["07", ""]], [[7, None]], loose=True) == []
    assert differences([[1]], [["1"]]) == ["missing (1,)", "surplus ('1',)"]


@pytest.mark.parametrize("cases", SETS, ids=lambda cases: cases.name)
def test_every_case_has_a_program_or_waits_for_something(cases: CaseSet, shared: Path) -> None:
    assert sorted([*cases.written, *cases.waits]) == sorted(cases.names(shared))


def test_the_table_is_in_the_documentation(golden: Golden, shared: Path) -> None:
    golden(ROOT / "docs" / "foreign.md", table())
