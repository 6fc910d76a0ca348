"""Joins of every kind, on every engine, with pairs that fail and keys that are null."""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from ghcm.errors import GhcmError
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.optimizer import optimise
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.reference import run
from ghcm.spg.verify import verify
from tests.campaigns import times
from tests.conformance.spark_runs import agree
from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.test_spark_plans import plans_of, ran
from tests.conformance.text_programs import agrees_natively, program_of


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
    expected = agrees_natively(program_of("lookups"), given={"flows/socket": FLOWS})
    counts = {name: len(rows) for name, rows in expected.sinks.items()}
    assert counts == {"inner": 5, "lefts": 9, "semis": 7, "antis": 4, "priced": 9, "per_owner": 3}
    assert {letter.reason.value for letter in expected.dead} == {"zero_divisor", "late"}


def test_interval_joins_agree_with_the_reference() -> None:
    expected = agrees_natively(program_of("intervals"))
    counts = {name: len(rows) for name, rows in expected.sinks.items()}
    assert counts == {"inner": 3, "fulls": 6, "semis": 2, "windows": 3}
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


def streams(kind: str) -> Program:
    left, right = (f'socket("localhost:{port}", format = json)' for port in (9000, 9001))
    return lower(parse(Source("streams.istream", STREAMS.format(left=left, right=right, kind=kind))))


@pytest.mark.parametrize(
    ("kind", "pairs"),
    [
        ("inner", [(0, 2), (5, 7), (9, 8)]),
        ("left", [(0, 2), (5, 7), (3, None), (9, 8)]),
        ("full", [(0, 2), (5, 7), (3, None), (9, 8), (None, 6)]),
    ],
)
def test_the_reference_joins_streams_within_an_interval(kind: str, pairs: list[object]) -> None:
    program = streams(kind)
    assert verify(program) == []
    assert run(program, "u", inputs={id: {"": data} for id, data in RAW.items()}).sinks["out"] == pairs


def test_an_end_is_joined_with_an_endless_side_within_an_interval() -> None:
    text = STREAMS.format(
        left="memory([{ id: 1, at: 0 }, { id: 1, at: 5 }, { id: 2, at: 3 }, { id: 3, at: 9 }])",
        right='socket("localhost:9001", format = json)',
        kind="full",
    )
    program = lower(parse(Source("streams.istream", text)))
    given = {"r/socket": [(1, 2, 1), (1, 7, 0), (2, 6, 1), (3, 8, 2)]}
    assert agrees_natively(program, given=given).sinks["out"] == [(0, 2), (5, 7), (3, None), (9, 8), (None, 6)]


def test_streams_that_never_end_are_joined() -> None:
    """Records come out of order, more than is allowed for some."""
    reasons: Counter[str] = Counter()
    for seed in range(times(3)):
        chance = Random(seed)
        given = {side: _records(chance) for side in ("l/socket", "r/socket")}
        expected = agrees_natively(program_of("stream_joins"), given=given)
        assert all(expected.sinks.values())
        reasons.update(letter.reason.value for letter in expected.dead)
    assert reasons["late"] > 20 and reasons["zero_divisor"] > 5


def _records(chance: Random) -> list[tuple[int | None, int, int]]:
    times = [at + chance.choice((0, 0, 0, -3, -6, -9, -14, 2)) for at in range(60) if chance.random() < 0.6]
    return [(chance.choice((1, 1, 2, 3, None)), max(0, at), chance.randrange(4)) for at in times]


def test_an_endless_side_is_looked_up_within_an_interval() -> None:
    expected = agrees_natively(program_of("near_lookups"), given={"flows/socket": FLOWS})
    counts = {name: len(rows) for name, rows in expected.sinks.items()}
    assert counts == {"inner": 4, "lefts": 10, "semis": 5, "antis": 4, "per_name": 2}
    assert Counter(letter.reason.value for letter in expected.dead) == {"zero_divisor": 1, "late": 2}


