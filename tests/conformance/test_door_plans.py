"""What Spark plans for sources: filters and columns at the scan, no Python where none is needed, one pass."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from ghcm.codegen.spark import generate
from ghcm.runtime.sinks.sink import open_writer
from tests.conformance.spark_runs import load_job
from tests.conformance.test_spark_places import program
from tests.redis_server import connected

pytestmark = pytest.mark.slow

RECORDS = "record Flow { src: string, bytes: int, at: timestamp, more: float? }\nrecord Few { bytes: int }\n"
REST = ".filter(f => f.bytes > 7).map(f => Few { bytes: f.bytes }).reply()"


def plan_of(text: str, spark: SparkSession, folder: Path) -> str:
    """How Spark runs the unit up to its reply."""
    return str(execution_of(text, spark, folder).executedPlan().toString())


def execution_of(text: str, spark: SparkSession, folder: Path) -> Any:
    """What Spark has of the unit up to its reply."""
    made = program(folder, RECORDS + text)
    module, found = load_job(generate(made, made.unit("u")), folder), list[DataFrame]()

    def reply_with(_job: object, rows: DataFrame, _element: object) -> None:
        found.append(rows)

    module.__dict__["reply_with"] = reply_with
    module.run(spark, {}, {"base": str(folder)})
    frame: Any = found[0]
    return frame._jdf.queryExecution()


def test_filters_and_columns_reach_the_scan_of_parquet(spark: SparkSession, tmp_path: Path) -> None:
    arrow, parquet = pa, pq
    columns = {
        "src": ["a", "b"],
        "bytes": [1, 9],
        "at": arrow.array([1, 2], arrow.timestamp("us", "UTC")),
        "more": [1.5, None],
    }
    parquet.write_table(arrow.table(columns), tmp_path / "flows.parquet")
    plan = plan_of(
        f'responsive batch u() {{\n  files("flows.parquet", format = parquet).as(Flow){REST}\n}}\n', spark, tmp_path
    )
    assert "Python" not in plan and "Arrow" not in plan
    assert len(re.findall("FileScan", plan)) == 1


def test_what_is_not_read_of_parquet_does_not_count_when_joins_are_planned(spark: SparkSession, tmp_path: Path) -> None:
    arrow, parquet = pa, pq
    file, rows = tmp_path / "flows.parquet", 1000
    parquet.write_table(arrow.table({"bytes": range(rows), **{f"text_{n}": ["long"] * rows for n in range(20)}}), file)
    text = 'responsive batch u() {\n  files("flows.parquet", format = parquet).as(Few).reply()\n}\n'
    size = execution_of(text, spark, tmp_path).optimizedPlan().stats().sizeInBytes()
    assert size < file.stat().st_size / 10


@pytest.mark.parametrize("divided", ["", ", partition = f => f.src"])
def test_filters_and_columns_reach_the_scan_of_our_tables(divided: str, spark: SparkSession, tmp_path: Path) -> None:
    text = f'sink flows = parquet("flows"{divided}, mode = append, record = Flow)\n'
    text += f"responsive batch u() {{\n  flows.read(){REST}\n}}\n"
    writer = open_writer(program(tmp_path, RECORDS + text).sink("flows"), connected(tmp_path), writer="test")
    writer.write([("a", 9, 0, None)])
    writer.prepare("one")
    writer.commit("one")
    writer.close()
    plan = plan_of(text, spark, tmp_path)
    assert "Python" not in plan and "CollectMetrics" not in plan
    assert "PushedFilters: [IsNotNull(bytes), GreaterThan(bytes,7)]" in plan
    assert "ReadSchema: struct<bytes:bigint>" in plan


def test_lines_are_scanned_and_parsed_once(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "flows").write_text('{"src": "a", "bytes": 9, "at": 1.5}\n')
    (tmp_path / "cells").write_text("src,bytes,at\na,9,1.5\n")
    (tmp_path / "quoted").write_text('src,bytes,at\n"a","9",1.5\n')
    (tmp_path / "odd").write_text("no JSON\n")
    (tmp_path / "wide").write_text('{"bytes": 9}\n')
    formats = {
        "flows": ("json", "split("),
        "odd": ("json", "from_json("),
        "wide": ("json", "from_json("),
        "cells": ("csv", "split("),
        "quoted": ("csv", "from_csv("),
    }
    wide = f"record Wide {{ bytes: int, {', '.join(f'more_{n}: int?' for n in range(20))} }}\n"
    for file, (format_, parse) in formats.items():
        source = f'files("{file}", format = {format_}).as({"Wide" if file == "wide" else "Flow"})'
        plan = plan_of(f"{wide}responsive batch u() {{\n  {source}{REST}\n}}\n", spark, tmp_path)
        assert (plan.count("FileScan"), plan.count(parse), plan.count("ArrowEvalPython")) == (1, 1, 1)
        assert (" Project" in plan.replace(") Project", "")) == (parse == "from_json(")  # what ends the loop of a stage
