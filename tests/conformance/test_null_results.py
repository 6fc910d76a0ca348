"""Records that may be null, joined by their fields, and given to and by users' functions, on every engine."""

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of


def test_the_native_forms_take_nulls() -> None:
    expected = agrees_natively(program_of("null_results"))
    assert None in expected.sinks["as_json"] and None in expected.sinks["by_row"]
    found = Counter(letter.reason.value for letter in expected.dead)
    assert found["python"] == 2 and found["wrong_result"] == 2 and found["zero_divisor"] == 6


@pytest.mark.slow
def test_spark_takes_nulls(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("null_results")) == []
