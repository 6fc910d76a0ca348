"""`ghcm verify` finds mistakes that are planted in the emitters of functions, shows them small, and ends with 1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from ghcm.cli.main import application
from ghcm.errors import GhcmError
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.contract import Form
from ghcm.source import Source
from ghcm.verification import verify
from ghcm.verification.engines import Native, Spark
from ghcm.verification.given import from_file
from tests.conformance.plants import PLANTS, planted

RECORD = """
record R {
  a: int, b: int, x: float, y: float, s: string, t: string, n: int?, p: bool, q: bool, xs: list<int>, at: timestamp
}
"""
SHOWS = {
    "add": "r.a + r.b",
    "sub": "r.a - r.b",
    "mul": "r.a * r.b",
    "floordiv": "r.a // r.b",
    "div": "r.x / r.y",
    "abs": "abs(r.x)",
    "le": "r.a <= r.b",
    "gt": "r.x > r.y",
    "and": "r.p and r.q",
    "is_null": "r.n is null",
    "coalesce": "r.n ?? r.a",
    "substring": "substring(r.s, r.a, r.b)",
    "index_of": "index_of(r.s, r.t)",
    "to_int": "to_int(r.s)",
    "contains": "contains(r.s, r.t)",
    "trim": "trim(r.s)",
    "get": "r.xs[r.a]",
}
"""What shows a mistake in each function."""


def test_it_finds_each_planted_difference() -> None:
    for number, plant in enumerate(PLANTS[:10]):
        text = f"program p\n{RECORD}\nresponsive batch u {{\n"
        text += f'  files("in.jsonl").as(R).map(r => {{ v: {SHOWS[plant.function]} }}).reply()\n}}\n'
        program = lower(parse(Source("p.istream", text)))
        form: Form = ("rows", "columns")[number % 2]
        with planted(form, plant):
            engine = Native(program, program.unit("u"), form, optimised=bool(number % 4 // 2))
            found = verify(program, program.unit("u"), [engine], examples=60).difference
        assert found is not None, str(plant)
        assert sum(map(len, found.given.rows.values())) == 1, f"{plant}: not made small"


@pytest.mark.parametrize("form", ["rows", "columns"])
def test_zeros_of_both_signs_are_one_key_of_a_sink(form: Form) -> None:
    text = f"""program p\n{RECORD}
sink last = redis("last", key = r => r.x, mode = upsert)
batch u {{
  files("in.jsonl").as(R).to(last)
}}
"""
    program = lower(parse(Source("p.istream", text)))
    engine = Native(program, program.unit("u"), form, optimised=False)
    found = verify(program, program.unit("u"), [engine], examples=100)
    assert found.difference is None, found.difference


PROGRAM = f"""program whole
{RECORD}
record Sum {{ key: string, value: int }}
sink out = redis("whole:sums", key = s => (s.key, s.value))
sink big = parquet("big", mode = replace)

stream live {{
  sums = socket("localhost:9", format = json).as(R).filter(r => r.a + r.b > 2)
           .event_time(r => r.at, disorder = 1s).map_to_pair(r => (r.s, r.a))
           .window(tumbling(10s)).reduce_by_key((a, b) => a + b)
  sums.map(r => Sum {{ key: r.key, value: r.value }}).to(out).publish(again(least = min(value)), every = 3)
}}

responsive batch again(least: int) {{
  files("in/*.jsonl").as(R).filter(r => r.a + r.b > 2).event_time(r => r.at)
    .map_to_pair(r => (r.t, r.a)).window(session(5s))
    .aggregate_by_key(most = max(value)).filter(r => r.value.most >= least)
    .map(r => Sum {{ key: r.key, value: r.value.most }}).to(big)
}}
"""


def test_the_command_says_what_it_has_run(tmp_path: Path) -> None:
    program, records = tmp_path / "whole.istream", tmp_path / "r.jsonl"
    program.write_text(PROGRAM)
    at = "2026-01-01T00:00:00Z"
    row = {"a": 1, "b": 2, "x": 1, "y": 2, "s": "s", "t": "t", "n": None, "p": True, "q": True, "xs": [], "at": at}
    records.write_text("".join(json.dumps({**row, "a": number}) + "\n" for number in range(5)))
    command = ["verify", str(program), "--engine", "native", "--json"]
    done = CliRunner().invoke(application(["verify"]), [*command, "--examples", "5"])
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["unit"], each["examples"], each["difference"]) for each in lines] == [
        ("live", 5, None),
        ("again", 5, None),
    ]
    with planted("rows", next(plant for plant in PLANTS if plant.function == "add")):
        done = CliRunner().invoke(application(["verify"]), [*command, "--data", str(records), "-u", "live"])
    assert done.exit_code == 1, done.output
    (line,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert line["records"] == 5
    assert line["difference"]["engine"].startswith("native, rows")
    assert any("missing" in each for each in line["difference"]["said"])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("r.csv", "s,a,x,at\nb,5,1.5,2026-01-01\n,7,,\n", [("b", 5, 1.5, 1767225600000000), (None, 7, None, None)]),
        ("r.csv", "s,a\nb,5\nb,5,6\n", 'record 2 of "r.csv" does not fit'),
        ("r.csv", "\ufeffs,a\nb,5\n", [("b", 5, None, None)]),
        ("r.csv", "s,a\nb,5\n7\n", 'record 2 of "r.csv" does not fit'),
        ("r.csv", "s,a\nb,x\n", 'record 1 of "r.csv" does not fit'),
        ("r.jsonl", '{"s": "b", "a": 5}\n\nnope\n', 'line 3 of "r.jsonl" cannot be read'),
        ("r.jsonl", '{"s": "b", "a": 5}\n[1]\n', 'line 2 of "r.jsonl" cannot be read'),
        ("r.jsonl", '{"s": "b", "a": "x"}\n', 'record 1 of "r.jsonl" does not fit'),
        ("r.jsonl", "", '"r.jsonl" has no records'),
    ],
)
def test_records_are_given_as_json_or_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, said: object
) -> None:
    monkeypatch.chdir(tmp_path)
    record = "record G { s: string?, a: int, x: float?, at: timestamp? }\nsink out = discard()\n"
    unit = 'stream live { files("r.jsonl", format = json).as(G).to(out) }\n'
    program = lower(parse(Source("g.istream", f"program g\n{record}{unit}")))
    Path(name).write_text(text)
    try:
        (rows,) = from_file(program.unit("live"), Path(name)).rows.values()
        assert list(rows) == said
    except GhcmError as error:
        assert error.message == said
        assert "does not fit" not in error.message or "field" in (error.detail or "")


@pytest.mark.slow
def test_it_runs_batch_units_on_spark(spark: SparkSession) -> None:
    program = lower(parse(Source("whole.istream", PROGRAM)))
    unit = program.unit("again")
    with planted("spark", next(plant for plant in PLANTS if plant.function == "add")):
        found = verify(program, unit, [Spark(program, unit, optimised=True, session=spark)], examples=3, tries=5)
    assert found.difference is not None and found.difference.engine == "spark, optimised"
    assert verify(program, unit, [Spark(program, unit, optimised=False, session=spark)], examples=1).difference is None
