"""A program of addresses and maps as users write them: reference, both native forms and Spark agree."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from ghcm.spg.graph import Program
from ghcm.spg.text import parse_program, print_program
from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of("data")


def test_native_forms_agree_with_the_reference(program: Program) -> None:
    found = agrees_natively(program)
    assert found.sinks["addresses"][1] == (2, "2001:db8::1", False, False, "2001::/16")
    assert sorted((each.task, each.reason.value) for each in found.dead) == [
        ("addresses/map", "bad_cast"),
        ("inside/map", "bad_cast"),
    ]
    assert found.sinks["kept"][2] == (3, "", None, ["", None])


def test_the_graph_prints_and_parses(program: Program) -> None:
    text = print_program(program)
    assert parse_program(text) == program


@pytest.mark.slow
def test_spark_agrees_with_the_reference(program: Program, spark: SparkSession) -> None:
    assert differences_on_spark(spark, program) == []
