"""A program of addresses, maps and JSON as users write them: reference, both native forms and Spark agree."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from ghcm.codegen.engines import emit
from ghcm.codegen.spark import SPARK
from ghcm.errors import GhcmError
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source
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
        ("bad/map", "bad_cast"),
        ("bad/map", "bad_cast"),
        ("inside/map", "bad_cast"),
        ("read/map", "bad_cast"),
    ]
    assert found.sinks["read"][0] == ("é", "a", ["a", None, "1.50"], 1000.0, True, 12)
    assert found.sinks["kept"][2] == (3, "", None, ["", None])


def test_the_graph_prints_and_parses(program: Program) -> None:
    text = print_program(program)
    assert parse_program(text) == program


@pytest.mark.parametrize(
    "body",
    [
        't => t.json_get("$.a")',
        "t => to_string(to_float(t))",
        "t => to_json(t)",
        't => try(to_timestamp(t)).hour("Asia/Tokyo")',
    ],
)
def test_spark_refuses_for_items_what_it_hands_to_python(body: str) -> None:
    text = f"""program items
sink out = files("out")
batch u {{
  memory(["a,b"]).map(s => s.split(",").map({body})).to(out)
}}"""
    program = lower(parse(Source("items.istream", text)))
    with pytest.raises(GhcmError, match="items of a list on Spark"):
        emit(SPARK, program, program.unit("u"))


@pytest.mark.slow
def test_spark_agrees_with_the_reference(program: Program, spark: SparkSession) -> None:
    assert differences_on_spark(spark, program) == []
