"""Samples hold the same records on every engine, in every form."""

import pytest
from pyspark.sql import SparkSession

from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of


def test_samples_agree_natively() -> None:
    expected = agrees_natively(program_of("samples"))
    counts = {name: len(rows) for name, rows in expected.sinks.items()}
    assert (counts["none"], counts["all"]) == (0, 200)
    assert 80 <= counts["half"] <= 120 and 30 <= counts["numbers"] <= 70


def test_equal_records_are_in_a_sample_together() -> None:
    expected = agrees_natively(program_of("samples"))
    seen = [tuple(map(repr, row)) for row in expected.sinks["seeded"]]  # type: ignore[call-overload]
    assert len(set(seen)) < len(seen)


@pytest.mark.slow
def test_samples_agree_on_spark(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("samples")) == []
