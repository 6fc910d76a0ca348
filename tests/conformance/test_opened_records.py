"""Records that may be null, opened by a filter, on every engine."""

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of


def test_the_native_forms_open_what_is_not_null() -> None:
    expected = agrees_natively(program_of("opened"))
    assert {name: len(rows) for name, rows in expected.sinks.items()} == {
        "named": 2,
        "failing": 2,
        "last": 2,
        "listed": 3,
    }
    assert Counter(letter.reason.value for letter in expected.dead) == {"overflow": 1}


@pytest.mark.slow
def test_spark_opens_what_is_not_null(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("opened")) == []
