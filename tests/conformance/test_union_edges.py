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
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.json import from_json, to_json
from ghcm.spg.reference import Result, run
from ghcm.spg.text import parse_program, print_program
from ghcm.types import Struct
from ghcm.values import own_writer
from ghcm.verification.compare import compare_rows
from tests.conformance.live_runs import Compiled
from tests.conformance.spark_runs import run_on_spark
from tests.redis_server import RedisServer, connected
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
sink once       = files("out/once", format = json, mode = append)

KIND u {
  events = files("rows.FORMAT", format = FORMAT).as(Event)
  events.to(as_json)
  events.to(as_csv)
  events.to(as_parquet)
  events.distinct().to(once)
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
    {"kind": "login", "user": "a", "host": "h", "n": 1, "score": 9.5},
    {"kind": "Ping", "n": 5, "user": "z", "when": "no moment"},
]
OWN: list[dict[str, object]] = [
    {"kind": "login", "user": "a", "host": "h", "n": 1, "at": None},
    {"kind": "login", "user": 'é"\n,', "host": None, "n": 2, "at": "2026-01-02T03:04:05.000006Z"},
    {"kind": "log öut", "user": "b", "score": 0.5, "n": 3},
    {"kind": "log öut", "user": "b", "score": None, "n": 4},
    {"kind": "Ping", "n": 5},
]
"""The records that these are, each once: fields of another record are passed over, as those of none are."""
SINKS = ("as_json", "as_csv", "as_parquet", "nested", "once")
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
        rows = sorted(read(sink, connected(folder)), key=repr)
        assert compare_rows(sorted(expected.sinks[name], key=repr), rows, sink.element, ordered=True) == []
    every = [*OWN, OWN[0], OWN[-1]]
    assert sorted(written(folder / "out" / "json"), key=str) == sorted(every, key=str)
    assert sorted(written(folder / "out" / "once"), key=str) == sorted(OWN, key=str)
    nested = [{"n": own["n"], "one": own, "more": [own, None], "by": {"k": own}, "pairs": [[1, own]]} for own in every]
    assert sorted(written(folder / "out" / "nested"), key=str) == sorted(nested, key=str)


def written(folder: Path) -> list[object]:
    files = [path for path in folder.rglob("*.json") if "_ghcm" not in path.parts]
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def test_the_native_engine_agrees(format_: str, tmp_path: Path) -> None:
    program = program_of("stream", format_)
    expected = run(program, "u", base=tmp_path)
    assert len(expected.dead) == 3
    Engine(Compiled(program), connections=connected(tmp_path), state=tmp_path / "state").run()
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


BOXES = """program edges

record Login  { user: string, n: int }
record Logout { score: float?, tag: string, n: int }

union Event by kind { login: Login, logout: Logout }

record Box { one: Event, more: list<Event?>, deep: Deep? }
record Deep { one: Event? }

sink boxes = files("out/boxes", format = json, mode = append)

KIND u { files("boxes.json", format = json).as(Box).distinct().to(boxes) }
"""
LOGIN, LOGOUT = {"kind": "login", "user": "a", "n": 1}, {"kind": "logout", "n": 2, "tag": "t"}
STRAY: list[dict[str, object]] = [
    {**LOGIN, "score": 1.5, "tag": "u"},
    {**LOGIN, "score": "x", "tag": []},
    {**LOGOUT, "user": 7},
]


def boxes(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    lines = [{"one": each, "more": [None, each, LOGOUT], "deep": {"one": each}} for each in (LOGIN, *STRAY)]
    lines.append({"one": LOGIN, "more": [{**LOGOUT, "tag": None}]})
    (folder / "boxes.json").write_text("".join(json.dumps(line) + "\n" for line in lines))


def boxes_hold(folder: Path, program: Program, dead: list[str]) -> None:
    expected = run(program, "u", base=folder)
    assert len(expected.sinks["boxes"]) == 2
    assert dead == [each.input for each in expected.dead]
    rows = sorted(read(program.sink("boxes"), connected(folder)), key=repr)
    element = program.sink("boxes").element
    assert compare_rows(sorted(expected.sinks["boxes"], key=repr), rows, element, ordered=True) == []


def test_nested_unions_have_their_own_fields_only(tmp_path: Path) -> None:
    boxes(tmp_path)
    program = lower(parse(Source("edges.istream", BOXES.replace("KIND", "stream"))))
    Engine(Compiled(program), connections=connected(tmp_path), state=tmp_path / "state").run()
    boxes_hold(tmp_path, program, [each.input for each in dead_letters(tmp_path, program, "u")])


@pytest.mark.slow
def test_nested_unions_have_their_own_fields_only_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    boxes(tmp_path)
    program = lower(parse(Source("edges.istream", BOXES.replace("KIND", "batch"))))
    found = run_on_spark(spark, program, "u", tmp_path)
    boxes_hold(tmp_path, program, [text for _, _, text in found.dead])


def zeek_of(lines: list[str]) -> str:
    head = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#fields\t"
    return head + "\n".join(line.replace(",,", ",-,").replace(",,", ",-,").replace(",", "\t") for line in lines) + "\n"


@pytest.mark.parametrize("format_", ["csv", "zeek"])
def test_many_lines_at_once_have_their_own_fields_only(format_: str, tmp_path: Path) -> None:
    cells = ["login,a,h,1,0,", "login,a,h,1,0,9.5", "login,a,h,1,0,x", "Ping,z,h,5,none,1", "log öut,b,h,3,1,0.5"]
    lines = ["kind,user,host,n,when,score", *(cells * 40), "login,,h,1,0,1"]
    text = "\n".join(lines) + "\n" if format_ == "csv" else zeek_of(lines)
    (tmp_path / f"rows.{format_}").write_text(text)
    program = program_of("stream", format_)
    expected = run(program, "u", base=tmp_path)
    assert len(expected.dead) == 1
    Engine(Compiled(program), connections=connected(tmp_path), state=tmp_path / "state").run()
    rows = sorted(read(program.sink("once"), connected(tmp_path)), key=repr)
    assert len(rows) == 3
    assert rows == sorted(expected.sinks["once"], key=repr)
    assert [each.input for each in dead_letters(tmp_path, program, "u")] == [each.input for each in expected.dead]


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
