"""Records that may be null, as whole records, on every engine."""

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of


def test_the_native_forms_take_records_that_may_be_null() -> None:
    expected = agrees_natively(program_of("maybe"))
    assert {name: len(rows) for name, rows in expected.sinks.items()} == {
        "mapped": 10,
        "failing": 9,
        "distinct": 4,
        "joined": 10,
        "kept": 7,
        "without": 9,
        "all": 15,
        "paired": 2,
        "first": 2,
        "values": 10,
        "rounds": 9,
    }
    assert Counter(letter.reason.value for letter in expected.dead) == {"zero_divisor": 7, "overflow": 1}


@pytest.mark.slow
def test_spark_takes_records_that_may_be_null(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("maybe")) == []
