"""What a Spark job reads and writes: the same files and hashes as the native engine, whole versions only."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from ghcm import driver as compiler
from ghcm.codegen.spark import generate
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.sink import open_writer, read
from ghcm.runtime.slot.engine import Engine
from ghcm.spg import reference
from ghcm.spg.graph import Program
from ghcm.verification.compare import differences
from tests.conformance.live_runs import Compiled
from tests.conformance.spark_runs import load_job, run_on_spark
from tests.redis_server import RedisServer, connected

pytestmark = pytest.mark.slow

TYPES = """record Every {
  b: bool?, i: int?, f: float?, s: string?, t: timestamp?, d: date?, u: duration?, xs: list<int>?
}
"""
ROWS: list[tuple[object, ...]] = [
    (True, 2**63 - 1, 0.1, "é😀", 1_767_323_045_000_006, 20_455, 1_500_000, [1, 2]),
    (False, -(2**63), 1e300, 'a "quoted", text\nof two lines', -1, -719_162, -1, []),
    (None, 0, 2.5e-7, "", 0, 0, 0, [0]),
    (None, None, None, None, None, None, None, None),
]


def program(tmp_path: Path, text: str) -> Program:
    path = tmp_path / "places.istream"
    path.write_text(f"program places\n\n{text}")
    return compiler.check(path)


@pytest.mark.parametrize("connector", ["parquet(PLACE", "files(PLACE, format = json", "files(PLACE, format = csv"])
def test_every_type_goes_through_files(connector: str, spark: SparkSession, tmp_path: Path) -> None:
    before = connector.replace("PLACE", '"before"')
    after = connector.replace("PLACE", '"after"')
    record = TYPES.replace(", xs: list<int>?", "") if "csv" in connector else TYPES
    made = program(
        tmp_path,
        f"{record}\nsink before = {before}, mode = append, record = Every)\nsink after = {after}, mode = append)\n"
        "batch copy {\n  before.read().to(after)\n}\n",
    )
    rows = [row[:-1] for row in ROWS] if "csv" in connector else ROWS
    connections = connected(tmp_path)
    writer = open_writer(made.sink("before"), connections, writer="test")
    writer.write(rows)
    writer.prepare("one")
    writer.commit("one")
    writer.close()
    done = run_on_spark(spark, made, "copy", tmp_path, call="first")
    assert done.dead == []
    assert done.result["sinks"] == {"after": {"version": "first", "rows": 4}}
    expected = list(read(made.sink("before"), connections))
    assert sorted(map(repr, read(made.sink("after"), connections))) == sorted(map(repr, expected))


def test_a_call_names_the_version_that_it_reads(spark: SparkSession, tmp_path: Path) -> None:
    made = program(
        tmp_path,
        'record N { n: int }\nsink numbers = parquet("numbers", mode = append, record = N)\n'
        "responsive batch all() {\n  numbers.read().reply()\n}\n",
    )
    connections = connected(tmp_path)
    writer = open_writer(made.sink("numbers"), connections, writer="test")
    for number in (1, 2, 3):
        writer.write([(number,)])
        writer.prepare(f"v{number}")
        writer.commit(f"v{number}")
    writer.close()
    seen = run_on_spark(spark, made, "all", tmp_path, versions={"numbers": "v2"})
    assert sorted(row["n"] for row in seen.reply) == [1, 2]  # type: ignore[index]
    assert len(run_on_spark(spark, made, "all", tmp_path).reply) == 3
    with pytest.raises(ValueError, match='has no version "v9"'):
        run_on_spark(spark, made, "all", tmp_path, versions={"numbers": "v9"})


def test_a_repeated_call_writes_nothing_twice(spark: SparkSession, tmp_path: Path) -> None:
    made = program(
        tmp_path,
        'record N { n: int }\nsink out = files("out", format = json, mode = append)\n'
        'batch write {\n  files("in.json", format = json).as(N).to(out)\n}\n',
    )
    (tmp_path / "in.json").write_text('{"n": 1}\nnothing\n')
    first = run_on_spark(spark, made, "write", tmp_path, call="a/b")
    again = run_on_spark(spark, made, "write", tmp_path, call="a/b")
    assert first.result["sinks"] == again.result["sinks"] == {"out": {"version": "a/b", "rows": 1}}
    assert [letter[2] for letter in first.dead] == [letter[2] for letter in again.dead] == ["nothing"]
    assert list(read(made.sink("out"), connected(tmp_path))) == [(1,)]
    run_on_spark(spark, made, "write", tmp_path, call="other")
    assert list(read(made.sink("out"), connected(tmp_path))) == [(1,), (1,)]


@pytest.mark.parametrize(
    "connector",
    [
        'parquet("out", mode = append)',
        'files("out", mode = replace)',
        'parquet("out", mode = upsert, key = r => r.n)',
        'redis("out", key = r => r.n)',
    ],
)
def test_pipelines_that_write_to_one_sink_are_one_version(
    connector: str, spark: SparkSession, tmp_path: Path, redis_server: RedisServer
) -> None:
    made = program(
        tmp_path,
        f"record R {{ n: int }}\nsink out = {connector}\nbatch u {{\n"
        "  odd = memory([{ n: 1 }, { n: 2 }, { n: 3 }]).as(R).filter(r => r.n % 2 == 1)\n"
        '  odd.to(out)\n  memory([{ n: 4 }, { n: 6 }]).as(R).named("even").to(out)\n}\n',
    )
    done = run_on_spark(spark, made, "u", tmp_path, redis=redis_server.url)
    assert done.result["sinks"]["out"]["rows"] == 4
    connections = Connections(tmp_path, redis_server.url)
    assert sorted(read(made.sink("out"), connections)) == [(1,), (3,), (4,), (6,)]


@pytest.mark.parametrize("mode", ["upsert", "replace"])
def test_redis_holds_a_row_for_each_key(
    mode: str, spark: SparkSession, tmp_path: Path, redis_server: RedisServer
) -> None:
    place = f"places:{mode}"
    made = program(
        tmp_path,
        f'{TYPES}\nsink out = redis("{place}", key = e => (e.i, e.s), mode = {mode})\n'
        f'sink again = redis("{place}2", key = e => e.s ?? "none", mode = {mode})\n'
        'sink before = parquet("before", mode = append, record = Every)\n'
        "batch copy {\n  before.read().to(out)\n}\nbatch once_more {\n  out.read().to(again)\n}\n",
    )
    connections = Connections(tmp_path, redis_server.url)
    writer = open_writer(made.sink("before"), connections, writer="test")
    writer.write(ROWS)
    writer.prepare("one")
    writer.commit("one")
    writer.close()
    for unit in ("copy", "once_more"):
        done = run_on_spark(spark, made, unit, tmp_path, redis=redis_server.url, call=f"{mode}-{unit}")
        assert done.dead == []
    for sink in ("out", "again"):
        assert sorted(map(repr, read(made.sink(sink), connections))) == sorted(map(repr, ROWS))
    assert sorted(map(repr, read(made.sink("out"), connections, call=f"{mode}-copy"))) == sorted(map(repr, ROWS))
    with redis_server.connect() as client:
        keys = client.hkeys(place if mode == "upsert" else f"{place}:{mode}-copy")
        assert '[9223372036854775807,"é😀"]'.encode() in keys


def test_places_and_dead_letters_are_those_of_the_reference(
    spark: SparkSession, tmp_path: Path, redis_server: RedisServer
) -> None:
    made = program(
        tmp_path,
        "record N { n: int, s: string? }\n"
        'sink tables = parquet("tables", mode = append)\nsink lines = files("lines", format = json, mode = append)\n'
        'sink texts = files("texts", format = csv, mode = replace)\n'
        'sink keyed = redis("places:keyed", key = r => 10 // r.n, mode = upsert)\n'
        'sink latest = redis("places:latest", key = r => r.s ?? "none", mode = replace)\n'
        'batch write {\n  rows = files("in.json", format = json).as(N).filter(r => 100 // (r.n - 1) > -1000)\n'
        + "".join(f"  rows.to({name})\n" for name in ("tables", "lines", "texts", "keyed", "latest"))
        + "}\n",
    )
    rows = [
        (0, "no key"),
        (1, "no test"),
        (2, None),
        (7, 'a;"b"'),
        (8, "b"),
        (9, "é😀"),
        (2**63 - 1, "é😀"),
        (-(2**63), "no test"),
    ]
    data = [json.dumps({"n": n, "s": s}) for n, s in rows]
    (tmp_path / "in.json").write_text("\n".join([*data, "{", '{"s": "x"}', '{"n": 9223372036854775808}', "[]", ""]))
    expected = reference.run(made, "write", base=tmp_path)
    found = run_on_spark(spark, made, "write", tmp_path, redis=redis_server.url)
    connections = Connections(tmp_path, redis_server.url)
    got: dict[str, list[object]] = {sink.name: list(read(sink, connections)) for sink in made.sinks}
    assert differences(made, expected, sinks=got, dead=found.dead) == []
    assert (len(found.dead), len(got["keyed"]), len(got["latest"])) == (7, 3, 5)


def test_records_of_csv_may_hold_line_ends(spark: SparkSession, tmp_path: Path) -> None:
    made = program(
        tmp_path,
        "record P { name: string, n: int? }\n"
        'responsive batch all() {\n  files("in/*.csv", format = csv, separator = ";").as(P).reply()\n}\n',
    )
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_bytes(b'n;name\r\n1;"a\r\nb;""c"""\r\n;plain\r\n2;x;y\r\nx;z\r\n')
    (tmp_path / "in" / "b.csv").write_bytes(b"name\nonly\n\xff\n")
    done = run_on_spark(spark, made, "all", tmp_path)
    assert sorted(map(json.dumps, done.reply)) == sorted(
        map(json.dumps, [{"name": 'a\r\nb;"c"', "n": 1}, {"name": "plain", "n": None}, {"name": "only", "n": None}])
    )
    assert [letter[2] for letter in done.dead] == sorted(["2;x;y", "x;z", "\ufffd"])


