"""Joins of every kind, on every engine, with pairs that fail and keys that are null."""

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from ghcm.errors import GhcmError
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.reference import run
from ghcm.spg.verify import verify
from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of
from tests.unit.runtime.operators.harness import module_of


def test_native_joins_agree_with_the_reference() -> None:
    expected = agrees_natively(program_of("joins"))
    counts = {name: len(rows) for name, rows in expected.sinks.items()}
    assert counts == {
        "inner": 1,
        "lefts": 6,
        "rights": 6,
        "fulls": 11,
        "semis": 1,
        "antis": 5,
        "pairs_full": 10,
        "pairs_anti": 2,
        "floats": 6,
        "narrowed": 6,
    }
    assert Counter(letter.reason.value for letter in expected.dead) == {"zero_divisor": 18}


@pytest.mark.slow
def test_spark_joins_agree_with_the_reference(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("joins")) == []


FLOWS = [
    (at * 1_000_000, src, size)
    for at, src, size in [
        (1, "a", 20),
        (2, "b", 4),
        (9, "b", 50),
        (3, "a", 30),
        (10, None, 7),
        (4, "c", 1),
        (11, "a", 5),
        (2, "b", 6),
        (30, "a", 11),
    ]
]


def test_lookups_agree_with_the_reference() -> None:
    expected = agrees_natively(program_of("lookups"), sockets={"flows/socket": FLOWS})
    counts = {name: len(rows) for name, rows in expected.sinks.items()}
    assert counts == {"inner": 5, "lefts": 9, "semis": 7, "antis": 4, "priced": 9, "per_owner": 3}
    assert {letter.reason.value for letter in expected.dead} == {"zero_divisor", "late"}


def test_interval_joins_agree_with_the_reference() -> None:
    expected = agrees_natively(program_of("intervals"))
    counts = {name: len(rows) for name, rows in expected.sinks.items()}
    assert counts == {"inner": 3, "fulls": 6, "semis": 3, "windows": 3}
    assert [letter.reason.value for letter in expected.dead] == ["zero_divisor"]


@pytest.mark.slow
def test_spark_interval_joins_agree_with_the_reference(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("intervals")) == []


STREAMS = """program streams
record L {{ id: int, at: int }}
record R {{ id: int, at: int, m: int }}
sink out = files("out", mode = append)
stream u {{
  l = {left}.as(L).event_time(x => from_micros(x.at), disorder = 5us)
  r = {right}.as(R).event_time(x => from_micros(x.at), disorder = 5us)
  l.join(r, on = (a, b) => a.id == b.id, within = 2us, kind = {kind})
    .map(x => {{ l: x.left.at, r: x.right.at }}).to(out)
}}
"""
RAW = {
    "l/socket": b'{"id":1,"at":0}\n{"id":1,"at":5}\n{"id":2,"at":3}\n{"id":3,"at":9}',
    "r/socket": b'{"id":1,"at":2,"m":1}\n{"id":1,"at":7,"m":0}\n{"id":2,"at":6,"m":1}\n{"id":3,"at":8,"m":2}',
}


def streams(kind: str, *, right: str = 'socket("localhost:9001", format = json)', for_reference: bool) -> Program:
    text = STREAMS.format(left='socket("localhost:9000", format = json)', right=right, kind=kind)
    return lower(parse(Source("streams.istream", text)), for_reference=for_reference)


@pytest.mark.parametrize(
    ("kind", "pairs"),
    [
        ("inner", [(0, 2), (5, 7), (9, 8)]),
        ("left", [(0, 2), (5, 7), (3, None), (9, 8)]),
        ("full", [(0, 2), (5, 7), (3, None), (9, 8), (None, 6)]),
    ],
)
def test_the_reference_joins_streams_within_an_interval(kind: str, pairs: list[object]) -> None:
    program = streams(kind, for_reference=True)
    assert verify(program) == []
    assert run(program, "u", inputs={id: {"": data} for id, data in RAW.items()}).sinks["out"] == pairs


def test_the_native_engine_refuses_to_join_streams() -> None:
    with pytest.raises(GhcmError, match="a join of streams within an interval does not work yet"):
        streams("inner", for_reference=False)
    program = streams("inner", for_reference=True)
    with pytest.raises(GhcmError, match="the native engine has no joins of streams yet"):
        module_of(program, program.unit("u"))


def test_what_is_looked_up_has_no_interval_yet() -> None:
    with pytest.raises(GhcmError, match="a look-up within an interval does not work yet"):
        streams("inner", right='files("r.jsonl", format = json)', for_reference=True)
