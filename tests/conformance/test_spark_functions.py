"""Every function of expressions means on Spark what it means in the reference."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.codegen.spark.expressions import EMITTED
from ghcm.functions import FUNCTIONS
from tests.conformance.spark_cases import CASES, cases_by_result, function_unit, program_of
from tests.conformance.spark_runs import agree

pytestmark = pytest.mark.slow

GROUPS = cases_by_result()


def test_every_function_has_a_case() -> None:
    assert {case.function for case in CASES} == set(FUNCTIONS)
    assert set(EMITTED) == set(FUNCTIONS)


@pytest.mark.parametrize("result", sorted(GROUPS))
def test_functions_agree_with_the_reference(result: str, spark: SparkSession, tmp_path: Path) -> None:
    agree(spark, program_of(function_unit("functions", GROUPS[result])), "functions", tmp_path)