def test_user_functions_get_and_give_records(spark: SparkSession, tmp_path: Path) -> None:
    made = program(
        tmp_path,
        "record Seen { at: timestamp, tag: string? }\nrecord Told { text: string, after: timestamp, n: int }\n"
        'responsive batch all() {\n  files("in.json", format = json).as(Seen)\n'
        '    .python("words:tell"): Told\n    .reply()\n}\n',
    )
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "words.py").write_text(
        "from datetime import timedelta\nfrom spelling import upper\n\n\ndef tell(seen):\n"
        "    if seen.tag == 'raise':\n        raise RuntimeError('no')\n    if seen.tag == 'wrong':\n        return 7\n"
        "    return {'text': upper(seen.tag or 'none'), 'after': seen.at + timedelta(days=1), 'n': seen.at.year}\n"
    )
    (tmp_path / "python" / "spelling.py").write_text("def upper(text):\n    return text.upper()\n")
    tags = ["a", None, "raise", "wrong", "😀"]
    lines = [json.dumps({"at": "2026-01-02T03:04:05Z", "tag": tag}) for tag in tags]
    (tmp_path / "in.json").write_text("\n".join(lines))
    done = run_on_spark(spark, made, "all", tmp_path)
    after = "2026-01-03T03:04:05.000000Z"
    assert sorted(map(json.dumps, done.reply)) == sorted(
        json.dumps({"text": text, "after": after, "n": 2026}) for text in ("A", "NONE", "😀")
    )
    moment = "2026-01-02T03:04:05.000000Z"
    assert [(reason, json.loads(record)) for _, reason, record in done.dead] == [
        ("python", {"at": moment, "tag": "raise"}),
        ("wrong_result", {"at": moment, "tag": "wrong"}),
    ]


