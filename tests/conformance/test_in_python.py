"""What Spark computes in Python stands wherever other values do."""

import pytest
from pyspark.sql import SparkSession

from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of


@pytest.mark.slow
def test_values_made_in_python_stand_in_lambdas_of_sql(spark: SparkSession) -> None:
    program = program_of("in_python")
    assert len(agrees_natively(program).sinks["found"]) == 3
    assert differences_on_spark(spark, program) == []