TABLES = """program tables
record F {{ k: string?, at: int, n: int }}
sink out = files("out", mode = append)
sink sums = redis("sums", key = s => s.key)
stream u {{
  f = socket("localhost:9000", format = json).as(F){time}
  g = socket("localhost:9001", format = json).as(F).event_time(x => from_micros(x.at), disorder = 5us)
  total = g.map_to_pair(x => (x.k, x.n)).reduce_by_key((a, b) => a + b)
  total.to(sums)
  f.join(total, on = (a, t) => a.k == t.key and 10 // t.value >= 0, kind = {kind})
    .map(x => {{ k: x.left.k, at: x.left.at, sum: if x.right is null then null else x.right.value }}).to(out)
}}
"""
OF_TABLES = {
    "f/socket": b"""{"k":"a","at":5,"n":0}\n{"k":"a","at":1,"n":0}\n{"k":"a","at":9,"n":0}\n{"k":"b","at":7,"n":0}
{"k":null,"at":9,"n":0}\n{"k":"a","at":6,"n":0}""",
    "g/socket": b"""{"k":"a","at":2,"n":1}\n{"k":"a","at":8,"n":4}\n{"k":"a","at":5,"n":2}\n{"k":"b","at":8,"n":9}
{"k":null,"at":1,"n":3}\n{"k":"a","at":6,"n":-3}""",
}


def table_program(kind: str, time: str = ".event_time(x => from_micros(x.at), disorder = 5us)") -> Program:
    return lower(parse(Source("tables.istream", TABLES.format(kind=kind, time=time))))


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("inner", [("a", 5, 3), ("a", 9, 4)]),
        ("left", [("a", 5, 3), ("a", 1, None), ("a", 9, 4), ("b", 7, None), (None, 9, None), ("a", 6, None)]),
    ],
)
def test_records_see_a_table_as_it_was_at_their_times(kind: str, rows: list[object]) -> None:
    program = table_program(kind)
    assert verify(program) == []
    found = run(program, "u", inputs={id: {"": data} for id, data in OF_TABLES.items()})
    assert found.sinks["out"] == rows
    assert found.sinks["sums"] == [("a", 4), ("b", 9), (None, 3)]
    assert [letter.reason.value for letter in found.dead] == ["late", "zero_divisor"]


VERSIONS = """program versions
record F { k: int?, at: int, n: int }
sink sums = files("sums", mode = append)
sink many = files("many", mode = append)
sink none = files("none", mode = append)
sink both = files("both", mode = append)
sink late = files("late", mode = append)
sink last = files("last", mode = append)
sink kept = files("kept", mode = append)
sink pair = files("pair", mode = append)
sink gone = files("gone", mode = append)
stream u {
  f = socket("localhost:9000", format = json).as(F).event_time(x => from_micros(x.at), disorder = 5us)
  g = socket("localhost:9001", format = json).as(F).event_time(x => from_micros(x.at), disorder = 5us)
  keyed = g.map_to_pair(x => (x.k, x))
  total = g.map_to_pair(x => (x.k, x.n)).reduce_by_key((a, b) => a + b)
  said = keyed.aggregate_by_key(n = count(), most = max(12 // n), last = last(n), different = distinct_count(n))
  lists = g.map_to_pair(x => (x.k, x.n)).group_by_key()
  product = g.map_to_pair(x => (x.k, (x.n + 1) * 3000000000)).reduce_by_key(@associative @commutative (a, b) => a * b)
  f.join(total, on = (a, t) => a.k == t.key and 10 // t.value >= 0 and a.n < t.value, kind = left)
    .map(x => { k: x.left.k, at: x.left.at, sum: if x.right is null then null else x.right.value }).to(sums)
  f.map_to_pair(x => (x.k, x.at)).join(said).to(many)
  f.join(lists, on = (a, t) => a.k == t.key and a.n == t.value.length(), kind = anti).to(none)
  f.map_to_pair(x => (x.k, x.at)).join(product, kind = left).to(both)
  recent = keyed.aggregate_by_key(n = count(), most = max(12 // n), ttl = 3us)
  newest = g.latest(key = x => x.k, order = x => x.n % 3, ttl = 2us)
  f.join(recent, on = (a, t) => a.k == t.key and 3 // (t.value.n - 1) >= 0, kind = left)
    .map(x => (x.left, if x.right is null then null else x.right.value.n)).to(late)
  f.join(newest, on = (a, t) => a.k == t.key, kind = left)
    .map(x => (x.left, if x.right is null then null else x.right.value)).to(last)
  there = g.latest(key = x => x.k, order = x => (x.at, x.n), deleted = x => if x.n == 0 then null else x.n % 2 == 0)
  f.join(there, on = (a, t) => a.k == t.key and t.value.n < 3 and t.value.k is not null)
    .map(x => (x.left, x.right, x.right.value.k + 1)).to(kept)
  f.map_to_pair(x => (x.k, x.at)).join(there, kind = left).to(pair)
  f.join(there, on = (a, t) => a.k == t.key, kind = anti).to(gone)
}
"""