def test_lines_of_large_files_are_numbered_across_pieces(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = program(
        tmp_path,
        'responsive batch ends() {\n  files("in/*.txt", format = text).filter(l => l.text == "last").reply()\n}\n',
    )
    (tmp_path / "in").mkdir()
    for name, lines in (("a", 3000), ("b", 7)):
        (tmp_path / "in" / f"{name}.txt").write_text("x" * 40 + "\n" + "some words\r\n" * (lines - 2) + "last")
    module = load_job(generate(made, made.unit("ends")), tmp_path)
    monkeypatch.setitem(module.read_text.__globals__, "WHOLE", 8192)
    settings = module.Unit.run.__globals__["SETTINGS"]
    pieces = {name: "8192" for name, value in settings.items() if value == "134217728"}
    assert len(pieces) == 2
    monkeypatch.setitem(module.Unit.run.__globals__, "SETTINGS", settings | pieces)
    result = module.run(spark, {}, {"base": str(tmp_path)})
    assert sorted((row["file"], row["number"]) for row in result["reply"]) == [("in/a.txt", 3000), ("in/b.txt", 7)]


@pytest.mark.parametrize(
    "rest",
    ["top(k, by = n => n)", "filter(n => false)", "filter(n => n > 10).count()", "distinct().filter(n => k > 0)"],
)
def test_dead_letters_are_found_where_nothing_else_is(rest: str, spark: SparkSession, tmp_path: Path) -> None:
    made = program(
        tmp_path,
        "record N { n: int }\n"
        'responsive batch all(k: int = 0) {\n  files("in.json", format = json).as(N).map(x => 10 // x.n)\n'
        f"    .{rest}.reply()\n}}\n",
    )
    (tmp_path / "in.json").write_text('{"n": 1}\n{"n": 0}\n')
    done = run_on_spark(spark, made, "all", tmp_path)
    assert [(reason, record) for _, reason, record in done.dead] == [("zero_divisor", '{"n":0}')]


@pytest.mark.parametrize(
    "joined", ["rows.join(none, on = (a, b) => a.n == b.n)", "none.join(rows, on = (a, b) => a.n == b.n)"]
)
def test_dead_letters_are_found_beside_an_empty_side_of_a_join(
    joined: str, spark: SparkSession, tmp_path: Path
) -> None:
    made = program(
        tmp_path,
        "record N { n: int }\nresponsive batch all() {\n"
        '  rows = files("in.json", format = json).as(N).map(x => N { n: 10 // x.n })\n'
        '  none = files("none.json", format = json).as(N).map(x => N { n: 10 // x.n })\n'
        f"  {joined}.reply()\n}}\n",
    )
    (tmp_path / "in.json").write_text('{"n": 1}\n{"n": 0}\n')
    (tmp_path / "none.json").write_text("")
    done = run_on_spark(spark, made, "all", tmp_path)
    assert (done.reply, [(reason, record) for _, reason, record in done.dead]) == ([], [("zero_divisor", '{"n":0}')])


def test_dead_letters_of_an_earlier_attempt_are_not_written_twice(spark: SparkSession, tmp_path: Path) -> None:
    made = program(
        tmp_path,
        'record N { n: int }\nsink out = files("out", format = json, mode = append)\n'
        'batch write {\n  files("in.json", format = json).as(N).to(out)\n}\n',
    )
    (tmp_path / "in.json").write_text('{"n": 1}\nnothing\n')
    places = {"call": "one", "base": str(tmp_path), "dead": str(tmp_path / "letters")}
    module = load_job(generate(made, made.unit("write")), tmp_path)
    assert [module.run(spark, {}, places)["dead"] for _ in range(2)] == [1, 1]
    assert len(list((tmp_path / "letters").glob("part-*"))) == 1


def test_dead_letters_of_rows_that_nobody_asked_for_are_found(spark: SparkSession, tmp_path: Path) -> None:
    made = program(
        tmp_path, 'record N { n: int }\nresponsive batch all() {\n  files("in.json", format = json).as(N).reply()\n}\n'
    )
    (tmp_path / "in.json").write_text('{"n": 1}\nnothing\n')
    text = generate(made, made.unit("all"))
    never = text.replace("    reply_with(", "    return None\n    reply_with(")
    assert never.count("return None\n    reply_with(") == 1
    module = load_job(never, tmp_path)
    assert module.run(spark, {}, {"base": str(tmp_path), "dead": str(tmp_path / "letters")})["dead"] == 1


def test_a_pattern_that_no_file_matches_is_said(spark: SparkSession, tmp_path: Path) -> None:
    made = program(tmp_path, 'responsive batch all() {\n  files("in/*.txt", format = text).count().reply()\n}\n')
    with pytest.raises(ValueError, match=re.escape('cannot read files "in/*.txt": no file matches')):
        run_on_spark(spark, made, "all", tmp_path)


FOREIGN = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "took": pa.int64(),
        "xs": pa.list_(pa.float64()),
        "p": pa.struct([("a", pa.float64()), ("b", pa.string())]),
        "m": pa.map_(pa.string(), pa.struct([("c", pa.list_(pa.float64()))])),
    }
)
FITTING: dict[str, object] = {
    "ts": datetime(2026, 1, 2, tzinfo=UTC),
    "took": 5,
    "xs": [1.0],
    "p": {"a": 1.0, "b": None},
    "m": [("k", {"c": []})],
}
"""What others wrote, with more nulls than the record has."""


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_nulls_that_others_wrote_are_dead_letters(format: str, spark: SparkSession, tmp_path: Path) -> None:
    out = 'parquet("out"' if format == "parquet" else f'files("out", format = {format}'
    made = program(
        tmp_path,
        "record P { a: float, b: string? }\nrecord C { c: list<float> }\n"
        "record R { ts: timestamp, took: duration?, xs: list<float>?, p: P?, m: map<string, C> }\n"
        'sink theirs = parquet("theirs", mode = append, record = R)\n'
        f"sink out = {out}, mode = append)\nbatch copy {{\n  theirs.read().to(out)\n}}\n",
    )
    fine: list[dict[str, object]] = [{}, {"xs": None}, {"p": None}, {"took": None, "xs": []}, {"m": []}]
    odd: list[dict[str, object]] = [
        {"ts": None},
        {"m": None},
        {"m": [("k", None)]},
        {"m": [("k", {"c": None})]},
        {"m": [("k", {"c": [None]})]},
        {"xs": [1.0, None]},
        {"p": {"a": None, "b": ""}},
        {"ts": None, "xs": [None], "p": None},
    ]
    table = pa.Table.from_pylist([FITTING | each for each in [*fine, *odd]], FOREIGN)
    (tmp_path / "theirs").mkdir()
    pq.write_table(table, tmp_path / "theirs" / "a.parquet")  # pyright: ignore[reportUnknownMemberType]
    pq.write_table(table.drop_columns(["ts"])[:1], tmp_path / "theirs" / "older.parquet")  # pyright: ignore[reportUnknownMemberType]
    done = run_on_spark(spark, made, "copy", tmp_path)
    assert [reason for _, reason, _ in done.dead] == ["bad_record"] * (len(odd) + 1)
    assert [json.loads(record)["xs"] for _, _, record in done.dead].count([1.0, None]) == 1
    assert len(list(read(made.sink("out"), connected(tmp_path)))) == len(fine)


@pytest.mark.parametrize("kind", ["stream", "batch"])
def test_half_surrogate_pairs_stand_in_no_dead_letter(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    made = program(
        tmp_path,
        'record R { n: int, d: date?, m: map<int, int>? }\nsink out = parquet("out", mode = append)\n'
        f'{kind} copy {{\n  files("in.json", format = json).as(R).to(out)\n}}\n',
    )
    lines = [r'{"n": "\ud800"}', r'{"n": 1, "d": "\udfff"}', r'{"n": 1, "m": [["\ud800", 1]]}', '{"n": 2}']
    (tmp_path / "in.json").write_text("\n".join(lines))
    if kind == "batch":
        assert [record for _, _, record in run_on_spark(spark, made, "copy", tmp_path).dead] == sorted(lines[:3])
    else:
        Engine(Compiled(made), connections=connected(tmp_path), state=tmp_path / "state").run()
        letters = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("state/**/*.json"))
        assert letters.count(r"found \"\\ud") == 3
    assert len(list(read(made.sink("out"), connected(tmp_path)))) == 1
