"""Generated programs do on Spark what they do in the reference: those of four hundred that meet most together."""

import pytest
from pyspark.sql import SparkSession

from tests.laws.spark_together import case_of, run_on_one_session, telling_seeds

PROGRAMS = 100
OF = 400


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_generated_programs_on_spark(spark: SparkSession) -> None:
    wrong = run_on_one_session([(seed, case_of(seed)) for seed in telling_seeds(PROGRAMS, OF)], spark=spark)
    assert not wrong, "\n".join(f"seed {seed}: {said[:3]}" for seed, said in wrong)
