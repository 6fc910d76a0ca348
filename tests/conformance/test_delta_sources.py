"""Delta tables as sources: Spark and the native engine give what the reference gives, whoever wrote the tables."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from ghcm.language import parse
from ghcm.lowering import lower
from ghcm.runtime.contract import Form
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.runtime.sources.table import TableSource
from ghcm.source import Source as Text
from ghcm.spg.connectors import Table
from ghcm.spg.graph import Program
from ghcm.spg.ops import Reply, Source
from ghcm.spg.reference import run
from ghcm.spg.text import parse_program, print_program
from ghcm.types import Date, Enumeration, Field, Int, List, Nullable, String, Struct, Timestamp
from tests.conformance.functions.units import batch_unit, program_of, task
from tests.conformance.live_runs import Compiled
from tests.conformance.spark_runs import agree, run_on_spark
from tests.delta_logs import delete_rows
from tests.redis_server import connected
from tests.tables import add, sink_of, versions, writer_of
from tests.unit.runtime.formats.decoding import drain
from tests.unit.runtime.sources.test_table import PARTITIONED, partitioned
from tests.unit.tables.test_delta import MANY, many

pytestmark = pytest.mark.slow


def reading(table: Table, record: Struct) -> Program:
    tasks = [task("in", Source(table), (), record), task("reply", Reply(), ["in"], record)]
    return program_of(batch_unit("u", tasks))


def compare(spark: SparkSession, base: Path, record: Struct, table: Table | None = None) -> list[Row]:
    """All give the same records and dead letters; the records."""
    table = table or Table("t")
    program = reading(table, record)
    assert parse_program(print_program(program)) == program
    expected = run(program, "u", base=base)
    rows, dead = drain(TableSource(table, record, "in", base))
    assert sorted(map(repr, rows)) == sorted(map(repr, expected.reply or []))
    assert sorted(text for _, text in dead) == sorted(each.input for each in expected.dead)
    agree(spark, program, "u", base)
    return rows


def test_our_own_tables(spark: SparkSession, tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "t", columns=MANY)
    writer = writer_of(sink)
    moments: list[int] = []
    for at, version in enumerate(versions(3)):
        time.sleep(0.02)  # the clock of files may stand for 4 ms
        moments.append(time.time_ns() // 1000)
        time.sleep(0.02)
        add(sink, version, *(many(number) for number in range(at * 2, at * 2 + 2)), writer=writer)
    writer.close()
    assert len(compare(spark, tmp_path, MANY)) == 6
    assert len(compare(spark, tmp_path, MANY, Table("t", version=2))) == 4
    assert len(compare(spark, tmp_path, MANY, Table("t", time_us=moments[2]))) == 4


def test_tables_divided_by_columns(spark: SparkSession, tmp_path: Path) -> None:
    expected = partitioned(tmp_path)
    assert sorted(compare(spark, tmp_path, PARTITIONED), key=repr) == sorted(expected, key=repr)
    only = Struct((Field("day", Nullable(Date())),))
    assert sorted(compare(spark, tmp_path, only), key=repr) == [(20_455,), (20_455,), (None,)]


HARD = Struct(
    (
        Field("a", Int()),
        Field("sign", Nullable(Enumeration(("+", "-")))),
        Field("at", Nullable(Timestamp()), "when it was"),
        Field("inner", Nullable(Struct((Field("x", Int()), Field("signs", List(Nullable(Enumeration(("+",))))))))),
        Field("absent", Nullable(String())),
    )
)


def hard(base: Path) -> None:
    """Rows of which most do not fit `HARD`."""
    held = pa.struct([("more", pa.string()), ("x", pa.int32()), ("signs", pa.list_(pa.string()))])
    fine = {"more": "m", "x": 1, "signs": ["+", None]}
    rows: list[dict[str, Any]] = [
        {"a": 1, "sign": "+", "when it was": 0, "inner": fine},
        {"a": None, "sign": "+", "when it was": 1, "inner": None},
        {"a": 3, "sign": "*", "when it was": 2, "inner": None},
        {"a": 4, "sign": None, "when it was": None, "inner": {**fine, "x": None}},
        {"a": 5, "sign": "-", "when it was": 4, "inner": {**fine, "signs": ["+", "?"]}},
        {"a": 6, "sign": "-", "when it was": 5, "inner": {**fine, "signs": None}},
        {"a": 7, "sign": None, "when it was": None, "inner": None},
    ]
    types = [("inner", held), ("sign", pa.string()), ("a", pa.int16()), ("when it was", pa.timestamp("us", "UTC"))]
    for part in (rows[:3], rows[3:]):
        columns = [pa.array([row[name] for row in part], type_) for name, type_ in types]
        deltalake.write_deltalake(str(base / "t"), pa.table(columns, [name for name, _ in types]), mode="append")


def test_rows_that_are_no_records(spark: SparkSession, tmp_path: Path) -> None:
    hard(tmp_path)
    assert {row[0] for row in compare(spark, tmp_path, HARD)} == {1, 7}


def test_deleted_rows(spark: SparkSession, tmp_path: Path) -> None:
    record = Struct((Field("n", Int()),))
    deltalake.write_deltalake(str(tmp_path / "t"), pa.table({"n": list(range(1000))}))
    delete_rows(tmp_path / "t", [0, 7, 999])
    done = run_on_spark(spark, reading(Table("t"), record), "u", tmp_path)
    found, _ = drain(TableSource(Table("t"), record, "in", tmp_path))
    assert sorted(row["n"] for row in done.reply) == [row[0] for row in found]  # type: ignore[index]
    assert [row[0] for row in found] == [*range(1, 7), *range(8, 999)]


def test_an_empty_table(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.int64())])
    deltalake.DeltaTable.create(str(tmp_path / "t"), deltalake.Schema.from_arrow(schema))
    assert compare(spark, tmp_path, Struct((Field("a", Int()),))) == []


def test_spark_says_what_does_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    deltalake.write_deltalake(str(tmp_path / "t"), pa.table({"a": [1]}))
    with pytest.raises(ValueError, match='cannot read table "t": it has no column "b"'):
        run_on_spark(spark, reading(Table("t"), Struct((Field("b", Int()),))), "u", tmp_path)
    with pytest.raises(ValueError, match="there is no Delta table"):
        run_on_spark(spark, reading(Table("nowhere"), Struct((Field("b", Int()),))), "u", tmp_path)


PROGRAM = """program sales