AT_ONE_TIME = [(9, 0, 3), (9, 0, 2), (9, 0, -1), (9, 1, 0)]
"""Whose product does not fit into 64 bits, but for the one that is zero."""


def test_versions_of_a_table_do_not_depend_on_the_order_in_which_records_come() -> None:
    """Records come out of order, more than is allowed for some; aggregations and conditions fail."""
    program = lower(parse(Source("versions.istream", VERSIONS)))
    assert verify(program) == []
    reasons: Counter[str] = Counter()
    for seed in range(times(2)):
        chance = Random(seed)
        given = {side: [*AT_ONE_TIME, *_records(chance)] for side in ("f/socket", "g/socket")}
        expected = agrees_natively(program, given=given)
        assert all(expected.sinks.values())
        reasons.update(letter.reason.value for letter in expected.dead)
    assert reasons["late"] > 20 and reasons["zero_divisor"] > 5 and reasons["overflow"] > 2


def test_a_table_of_event_time_is_looked_up_by_records_that_have_it() -> None:
    with pytest.raises(GhcmError, match="a join with a table of event time needs event time on both sides"):
        table_program("inner", time="")


WINDOWS = (
    STREAMS.replace("within = 2us, ", "")
    .replace("a.id == b.id", "a.id == b.id and a.window == b.window")
    .replace("disorder = 5us)", "disorder = 5us).window(tumbling(5us))")
)


def test_the_reference_joins_streams_that_share_windows() -> None:
    socket = 'socket("localhost:900{}", format = json)'.format
    text = WINDOWS.format(left=socket(0), right=socket(1), kind="full")
    program = lower(parse(Source("windows.istream", text)))
    assert verify(program) == []
    found = run(program, "u", inputs={id: {"": data} for id, data in RAW.items()})
    assert found.sinks["out"] == [(0, 2), (5, 7), (3, None), (9, 8), (None, 6)]


def test_joins_of_shared_windows_agree_with_the_reference() -> None:
    expected = agrees_natively(program_of("shared_windows"))
    counts = {name: len(rows) for name, rows in expected.sinks.items()}
    assert counts == {
        "inner": 6,
        "lefts": 10,
        "rights": 9,
        "fulls": 13,
        "semis": 4,
        "antis": 4,
        "sums": 7,
        "again": 3,
        "slides": 20,
        "ratios": 8,
    }
    assert Counter(letter.reason.value for letter in expected.dead) == {"zero_divisor": 2}


