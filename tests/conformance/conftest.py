"""One warm Spark session for all conformance tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.campaigns import times
from tests.conformance.spark_runs import start_spark

_WHOLE_STAGE = "spark.sql.codegen.wholeStage"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with the settings of the Spark driver."""
    session = start_spark()
    yield session
    session.stop()


@pytest.fixture
def operators_apart(spark: SparkSession) -> Iterator[None]:
    """Operators of Spark do not share their loops. What is generated for their expressions stays the same, at half the
    cost or less: for many small jobs. Longer campaigns do without this.
    """
    if times(1) > 1:
        yield
        return
    spark.conf.set(_WHOLE_STAGE, "false")
    yield
    spark.conf.unset(_WHOLE_STAGE)
