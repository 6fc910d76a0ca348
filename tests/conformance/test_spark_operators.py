"""Every operator does on Spark what it does in the reference, on generated data that breaks engines."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from ghcm.spg.ops import ReadSink
from tests.campaigns import times
from tests.conformance.spark_sinks import differences_on_spark
from tests.laws.spg_values import values_of
from tests.laws.spgs import CASES, operator_case, programs, raw_case

pytestmark = pytest.mark.slow

few = settings(
    max_examples=times(3), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
ORDERED = {"sort", "top"}


@pytest.mark.parametrize("name", CASES)
def test_operators_agree_with_the_reference(name: str, spark: SparkSession) -> None:
    @few
    @given(st.data())
    def check(data: st.DataObject) -> None:
        program = data.draw(operator_case(name, kind="batch"))
        sinks = {
            task.op.sink: data.draw(st.lists(values_of(program.sink(task.op.sink).element), max_size=6))
            for task in program.unit("u").tasks
            if isinstance(task.op, ReadSink)
        }
        assert differences_on_spark(spark, program, sinks=sinks, ordered=name in ORDERED) == []

    check()


@pytest.mark.parametrize("format_name", ["json", "csv", "text"])
def test_raw_records_are_decoded_alike(format_name: str, spark: SparkSession) -> None:
    @few
    @given(st.data())
    def check(data: st.DataObject) -> None:
        program, files = data.draw(raw_case(format_name))  # type: ignore[arg-type]
        assert differences_on_spark(spark, program, files=files) == []

    check()


def test_programs_agree_with_the_reference(spark: SparkSession) -> None:
    @few
    @given(programs(kind="batch"))
    def check(program) -> None:  # type: ignore[no-untyped-def]
        assert differences_on_spark(spark, program) == []

    check()