record Sale { at: timestamp, item: string, cents: int }

sink totals = parquet("totals")

KIND u {
  table("t"AT).as(Sale)
    .event_time(s => s.at, disorder = 10s)
    .map_to_pair(s => (s.item, s.cents)).window(tumbling(1m)).reduce_by_key((a, b) => a + b)
    .to(totals)
}
"""


@pytest.mark.parametrize("at", ["", ", at = 1", ', at = "2100-01-02T03:04:05Z"'])
def test_a_program_gives_the_same_everywhere(at: str, spark: SparkSession, tmp_path: Path) -> None:
    for part in range(3):
        numbers = range(40)
        columns: dict[str, Any] = {
            "at": pa.array([part * 30_000_000 + n * 1_000_000 for n in numbers], pa.timestamp("us", "UTC")),
            "item": [f"i{n % 3}" for n in numbers],
            "cents": list(numbers),
        }
        deltalake.write_deltalake(str(tmp_path / "t"), pa.table(columns), mode="append")
    text = PROGRAM.replace("AT", at)
    batch = lower(parse(Text("sales.istream", text.replace("KIND", "batch"))))
    stream = lower(parse(Text("sales.istream", text.replace("KIND", "stream"))))
    whole = run(batch, "u", base=tmp_path)
    agree_on_sinks(spark, batch, tmp_path, sorted(map(repr, whole.sinks["totals"])))
    streamed = run(stream, "u", base=tmp_path)
    forms: tuple[Form, ...] = ("rows", "columns")
    for form in forms:
        base = tmp_path / form
        base.mkdir()
        (base / "t").symlink_to(tmp_path / "t")
        connections = connected(base)
        Engine(Compiled(stream), connections=connections, state=base / "state", form=form).run()
        found = sorted(map(repr, read(stream.sink("totals"), connections)))
        assert found == sorted(map(repr, streamed.sinks["totals"]))


def agree_on_sinks(spark: SparkSession, program: Program, base: Path, expected: list[str]) -> None:
    run_on_spark(spark, program, "u", base)
    assert sorted(map(repr, read(program.sink("totals"), connected(base)))) == expected
