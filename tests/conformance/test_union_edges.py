"""Unions from and to JSON, CSV and Parquet: the same records and dead letters on every engine, and in JSON a record has
no fields but its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from ghcm.language import parse
from ghcm.lowering import lower
from ghcm.runtime.engine import Engine
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.sink import read
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.json import from_json, to_json
from ghcm.spg.reference import Result, run
from ghcm.spg.text import parse_program, print_program
from ghcm.types import Struct
from ghcm.values import own_writer
from tests.conformance.compare import compare_rows
from tests.conformance.live_runs import Compiled
from tests.conformance.spark_runs import run_on_spark
from tests.conftest import RedisServer
from tests.unit.runtime.small_operators import dead_letters

TEXT = """program edges

record Login  { user: string, host: string?, n: int, at: timestamp? from "when" }
record Logout { user: string, score: float?, n: int }
record Ping   { n: int }

union Event by kind { login: Login, "log \\u00f6ut": Logout, Ping }

sink as_json    = files("out/json", format = json, mode = append)
sink as_csv     = files("out/csv", format = csv, mode = append)
sink as_parquet = parquet("out/parquet", mode = append)
sink nested     = files("out/nested", format = json, mode = append)

KIND u {
  events = files("rows.FORMAT", format = FORMAT).as(Event)
  events.to(as_json)
  events.to(as_csv)
  events.to(as_parquet)
  events.map(e => { n: e.n, one: e, more: [e, null], by: map_of("k", e), pairs: map_of(1, e) }).to(nested)
}
"""
ROWS: list[dict[str, object]] = [
    {"kind": "login", "user": "a", "host": "h", "n": 1},
    {"kind": "login", "user": 'é"\n,', "n": 2, "when": "2026-01-02T03:04:05.000006Z"},
    {"kind": "log öut", "user": "b", "score": 0.5, "n": 3},
    {"kind": "log öut", "user": "b", "n": 4},
    {"kind": "Ping", "n": 5},
    {"kind": "login", "n": 6},
    {"kind": "logout", "user": "b", "n": 7},
    {"kind": "Ping"},
]
OWN: list[dict[str, object]] = [
    {"kind": "login", "user": "a", "host": "h", "n": 1, "at": None},
    {"kind": "login", "user": 'é"\n,', "host": None, "n": 2, "at": "2026-01-02T03:04:05.000006Z"},
    {"kind": "log öut", "user": "b", "score": 0.5, "n": 3},
    {"kind": "log öut", "user": "b", "score": None, "n": 4},
    {"kind": "Ping", "n": 5},
]
SINKS = ("as_json", "as_csv", "as_parquet", "nested")
NAMES: dict[str, pa.DataType] = {
    "kind": pa.string(),
    "user": pa.string(),
    "host": pa.string(),
    "n": pa.int64(),
    "when": pa.string(),
}
FORMATS = ["json", "csv", "parquet"]


def program_of(kind: str, format_: str) -> Program:
    text = TEXT.replace("KIND", kind).replace("FORMAT", format_)
    return lower(parse(Source("edges.istream", text)))


@pytest.fixture(params=FORMATS)
def format_(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A format, in which the rows are in the folder."""
    names = {**NAMES, "score": pa.float64()}
    match request.param:
        case "json":
            (tmp_path / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        case "csv":
            cells = [[str(row.get(name, "")).replace('"', '""') for name in names] for row in ROWS]
            lines = [",".join(names), *(",".join(f'"{cell}"' if cell else "" for cell in row) for row in cells)]
            (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
        case _:
            schema = pa.schema([pa.field(name, type_) for name, type_ in names.items()])
            arrow: Any = pq
            arrow.write_table(pa.Table.from_pylist(ROWS, schema), tmp_path / "rows.parquet")
    return str(request.param)


def holds(program: Program, folder: Path, expected: Result) -> None:
    """That the sinks hold what they should, and how it stands in the files of JSON."""
    for name in SINKS:
        sink = program.sink(name)
        rows = sorted(read(sink, Connections(folder)), key=repr)
        assert compare_rows(sorted(expected.sinks[name], key=repr), rows, sink.element, ordered=True) == []
    assert sorted(written(folder / "out" / "json"), key=str) == sorted(OWN, key=str)
    nested = [{"n": own["n"], "one": own, "more": [own, None], "by": {"k": own}, "pairs": [[1, own]]} for own in OWN]
    assert sorted(written(folder / "out" / "nested"), key=str) == sorted(nested, key=str)


def written(folder: Path) -> list[object]:
    files = [path for path in folder.rglob("*.json") if "_ghcm" not in path.parts]
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def test_the_native_engine_agrees(format_: str, tmp_path: Path) -> None:
    program = program_of("stream", format_)
    expected = run(program, "u", base=tmp_path)
    assert len(expected.dead) == 3
    Engine(Compiled(program), connections=Connections(tmp_path), state=tmp_path / "state").run()
    holds(program, tmp_path, expected)
    found = dead_letters(tmp_path, program, "u")
    assert sorted(each.input for each in found) == sorted(each.input for each in expected.dead)


@pytest.mark.slow
def test_spark_agrees(format_: str, tmp_path: Path, spark: SparkSession) -> None:
    program = program_of("batch", format_)
    expected = run(program, "u", base=tmp_path)
    found = run_on_spark(spark, program, "u", tmp_path)
    holds(program, tmp_path, expected)
    assert sorted(text for _, _, text in found.dead) == sorted(each.input for each in expected.dead)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stream", "batch"])
def test_redis_holds_objects_with_own_fields(
    kind: str, tmp_path: Path, redis_server: RedisServer, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    place = f"unions:{kind}"
    records = TEXT.partition("sink")[0]
    text = f"""{records}sink out = redis("{place}", key = e => to_string(e.n), mode = upsert)
{kind} u {{ files("rows.json", format = json).as(Event).to(out) }}
"""
    program = lower(parse(Source("edges.istream", text)))
    connections = Connections(tmp_path, redis_server.url)
    if kind == "batch":
        spark: SparkSession = request.getfixturevalue("spark")
        run_on_spark(spark, program, "u", tmp_path, redis=redis_server.url)
    else:
        Engine(Compiled(program), connections=connections, state=tmp_path / "state").run()
    with redis_server.connect() as client:
        held: Any = client.hgetall(place)
    texts = {int(key): json.loads(text) for key, text in held.items() if key.isdigit()}
    assert texts == {own["n"]: own for own in OWN}


def test_whose_fields_they_are_is_in_the_graph() -> None:
    program = program_of("stream", "json")
    assert parse_program(print_program(program)).sink("as_json").element == program.sink("as_json").element
    for again in (parse_program(print_program(program)), from_json(to_json(program))):
        element = again.sink("as_json").element
        assert isinstance(element, Struct)
        tags = dict(element.cases)
        assert tags == {"user": ("login", "log öut"), "host": ("login",), "at": ("login",), "score": ("log öut",)}
        assert own_writer(element)(("Ping", None, None, 5, None, None)) == {"kind": "Ping", "n": 5}
