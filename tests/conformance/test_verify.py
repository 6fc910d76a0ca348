"""`ghcm verify` finds mistakes that are planted in the emitters of functions, shows them small, and ends with 1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from ghcm.cli.main import application
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.contract import Form
from ghcm.source import Source
from ghcm.verification import verify
from ghcm.verification.engines import Native, Spark
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


@pytest.mark.slow
def test_it_runs_batch_units_on_spark(spark: SparkSession) -> None:
    program = lower(parse(Source("whole.istream", PROGRAM)))
    unit = program.unit("again")
    with planted("spark", next(plant for plant in PLANTS if plant.function == "add")):
        found = verify(program, unit, [Spark(program, unit, optimised=True, session=spark)], examples=3, tries=5)
    assert found.difference is not None and found.difference.engine == "spark, optimised"
    assert verify(program, unit, [Spark(program, unit, optimised=False, session=spark)], examples=1).difference is None
