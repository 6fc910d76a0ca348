"""A fused task: what fails in it, where and with which input, on every engine; and what Spark makes of it."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ghcm.codegen.engines import emit
from ghcm.codegen.spark import SPARK
from ghcm.optimizer import optimise
from ghcm.runtime.bundle import job_library
from tests.conformance.spark_runs import load_job
from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of


def test_the_native_forms_fail_where_the_reference_does() -> None:
    expected = agrees_natively(program_of("chain"))
    assert len(expected.sinks["pairs"]) == 6
    assert Counter((letter.task, letter.reason.value) for letter in expected.dead) == {
        ("pairs/filter~2", "zero_divisor"): 1,
        ("pairs/filter~2", "bad_cast"): 1,
        ("pairs/map", "bad_cast"): 1,
        ("pairs/map", "overflow"): 1,
        ("pairs/map_to_pair", "overflow"): 1,
    }


@pytest.mark.slow
def test_spark_fails_where_the_reference_does(spark: SparkSession) -> None:
    program = program_of("chain")
    assert differences_on_spark(spark, program) == []
    assert differences_on_spark(spark, optimise(program).program) == []


@pytest.mark.slow
def test_spark_makes_the_rows_of_a_chain_and_counts_what_failed_in_one_pass(
    spark: SparkSession, tmp_path: Path
) -> None:
    program = optimise(program_of("chain")).program
    module = load_job(emit(SPARK, program, program.unit("u")).module, tmp_path)
    with job_library(tmp_path / "spark"):
        library: Any = import_module("ghcm_spark.job")
        running: Any = import_module("ghcm_spark.running")
    for name, value in running.SETTINGS.items():
        spark.conf.set(name, value)
    job: Any = library.Job(spark, "u", str(tmp_path), {"call": uuid.uuid4().hex, "base": str(tmp_path)})
    rows = module.pairs_key_by(job, module.readings(job))
    assert len(rows.collect()) == 6
    (failures,) = job.failures
    assert failures.counted.count == 5
    assert running.collected_letters(failures) is None  # their records have lists: a pass of its own makes them
    assert len(failures.letters().collect()) == 5
    plan = rows._jdf.queryExecution().executedPlan().toString()
    assert "CollectMetrics" not in plan
    assert "Generate explode" in plan and "BatchEvalPython" not in plan
    assert re.search(r"\+- (Project|Filter|Generate)", plan.partition("Initial Plan")[0]) is None, "codegen is broken"
