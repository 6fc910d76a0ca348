"""Iterations on every engine: rounds that end by themselves, that reach their limit, that fail, and none at all."""

import pytest
from pyspark.sql import SparkSession

from ghcm.optimizer import optimise
from ghcm.spg.graph import Program
from ghcm.spg.json import from_json, to_json
from ghcm.spg.reference import run
from ghcm.spg.text import parse_program, print_program
from tests.conformance.spark_runs import Outcome
from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of

ROUNDS = {"reached": 3, "grown": 3, "labels": 4, "doubled": 2, "settled": 6, "same": 0, "maybe": 3}


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of("iterate")


def test_the_reference_runs_the_step_until_its_end(program: Program) -> None:
    found = run(program, "u")
    assert found.rounds == ROUNDS
    assert max(row[3] for row in found.sinks["reached"]) == 4  # type: ignore[index]
    assert {row[1] for row in found.sinks["labels"]} == {"a"}  # type: ignore[index]
    assert {row[:3] for row in found.sinks["grown"]} == {("b", 1, 1), (None, 1, 9), ("c", 2, 7), ("d", 3, 10)}  # type: ignore[index]
    (last, first) = sorted((each.task, each.input) for each in found.dead if "grown" not in each.task)
    assert (last, first) == (("doubled", "null"), ("doubled/step/map", "0"))
    assert [each.reason.value for each in found.dead if "grown" in each.task] == ["zero_divisor"]


def test_a_step_prints_and_parses(program: Program) -> None:
    program = optimise(program).program
    text = print_program(program)
    assert parse_program(text) == program
    assert print_program(parse_program(text)) == text
    assert from_json(to_json(program)) == program


def test_native_iterations_agree_with_the_reference(program: Program) -> None:
    agrees_natively(program)


@pytest.mark.slow
def test_spark_iterations_agree_with_the_reference_and_say_how_many_rounds_they_ran(
    program: Program, spark: SparkSession
) -> None:
    said: list[str] = []
    found: list[Outcome] = []

    def progress(_: float, doing: str) -> None:
        said.append(doing)

    assert differences_on_spark(spark, optimise(program).program, seen=found.append, progress=progress) == []
    assert found[0].result["rounds"] == ROUNDS
    assert "reached: round 2 of at most 3" in said
