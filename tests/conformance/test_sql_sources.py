"""Programs that read databases give the same rows on the reference, the native engine and Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.contract import Form
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks import kept_letters
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from ghcm.spg import reference
from ghcm.spg.graph import Program
from ghcm.values import from_json
from ghcm.verification.compare import compare_rows
from tests.conformance.live_runs import Compiled
from tests.conformance.spark_runs import reply_element, run_in_reference, run_on_spark

pytestmark = pytest.mark.slow

RECORDS: list[dict[str, object]] = [
    {"id": n, "price": None if n % 7 == 0 else f"{n}.25", "tags": [n, n + 1], "at": f"2026-01-02T03:04:{n % 60:02d}Z"}
    for n in range(400)
]
BAD: dict[str, object] = {"id": None, "price": "1.00", "tags": [], "at": None}


def program(kind: str) -> Program:
    end = ".to(rows)" if kind == "stream" else ".reply()"
    text = f"""program shop

record Order {{ id: int, price: decimal(10, 2)?, tags: list<int>, at: timestamp? }}

sink rows = parquet("rows", mode = append)

{"stream" if kind == "stream" else "responsive batch"} u {{
  sql("db", query = "select * from orders where id is null or id >= 0", split = "id", parts = 3).as(Order)
    .filter(o => o.id % 2 == 0)
    .map(o => {{ id: o.id, double: o.price * 2, more: o.tags.sum(), at: o.at }}){end}
}}
"""
    return lower(parse(Source("shop.istream", text)))


@pytest.fixture(params=["sqlite", "postgres"])
def connections(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connections]:
    url = "sqlite:///shop.db" if request.param == "sqlite" else request.getfixturevalue("postgres")
    found = Connections(tmp_path, sql={"db": url})
    types = "id integer, price text, tags text, at text"
    if request.param == "postgres":
        types = "id integer, price numeric, tags int[], at timestamptz"
    with found.database("db").engine.begin() as connection:
        connection.exec_driver_sql(f"create table orders ({types})")
        for record in [*RECORDS, BAD]:
            tags = json.dumps(record["tags"])
            given = {**record, "tags": tags if request.param == "sqlite" else f"{{{tags[1:-1]}}}"}
            values = ", ".join("null" if value is None else f"'{value}'" for value in given.values())
            connection.exec_driver_sql(f"insert into orders values ({values})")
    yield found
    found.close()


def lines(asked: Program) -> dict[str, dict[str, bytes]]:
    """The same rows as the reference is given them: as JSON objects."""
    (source,) = [task.id for task in asked.unit("u").tasks if not task.inputs]
    return {source: {"": "".join(json.dumps(record) + "\n" for record in [*RECORDS, BAD]).encode()}}


@pytest.mark.parametrize("form", ["row", "columnar"])
def test_the_native_engine(connections: Connections, tmp_path: Path, form: Form) -> None:
    read_by = program("stream")
    Engine(Compiled(read_by), connections=connections, state=tmp_path / "state", form=form).run()
    wanted = reference.run(read_by, "u", inputs=lines(read_by))
    rows = list(read(read_by.sink("rows"), connections))
    assert sorted(rows) == sorted(wanted.sinks["rows"]) and len(rows) == 200  # type: ignore[type-var]
    dead = kept_letters.counts([tmp_path / "state" / "dead" / "shop" / "u"])
    assert sum(dead.values()) == len(wanted.dead) == 1


def test_spark(connections: Connections, tmp_path: Path, spark: SparkSession) -> None:
    asked = program("batch")
    there = run_on_spark(spark, asked, "u", tmp_path, sql=dict(connections.sql))
    here = run_in_reference(asked, "u", tmp_path, None, inputs=lines(asked))
    element = reply_element(asked, "u")
    assert element is not None
    reply = [from_json(each, element) for each in there.reply]
    assert not compare_rows(here.reply, reply, element, here.result["magnitude"])
    assert [letter[:2] for letter in there.dead] == [letter[:2] for letter in here.dead]


def test_spark_says_what_it_cannot_read(tmp_path: Path, spark: SparkSession) -> None:
    for urls, said in (({}, "GHCM-780"), ({"db": "sqlite:///none.db"}, "GHCM-782")):
        with pytest.raises(ValueError, match=said):
            run_on_spark(spark, program("batch"), "u", tmp_path, sql=urls)
