"""Every operator on hard records: nulls, duplicates, unicode, extremes, NaN and failing ones, and none at all.

Generated data meets these by chance (`test_native_programs`, `test_spark_operators`); here each operator meets all.
"""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.operators import OPERATORS
from ghcm.runtime.contract import Form
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.reference import Result, run
from ghcm.support import Yes
from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import FORMS, PROGRAMS, agrees_natively, program_of
from tests.unit.runtime.operators.harness import run_unit

LEFT: dict[str, tuple[str, int, dict[str, int]]] = {
    "kept": ("filter", 8, {"zero_divisor": 1}),
    "mapped": ("map", 9, {"overflow": 3}),
    "items": ("flat_map", 18, {"overflow": 3}),
    "paired": ("map_to_pair", 11, {"zero_divisor": 1}),
    "valued": ("map_values", 9, {"overflow": 3}),
    "keyed": ("key_by", 11, {"zero_divisor": 1}),
    "timed": ("event_time", 9, {"overflow": 3}),
    "united": ("union", 15, {}),
    "different": ("distinct", 10, {}),
    "ordered": ("sort", 11, {"zero_divisor": 1}),
    "greatest": ("top", 4, {"zero_divisor": 1}),
    "joined": ("join", 9, {}),
    "crossed": ("cross", 60, {"zero_divisor": 12}),
    "divided": ("join", 8, {"zero_divisor": 1}),
    "reduced": ("reduce_by_key", 6, {"overflow": 1}),
    "aggregated": ("aggregate_by_key", 6, {"zero_divisor": 1, "overflow": 1}),
    "grouped": ("group_by_key", 7, {}),
    "counted": ("count", 8, {}),
    "all": ("count", 1, {}),
    "gathered": ("aggregate", 1, {"zero_divisor": 1}),
    "windowed": ("window", 10, {}),
    "told": ("python", 8, {"wrong_result": 3, "python": 1}),
}
"""By sink: the operator that it shows, how many records it holds, and the dead letters on the way to it."""
BY_ROW_IF_ONE_FAILS = {"divided"}
"""A join with a pair that fails is done again by rows as a whole."""
_IN_TURN = {"preceding", "absent", "present", "scan", "chunks", "process"}
ELSEWHERE = {"as", "named", "iterate", "sample", "changes", "latest", "lookup", *_IN_TURN}
"""Shown by `test_formats`, by every named pipeline here, by `test_iterations`, `test_samples`, `test_changes`,
`test_changing_tables`, `test_services_asked` and `test_in_time_order`.
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of("hard")


@pytest.fixture(scope="module")
def without_records() -> Program:
    """The same where the sources give nothing."""
    text = (PROGRAMS / "hard.istream").read_text(encoding="utf-8")
    nothing = text.replace("r.at > 0", "r.at < 0").replace("o.size >= 0", "o.size < 0")
    return lower(parse(Source("nothing.istream", nothing)))


def left(found: Result, name: str) -> tuple[int, dict[str, int]]:
    """How many records are in a sink, and the reasons of the dead letters of its pipeline."""
    reasons = Counter(letter.reason.value for letter in found.dead if letter.task.split("/")[0] == name)
    return len(found.sinks[name]), dict(reasons)


def test_every_operator_is_shown() -> None:
    transforms = {each.name for each in OPERATORS.values() if each.takes and isinstance(each.reference, Yes)}
    assert transforms - {"to", "publish", "reply", "read"} == {word for word, _, _ in LEFT.values()} | ELSEWHERE


def test_native_forms_agree_with_the_reference(program: Program) -> None:
    found = agrees_natively(program)
    assert {name: (word, *left(found, name)) for name, (word, _, _) in LEFT.items()} == LEFT


def test_native_forms_agree_on_no_records(without_records: Program) -> None:
    found = agrees_natively(without_records)
    assert {name: rows for name, rows in found.sinks.items() if rows} == {"all": [0], "gathered": [(0, [], None)]}
    assert not found.dead


@pytest.mark.parametrize("form", FORMS)
def test_the_form_that_is_asked_for_runs(form: Form, program: Program) -> None:
    counts = run_unit(program, program.unit("u"), form).counts
    for name, (word, _, _) in LEFT.items():
        task = name if name in counts else f"{name}/{word}"
        columnar = form == "columns" and isinstance(OPERATORS[word].columnar, Yes)
        assert bool(counts[task]["columns"]) == (columnar and name not in BY_ROW_IF_ONE_FAILS), task


@pytest.mark.slow
def test_spark_agrees_with_the_reference(program: Program, spark: SparkSession) -> None:
    assert run(program, "u").dead
    assert differences_on_spark(spark, program) == []


@pytest.mark.slow
def test_spark_agrees_on_no_records(without_records: Program, spark: SparkSession) -> None:
    assert differences_on_spark(spark, without_records) == []
