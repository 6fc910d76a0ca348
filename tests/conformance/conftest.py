"""One warm Spark session for all conformance tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.conformance.spark_runs import start_spark


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with the settings of the Spark driver."""
    session = start_spark()
    yield session
    session.stop()
