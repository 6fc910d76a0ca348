"""A call on completion of a unit that has no record is made, with its constants, on every engine."""

import pytest
from pyspark.sql import SparkSession

from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of


def test_the_native_forms_make_the_call() -> None:
    (call,) = agrees_natively(program_of("completion")).instructions
    assert dict(call.arguments) == {"n": 0, "least": None, "depth": 3, "from": "ab"}


@pytest.mark.slow
def test_spark_makes_the_call(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("completion")) == []
