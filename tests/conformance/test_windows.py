"""Windows of every kind, on every engine that has them: late records, shared slices, groups that fail."""

from collections import Counter
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from ghcm.codegen.native.chains import panes_of
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.optimizer import optimise
from ghcm.source import Source
from ghcm.spg.reference import run
from ghcm.spg.verify import verify
from tests.conformance.spark_runs import agree
from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of

Window = tuple[int, int]


def test_sliding_windows_agree_natively() -> None:
    expected = agrees_natively(program_of("sliding", streaming=True))
    assert {name: len(rows) for name, rows in expected.sinks.items()} == {
        "sums": 30,
        "uneven": 18,
        "all": 8,
        "counted": 7,
        "lists": 9,
        "ordered": 21,
        "seen": 20,
        "each": 13,
        "failing": 32,
        "filtered": 30,
        "again": 34,
        "grown": 13,
        "early": 40,
        "parts": 9,
        "broken": 12,
    }
    assert Counter(letter.reason.value for letter in expected.dead) == {"late": 39, "overflow": 13, "zero_divisor": 2}


def test_a_late_record_counts_in_the_windows_that_are_still_open() -> None:
    text = """program late
record R { at: int }
sink out = files("out", mode = append)
stream u {
  memory([{ at: 1 }, { at: 6 }, { at: 3 }, { at: 0 }]).as(R)
    .event_time(r => from_micros(r.at), disorder = 1us)
    .window(sliding(4us, every = 2us)).count().to(out)
}
"""
    expected = agrees_natively(lower(parse(Source("late.istream", text))))
    windows = [(-2, 2), (0, 4), (2, 6), (4, 8), (6, 10)]
    assert expected.sinks["out"] == [(1, window) for window in windows]
    assert [(letter.reason.value, letter.input) for letter in expected.dead] == [("late", '{"at":0}')]


def test_nothing_is_late_in_a_batch_unit() -> None:
    expected = agrees_natively(program_of("sliding"))
    assert {name: len(expected.sinks[name]) for name in ("sums", "all", "each")} == {"sums": 37, "all": 11, "each": 18}
    assert Counter(letter.reason.value for letter in expected.dead) == {"overflow": 13, "zero_divisor": 6}


def test_what_a_sink_holds_has_no_order_in_a_stream_unit() -> None:
    text = """program unordered
record R { at: int }
sink held = parquet("held", mode = append)
sink out = files("out", mode = append)
stream writer { memory([{ at: 0 }]).as(R).to(held) }
stream u {
  before = held.read()
  union(before, memory([{ at: 30 }, { at: 5 }]).as(R)).event_time(r => from_micros(r.at), disorder = 1us)
    .window(tumbling(10us)).count().to(out)
}
"""
    rows: list[tuple[object, ...]] = [(45,), (31,), (2,), (3,)]
    expected = agrees_natively(lower(parse(Source("unordered.istream", text))), given={"before": rows})
    assert expected.sinks["out"] == [(2, (0, 10)), (2, (30, 40)), (1, (40, 50))]
    assert [(letter.reason.value, letter.input) for letter in expected.dead] == [("late", '{"at":5}')]


def test_slices_are_shared_where_nobody_sees_the_windows() -> None:
    unit = optimise(program_of("sliding")).program.unit("u")
    shared = {task.id.split("/")[0] for task in unit.tasks if task.id in panes_of(unit)}
    assert shared == {
        "sums",
        "uneven",
        "all",
        "counted",
        "lists",
        "ordered",
        "failing",
        "filtered",
        "grown",
        "early",
        "broken",
    }


@pytest.mark.slow
def test_sliding_windows_agree_on_spark(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("sliding")) == []


def test_windows_with_an_offset_agree_natively() -> None:
    expected = agrees_natively(program_of("window_offset", streaming=True))
    assert {name: len(rows) for name, rows in expected.sinks.items()} == {
        "tumbled": 7,
        "summed": 6,
        "days": 8,
        "slices": 13,
        "each": 9,
    }
    assert Counter(letter.reason.value for letter in expected.dead) == {"late": 2, "overflow": 6}


def test_windows_with_an_offset_begin_so_much_later() -> None:
    expected = run(program_of("window_offset"), "u")
    second = 1_000_000
    starts = {
        name: {cast("Window", cast("tuple[object, ...]", row)[-1])[0] for row in rows}
        for name, rows in expected.sinks.items()
        if name != "days"
    }
    assert {start % (7 * second) for start in starts["tumbled"]} == {3 * second}
    assert {start % (5 * second) for start in starts["summed"]} == {1_500_000}
    assert {start % (2 * second) for start in starts["slices"]} == {500_000}
    assert {start % (2 * second) for start in starts["each"]} == {second}
    assert (32, 79_200 * second) in expected.sinks["days"]
    assert (64, -7_200 * second) in expected.sinks["days"]


@pytest.mark.slow
def test_windows_with_an_offset_agree_on_spark(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("window_offset")) == []


SIZED = """program sized
record R { at: int, name: string? }
sink all = files("all", mode = append)
responsive batch u(size: duration, least: int = 1) {
  rs = memory([{ at: 1, name: "a" }, { at: 6, name: null }, { at: -3, name: "a" }, { at: 5, name: "a" },
               { at: 9223372036854775806, name: "b" }, { at: -9223372036854775808, name: "b" }]).as(R)
         .event_time(r => from_micros(r.at), disorder = 1us)
  rs.window(tumbling(size)).count().to(all)
  rs.map_to_pair(r => (r.name, r.at)).window(tumbling(size)).filter(p => p.value > least or p.value < 0)
    .aggregate_by_key(n = count(), most = max(value)).reply()
}
"""


def test_windows_as_long_as_a_parameter_says_agree_natively() -> None:
    program = lower(parse(Source("sized.istream", SIZED)))
    assert verify(program) == []
    expected = agrees_natively(program, {"size": 4})
    assert set(expected.sinks["all"]) == {(1, (-4, 0)), (1, (0, 4)), (2, (4, 8)), (1, (-(2**63), 4 - 2**63))}
    assert [letter.reason.value for letter in expected.dead] == ["overflow"] * 2
    nothing = agrees_natively(program, {"size": 0})
    assert not any(nothing.sinks.values()) and {each.reason.value for each in nothing.dead} == {"zero_divisor"}
    assert len(nothing.dead) == 12


@pytest.mark.slow
def test_windows_as_long_as_a_parameter_says_agree_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    program = lower(parse(Source("sized.istream", SIZED)))
    agree(spark, program, "u", tmp_path, {"size": 4})
    agree(spark, program, "u", tmp_path, {"size": -1})


def test_the_top_of_each_window_agrees_natively() -> None:
    expected = agrees_natively(program_of("window_top"))
    assert {name: len(rows) for name, rows in expected.sinks.items()} == {
        "dearest": 4,
        "cheap": 9,
        "hot": 5,
        "failing": 2,
        "later": 0,
    }


@pytest.mark.slow
def test_the_top_of_each_window_agrees_on_spark(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("window_top")) == []


def test_input_that_never_ends_has_a_top_in_each_window() -> None:
    text = """program live
record R { at: timestamp, n: int }
sink out = files("out", mode = append)
stream u {
  socket("localhost:9000", format = json).as(R).event_time(r => r.at, disorder = 1s)
    .window(tumbling(4s)).top(3, by = r => r.n).to(out)
}
"""
    assert verify(lower(parse(Source("live.istream", text)))) == []
