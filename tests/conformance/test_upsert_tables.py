"""Delta tables that are upserted: both engines leave the last row of each key, as the reference does, run after run."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from ghcm.language import parse
from ghcm.lowering import lower
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sinks.sink import read, rows_of_call
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from ghcm.spg.graph import Program
from tests.conformance.live_runs import Compiled
from tests.conformance.spark_runs import run_on_spark
from tests.redis_server import connected

Record = tuple[str | None, int, int, int | None]

TEXT = """program upserts

record Seen { host: string?, day: int, bytes: int, took: duration? }

sink latest = parquet("out/latest", key = s => (s.host, s.day), mode = upsert)

KIND u { files("rows.json", format = json).as(Seen).to(latest) }
"""
FIRST: list[Record] = [
    ("a", 1, 1, 5_000_000),
    (None, 1, 2, None),
    ("b", 1, 3, None),
    ("a", 1, 4, None),
    (None, 1, 5, 7_000_000),
]
SECOND: list[Record] = [("a", 2, 6, None), ("b", 1, 7, 9_000_000), (None, 2, 8, None)]


def program_of(kind: str) -> Program:
    return lower(parse(Source("upserts.istream", TEXT.replace("KIND", kind))))


def given(folder: Path, rows: list[Record]) -> None:
    folder.mkdir(exist_ok=True)
    lines = [
        {"host": host, "day": day, "bytes": size, "took": None if took is None else took / 1e6}
        for host, day, size, took in rows
    ]
    (folder / "rows.json").write_text("".join(json.dumps(line) + "\n" for line in lines))


def rows_in(program: Program, folder: Path) -> set[Row]:
    found = list(read(program.sink("latest"), connected(folder)))
    assert len(set(found)) == len(found)
    return set(found)


def expected(*rows: Record) -> set[Row]:
    return set({(row[0], row[1]): row for row in rows}.values())


def test_the_native_engine_keeps_the_last_row_of_each_key(tmp_path: Path) -> None:
    program = program_of("stream")
    for at, rows in enumerate((FIRST, SECOND)):
        given(tmp_path, rows)
        Engine(Compiled(program), connections=connected(tmp_path), state=tmp_path / f"state{at}").run()
    assert rows_in(program, tmp_path) == expected(*FIRST, *SECOND)
    assert pl.read_delta(str(tmp_path / "out/latest")).height == 5


@pytest.mark.slow
def test_spark_merges_into_what_the_native_engine_has_written(tmp_path: Path, spark: SparkSession) -> None:
    given(tmp_path, FIRST)
    Engine(Compiled(program_of("stream")), connections=connected(tmp_path), state=tmp_path / "state").run()
    program = program_of("batch")
    given(tmp_path, SECOND)
    for _ in range(2):
        done = run_on_spark(spark, program, "u", tmp_path, call="second")
        assert done.result["sinks"] == {"latest": {"version": "second", "rows": 3}}
    assert rows_in(program, tmp_path) == expected(*FIRST, *SECOND)
    page = rows_of_call(program.sink("latest"), connected(tmp_path), call="second", limit=10)
    assert (set(page.rows), page.total) == (set(SECOND), 3)
