"""What a Spark job reads and writes by URL: the same as by path, through its Python workers."""

import gzip
import json
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.places import Remote
from ghcm.runtime.sinks.sink import open_writer, read
from ghcm.runtime.sources.table import TableSource
from ghcm.source import Source
from ghcm.spg.connectors import Table
from ghcm.tables.delta import DeltaTable
from ghcm.types import Field, Int, Struct
from tests.conformance.spark_runs import run_on_spark
from tests.conformance.test_delta_sources import compare, reading
from tests.conformance.test_partitions import FIRST, TEXT, given, program_of, rows_in
from tests.conformance.test_spark_places import ROWS, TYPES, program
from tests.delta_logs import delete_rows
from tests.object_store import ObjectStore
from tests.redis_server import connected
from tests.unit.runtime.formats.decoding import drain
from tests.unit.runtime.sources.test_table import PARTITIONED, partitioned

pytestmark = pytest.mark.slow


@pytest.fixture
def bucket(store: ObjectStore, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Remote:
    """A bucket, which the Python workers of a session that began without it find, too."""
    for name, value in store.environment().items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    return store.bucket()


@pytest.mark.parametrize("connector", ["parquet(PLACE", "files(PLACE, format = json", "files(PLACE, format = csv"])
def test_every_type_goes_through_a_store(connector: str, spark: SparkSession, bucket: Remote, tmp_path: Path) -> None:
    before, after = (connector.replace("PLACE", f'"{bucket}/{name}"') for name in ("before", "after"))
    made = program(
        tmp_path,
        f"{TYPES}\nsink before = {before}, mode = append, record = Every)\nsink after = {after}, mode = append)\n"
        "batch copy {\n  before.read().to(after)\n}\n"
        "batch none {\n  before.read().filter(e => e.i == 7).to(after)\n}\n",
    )
    connections = connected(tmp_path)
    writer = open_writer(made.sink("before"), connections, writer="test")
    writer.write(ROWS)
    writer.prepare("one")
    writer.commit("one")
    writer.close()
    for call in ("first", "first", "second"):  # a call that comes again writes nothing again
        done = run_on_spark(spark, made, "copy", tmp_path, call=call)
        assert done.dead == []
        assert done.result["sinks"] == {"after": {"version": call, "rows": 4}}
    assert run_on_spark(spark, made, "none", tmp_path, call="none").result["sinks"]["after"]["rows"] == 0
    expected = sorted(map(repr, read(made.sink("before"), connections)))
    assert sorted(map(repr, read(made.sink("after"), connections))) == sorted(expected * 2)
    assert sorted(map(repr, read(made.sink("after"), connections, call="first"))) == expected
    assert (bucket / "after" / "_ghcm").iterdir() == []


@pytest.mark.parametrize("packed", ["none", "gzip"])
def test_files_of_a_store_are_those_of_the_reference(
    packed: str, spark: SparkSession, bucket: Remote, tmp_path: Path
) -> None:
    ending = ".gz" if packed == "gzip" else ""
    (tmp_path / "in").mkdir()
    for number in range(3):
        lines = "".join(f'{{"n": {n}, "s": "x{n}"}}\n' for n in range(number * 100, number * 100 + 100))
        data = f"{lines}no record\n".encode()
        name = f"{number}.json{ending}"
        (tmp_path / "in" / name).write_bytes(gzip.compress(data) if ending else data)
        (bucket / "in" / name).write_bytes((tmp_path / "in" / name).read_bytes())
    text = (
        "record N { n: int, s: string }\n"
        f'responsive batch all() {{\n  files("PLACE/*.json{ending}").as(N).filter(r => r.n % 3 == 0).reply()\n}}\n'
    )
    here = run_on_spark(spark, program(tmp_path, text.replace("PLACE", "in")), "all", tmp_path)
    there = run_on_spark(spark, program(tmp_path, text.replace("PLACE", f"{bucket}/in")), "all", tmp_path)
    assert sorted(map(json.dumps, there.reply)) == sorted(map(json.dumps, here.reply))
    assert len(there.reply) == 100
    assert [letter[2] for letter in there.dead] == [letter[2] for letter in here.dead] == ["no record"] * 3


def test_tables_of_a_store_are_those_of_the_reference(spark: SparkSession, bucket: Remote, tmp_path: Path) -> None:
    expected = partitioned(bucket)
    rows = compare(spark, tmp_path, PARTITIONED, Table(f"{bucket}/t"))
    assert sorted(rows, key=repr) == sorted(expected, key=repr)


def test_tables_are_divided_in_a_store_as_on_this_machine(spark: SparkSession, bucket: Remote, tmp_path: Path) -> None:
    made = lower(parse(Source("divided.istream", TEXT.replace("KIND", "batch").replace("out/", f"{bucket}/"))))
    given(tmp_path, FIRST)
    for _ in range(2):
        run_on_spark(spark, made, "u", tmp_path, call="first")
    run_on_spark(spark, made, "copy", tmp_path, call="second")
    for sink in ("kept", "latest", "again"):
        assert rows_in(made, sink, tmp_path) == sorted(FIRST, key=repr)
    run_on_spark(spark, program_of("batch"), "u", tmp_path, call="first")
    here = DeltaTable(tmp_path / "out/kept").live()
    there = DeltaTable(bucket / "kept").live()
    assert [file.name.rpartition("/")[0] for file in there] == [file.name.rpartition("/")[0] for file in here]
    given(tmp_path, [("ü" * 50, 20_455, 1, None, None)])
    with pytest.raises(ValueError, match='a value of "host" is too long to divide a table'):
        run_on_spark(spark, made, "u", tmp_path, call="third")
    assert rows_in(made, "kept", tmp_path) == sorted(FIRST, key=repr)


def test_deleted_rows_of_a_store(spark: SparkSession, bucket: Remote, tmp_path: Path) -> None:
    record, table = Struct((Field("n", Int()),)), Table(f"{bucket}/t")
    deltalake.write_deltalake(str(tmp_path / "t"), pa.table({"n": list(range(1000))}))
    delete_rows(tmp_path / "t", [0, 7, 999])
    for file in (tmp_path / "t").rglob("*.*"):
        (bucket / f"{file.relative_to(tmp_path)}").put(file)
    done = run_on_spark(spark, reading(table, record), "u", tmp_path)
    found, _ = drain(TableSource(table, record, "in", tmp_path))
    assert sorted(row["n"] for row in done.reply) == [row[0] for row in found]  # type: ignore[index]
    assert [row[0] for row in found] == [*range(1, 7), *range(8, 999)]


def test_what_is_wrong_with_a_store_is_said_by_a_job(spark: SparkSession, bucket: Remote, tmp_path: Path) -> None:
    text = 'record N { n: int }\nresponsive batch all() {\n  files("PLACE").as(N).reply()\n}\n'
    made = program(tmp_path, text.replace("PLACE", f"{bucket}/nothing/*.json"))
    with pytest.raises(ValueError, match="no object matches"):
        run_on_spark(spark, made, "all", tmp_path)
