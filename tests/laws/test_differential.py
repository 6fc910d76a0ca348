"""Two thousand generated programs on the native engine, and two hundred on Spark, do what the reference does."""

import pytest
from pyspark.sql import SparkSession

from tests.laws.coverage import UNIVERSE
from tests.laws.differential import describe, run_all
from tests.laws.spark_together import run_on_one_session

PROGRAMS, ON_SPARK = 2_000, 200
LEAST = 0.95


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_generated_programs_on_the_native_engine() -> None:
    coverage, failures = run_all(PROGRAMS)
    print("\n".join(coverage.lines()))
    assert not failures, "\n".join(describe(seed) for seed, _ in failures[:3])
    assert coverage.programs == PROGRAMS
    assert coverage.columns > PROGRAMS
    shares = {kind: coverage.share(kind) for kind in UNIVERSE}
    assert all(share >= LEAST for share in shares.values()), "\n".join(coverage.lines())


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_generated_programs_on_spark(spark: SparkSession) -> None:
    wrong = run_on_one_session(ON_SPARK, spark=spark)
    assert not wrong, "\n".join(f"seed {seed}: {said[:3]}" for seed, said in wrong)
