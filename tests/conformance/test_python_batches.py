"""Python functions by batch on every engine: only the bad records of a batch become dead letters."""

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of


def test_native_batches_agree_with_the_reference() -> None:
    expected = agrees_natively(program_of("batches"))
    counts = {name: len(rows) for name, rows in expected.sinks.items()}
    assert counts == {"doubled": 6, "described": 5, "lengths": 6, "windows": 6, "awaited": 4, "async_windows": 6}
    assert Counter(letter.reason.value for letter in expected.dead) == {"python": 3, "wrong_result": 6}


@pytest.mark.slow
def test_spark_batches_agree_with_the_reference(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("batches")) == []
