"""Sessions: what the reference says they are, the same on Spark and on the native engine, of streams too."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from pyspark.sql import SparkSession

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.reference import Result, run
from ghcm.spg.verify import verify
from tests.campaigns import times
from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of

LIVE = """program live
record R {{ k: string, at: int }}
sink out = files("out", mode = append)
stream u {{
  socket("localhost:9000", format = json).as(R)
    .event_time(r => from_micros(r.at), disorder = {disorder})
    .map_to_pair(r => (r.k, r.at)).window(session(10us), allowed_lateness = {lateness}).group_by_key().to(out)
}}
"""


def live(records: list[tuple[str, int]], *, disorder: str = "0s", lateness: str = "0s") -> Result:
    text = LIVE.format(disorder=disorder, lateness=lateness)
    program = lower(parse(Source("live.istream", text)))
    assert verify(program) == []
    raw = "\n".join(f'{{"k":"{key}","at":{at}}}' for key, at in records).encode()
    source = next(task.id for task in program.unit("u").tasks if not task.inputs)
    return run(program, "u", inputs={source: {"": raw}})


def test_a_record_at_the_end_of_a_session_begins_another() -> None:
    found = live([("a", 0), ("a", 9), ("a", 19), ("b", 19), ("a", 28)])
    assert found.sinks["out"] == [("a", [0, 9], (0, 19)), ("b", [19], (19, 29)), ("a", [19, 28], (19, 38))]


def test_a_late_record_joins_two_sessions_while_its_own_would_be_open() -> None:
    records = [("a", 0), ("a", 14), ("a", 7), ("a", 3)]
    found = live(records)
    assert found.sinks["out"] == [("a", [0, 7, 14], (0, 24))]
    assert [(each.reason.value, each.input) for each in found.dead] == [("late", '{"key":"a","value":3}')]
    assert live(records, disorder="2us").sinks["out"] == [("a", [0, 3, 7, 14], (0, 24))]
    assert live(records, lateness="2us").sinks["out"] == [("a", [0, 3, 7, 14], (0, 24))]


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of("sessions")


def test_the_reference_puts_records_into_sessions(program: Program) -> None:
    expected = run(program, "u")
    assert {name: len(rows) for name, rows in expected.sinks.items()} == {
        "each": 15,
        "sums": 8,
        "counted": 8,
        "lists": 8,
        "kept": 10,
        "whole": 2,
        "best": 4,
        "different": 7,
        "patient": 8,
        "none": 0,
    }
    assert Counter(letter.reason.value for letter in expected.dead) == {"overflow": 5}


@pytest.mark.slow
def test_sessions_agree_on_spark(program: Program, spark: SparkSession) -> None:
    assert differences_on_spark(spark, program) == []


def test_sessions_agree_natively(program: Program) -> None:
    agrees_natively(program)


STREAM = """program stream
record R { k: string?, at: int, n: int }
sink each   = files("out/each", mode = append)
sink sums   = files("out/sums", mode = append)
sink whole  = files("out/whole", mode = append)
sink later  = files("out/later", mode = append)
sink best   = files("out/best", mode = append)
stream u {
  rows = socket("localhost:9000", format = json).as(R).event_time(r => from_micros(r.at), disorder = 3us)
  pairs = rows.map_to_pair(r => (r.k, r.n)).window(session(6us), allowed_lateness = 2us)
  pairs.map(p => { k: p.key, n: p.value, from: p.window.start, to: p.window.end }).to(each)
  sums = pairs.reduce_by_key((a, b) => a + b)
  sums.to(sums_)
  sums.map_to_pair(s => (s.key, s.value)).window(tumbling(20us)).count().to(later)
  rows.window(session(4us)).count().to(whole)
  rows.window(session(8us)).top(2, by = r => (r.n, r.at)).to(best)
}
""".replace("sink sums ", "sink sums_")


def test_sessions_of_streams_agree_natively() -> None:
    """Records come out of order, more than is allowed for some."""
    program, late = lower(parse(Source("stream.istream", STREAM))), 0
    assert verify(program) == []
    for seed in range(times(4)):
        chance = Random(seed)
        ats = [max(0, at + chance.choice((0, 0, -2, -4, -8, -12))) for at in range(80) if chance.random() < 0.4]
        given = {"rows/socket": [(chance.choice(("a", "a", "b", None)), at, chance.randrange(9)) for at in ats]}
        expected = agrees_natively(program, given=given)
        assert all(expected.sinks.values())
        late += sum(each.reason.value == "late" for each in expected.dead)
    assert late > 10
