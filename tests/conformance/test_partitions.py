"""Tables divided by columns: both engines write and read the same one, and Spark's own reader finds its columns."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from ghcm.language import parse
from ghcm.lowering import lower
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from ghcm.spg.graph import Program
from tests.conformance.live_runs import Compiled
from tests.conformance.spark_runs import run_on_spark
from tests.redis_server import connected

TEXT = """program divided

record Seen { host: string, day: date, n: int, up: bool?, took: duration? }

sink kept   = parquet("out/kept", partition = s => (s.day, s.host, s.up))
sink latest = parquet("out/latest", partition = s => s.host, key = s => (s.day, s.n), mode = upsert)
sink again  = parquet("out/again", partition = s => (s.up, s.n), mode = replace)

KIND u {
  seen = files("rows.json", format = json).as(Seen)
  seen.to(kept)
  seen.to(latest)
}
batch copy { kept.read().to(again) }
"""
Seen = tuple[str, int, int, bool | None, int | None]

FIRST: list[Seen] = [
    ("a/b =%20 ü", 20_455, 1, True, 5_000_000),
    ("", 20_455, 2, None, None),
    ("a/b =%20 ü", 20_455, 3, True, 7),
    ("007", -700_000, 4, False, None),
]
SECOND: list[Seen] = [("x", 20_455, 1, None, None), ("", -700_000, 4, False, 1), ("a:b", 20_456, 9, True, None)]


def program_of(kind: str) -> Program:
    return lower(parse(Source("divided.istream", TEXT.replace("KIND", kind))))


def given(folder: Path, rows: list[Seen]) -> None:
    names, epoch = ("host", "day", "n", "up", "took"), date(1970, 1, 1)
    told = [(host, str(epoch + timedelta(day)), n, up, took and took / 1e6) for host, day, n, up, took in rows]
    (folder / "rows.json").write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in told))


def rows_in(program: Program, sink: str, folder: Path) -> list[Row]:
    return sorted(read(program.sink(sink), connected(folder)), key=repr)


@pytest.mark.slow
def test_both_engines_write_and_read_one_table(tmp_path: Path, spark: SparkSession) -> None:
    given(tmp_path, FIRST)
    Engine(Compiled(program_of("stream")), connections=connected(tmp_path), state=tmp_path / "state").run()
    program = program_of("batch")
    assert rows_in(program, "kept", tmp_path) == sorted(FIRST, key=repr)
    given(tmp_path, SECOND)
    for _ in range(2):
        run_on_spark(spark, program, "u", tmp_path, call="second")
    run_on_spark(spark, program, "copy", tmp_path, call="third")
    expected = sorted([*FIRST, *SECOND], key=repr)
    assert rows_in(program, "kept", tmp_path) == rows_in(program, "again", tmp_path) == expected
    assert rows_in(program, "latest", tmp_path) == sorted([*FIRST[1:3], *SECOND], key=repr)
    assert len(list((tmp_path / "out/again").glob("up=*/n=*/*.parquet"))) == len({row[3:1:-1] for row in expected})
    again = pl.read_delta(str(tmp_path / "out/again")).sort("n", "host")
    found = spark.read.option("basePath", str(tmp_path / "out/again")).parquet(str(tmp_path / "out/again"))
    assert sorted(row["n"] for row in found.collect()) == again["n"].to_list() == sorted(row[2] for row in expected)


@pytest.mark.slow
def test_spark_refuses_what_no_folder_can_be_named_by(tmp_path: Path, spark: SparkSession) -> None:
    given(tmp_path, [("ü" * 50, 20_455, 1, None, None)])
    with pytest.raises(ValueError, match='a value of "host" is too long to divide a table'):
        run_on_spark(spark, program_of("batch"), "u", tmp_path)
