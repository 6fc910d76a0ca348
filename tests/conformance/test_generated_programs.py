"""Generated programs do on Spark what they do in the reference: those of more than a thousand that tell most."""

import pytest
from pyspark.sql import SparkSession

from tests.campaigns import times
from tests.laws.spark_together import batch_cases, cases_of, rewritable_cases, run_on_one_session
from tests.laws.telling import chosen, met_together

PROGRAMS = 45
LEAST = 0.95


@pytest.mark.slow
@pytest.mark.usefixtures("operators_apart")
@pytest.mark.timeout(1800)
def test_generated_programs_on_spark(spark: SparkSession) -> None:
    seeds, met = chosen("spark")
    cases = [*cases_of(seeds)]
    if met_together("spark", seeds) < LEAST * met:  # the generators have changed since these were chosen
        cases = batch_cases(PROGRAMS)
    wrong = run_on_one_session(cases, spark=spark)
    assert not wrong, "\n".join(f"seed {seed}: {said[:3]}" for seed, said in wrong)


@pytest.mark.slow
@pytest.mark.usefixtures("operators_apart")
@pytest.mark.timeout(1800)
def test_what_the_optimiser_makes_on_spark(spark: SparkSession) -> None:
    wrong = run_on_one_session(rewritable_cases(times(200 - PROGRAMS)), spark=spark, at_once=4, optimised=True)
    assert not wrong, "\n".join(f"seed {seed}: {said[:3]}" for seed, said in wrong)
