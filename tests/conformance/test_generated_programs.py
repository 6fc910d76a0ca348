"""Generated programs do on Spark what they do in the reference."""

import pytest
from pyspark.sql import SparkSession

from tests.laws.spark_together import run_on_one_session

PROGRAMS = 200


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_generated_programs_on_spark(spark: SparkSession) -> None:
    wrong = run_on_one_session(PROGRAMS, spark=spark)
    assert not wrong, "\n".join(f"seed {seed}: {said[:3]}" for seed, said in wrong)
