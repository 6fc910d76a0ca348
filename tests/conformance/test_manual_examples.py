"""The examples of functions in the manual give on Spark what they show: one of each function, those of a family in one
record. All of them run in tests/unit/manual/test_examples.py, and hard values of each function in test_functions.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.functions import FAMILIES, Example
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.graph import Program
from tests.conformance.spark_runs import agree

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("operators_apart")]


PLAIN = Example("", "").given


def plain(family: str) -> list[Example]:
    """Of each function the first example of constants that does not fail."""
    examples = ([each for each in row.examples if is_plain(each)] for row in FAMILIES[family])
    return [some[0] for some in examples if some]


def is_plain(example: Example) -> bool:
    return not example.fails and example.given == PLAIN and not example.declares


def side_by_side(examples: list[Example]) -> Program:
    fields = ", ".join(f"a{number}: {each.text}" for number, each in enumerate(examples))
    body = f"memory([{{ n: 0 }}]).map(r => {{ {fields} }}).reply()"
    text = f"program examples\n\nresponsive batch u {{\n  {body}\n}}\n"
    return lower(parse(Source("examples.istream", text)))


@pytest.mark.parametrize("family", [family for family in FAMILIES if plain(family)])
def test_examples_give_on_spark_what_they_show(family: str, spark: SparkSession, tmp_path: Path) -> None:
    agree(spark, side_by_side(plain(family)), "u", tmp_path)