def test_a_join_as_of_a_time_takes_the_latest_and_of_several_the_greatest() -> None:
    expected = agrees_natively(program_of("asof"))
    quoted = [(row[0][1], row[1][0:1] + row[1][3:]) for row in cast("list[Any]", expected.sinks["inner"])]
    assert quoted == [
        (10, ("a", "é")),
        (10, ("a", "é")),
        (4, ("a", "y")),
        (7, ("b", "nan")),
        (100, ("ü", "old")),
        (50, ("c", "c")),
    ]
    counts = {name: len(rows) for name, rows in expected.sinks.items()}
    assert counts == {"inner": 6, "lefts": 8, "semis": 6, "antis": 2, "near": 8, "pairs": 8, "divided": 8, "shares": 4}
    assert Counter(letter.reason.value for letter in expected.dead) == {"zero_divisor": 3}


@pytest.mark.slow
def test_spark_joins_by_time_and_window_agree_with_the_reference(spark: SparkSession) -> None:
    for name in ("shared_windows", "asof"):
        assert differences_on_spark(spark, program_of(name)) == []


def test_an_endless_stream_meets_the_latest_of_an_end() -> None:
    text = STREAMS.replace("within = 2us", "asof = true").format(
        left='socket("localhost:9000", format = json)',
        right="memory([{ id: 1, at: 2, m: 1 }, { id: 2, at: 6, m: 1 }, { id: 3, at: 8, m: 2 }])",
        kind="left",
    )
    program = lower(parse(Source("streams.istream", text)))
    given = {"l/socket": [(1, 0), (1, 5), (2, 3), (3, 9)]}
    assert agrees_natively(program, given=given).sinks["out"] == [(0, None), (5, 2), (3, None), (9, 8)]


ONE_SIDED = """\
program one_sided

record Pair { k: int, v: int }

responsive batch u() {
  pairs = files("pairs.csv", format = csv).as(Pair)
  none = pairs.filter(p => p.k > 100)
  inner_of = pairs.map(p => { k: p.k, s: 12 // p.v }).join(none, on = (l, r) => l.k == r.k, kind = inner)
  semi_of = pairs.map(p => { k: p.k, s: p.v // (p.k - 2) }).join(none, on = (l, r) => l.k == r.k, kind = semi)
  union(inner_of.map(j => j.left.s), semi_of.map(j => j.s)).reply()
}
"""


@pytest.mark.slow
@pytest.mark.usefixtures("operators_apart")
def test_records_that_fail_before_a_join_with_nothing_are_told(spark: SparkSession, tmp_path: Path) -> None:
    """Where operators run apart Spark makes no row of one side if the other has none."""
    (tmp_path / "pairs.csv").write_text("k,v\n1,0\n2,3\n3,4\n")
    program = lower(parse(Source("one_sided.istream", ONE_SIDED)))
    outcome = agree(spark, program, "u", tmp_path)
    assert [(reason, input_) for _, reason, input_ in outcome.dead] == [
        ("zero_divisor", '{"k":1,"v":0}'),
        ("zero_divisor", '{"k":2,"v":3}'),
    ]


@pytest.mark.slow
def test_parts_of_groups_are_made_ahead_of_joins_but_of_what_is_sent_to_every_task(
    spark: SparkSession, tmp_path: Path
) -> None:
    program, limit = optimise(program_of("partial_groups")).program, "spark.sql.autoBroadcastJoinThreshold"
    shops = [{"shop": 1, "town": "x"}, {"shop": 1, "town": "y"}, {"shop": 2, "town": "x"}, {"shop": 3, "town": "z"}]
    files = {"shops.json": "\n".join(map(json.dumps, shops)).encode()}
    (tmp_path / "shops.json").write_bytes(files["shops.json"])
    below: dict[str, set[bool]] = {}
    try:
        for size in ("10m", "-1"):
            spark.conf.set(limit, size)
            assert differences_on_spark(spark, program, files=files) == []
            plans = map(ran, plans_of(spark, program, "u", tmp_path).values())
            below[size] = {"Aggregate(" in "\n".join(plan).partition("Join ")[2] for plan in plans}
    finally:
        spark.conf.unset(limit)
    assert below == {"10m": {False}, "-1": {True}}
