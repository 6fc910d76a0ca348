"""The reference interpreter: one small program per ruling of the design, with what a user would see."""

# ruff: noqa: E501    lines of the notation are long

import gzip
import math
from pathlib import Path
from typing import Any

import pytest

from ghcm.errors import GhcmError
from ghcm.functions import Failure
from ghcm.spg.reference import Published, Result, run
from ghcm.spg.text import parse_program

PAIR = "{key: string?, value: int}"
PAIRS = f"pairs<{PAIR}> bounded"


def result(tasks: str, *, sinks: str = "", **options: Any) -> Result:
    text = f'program p\nsink out: {{}} = parquet("out") append\n{sinks}\nstream u\n{tasks}\n'
    return run(parse_program(text), "u", **options)


def rows(tasks: str, **options: Any) -> list[Any]:
    found = result(tasks, **options)
    assert found.dead == []
    return found.sinks["out"]


def pairs(*given: tuple[str | None, int]) -> str:
    body = ", ".join(_row(key, value) for key, value in given)
    return f"  a = source(memory([{body}])) : {PAIRS}\n"


def _row(key: str | None, value: int) -> str:
    return f"({'null' if key is None else chr(34) + key + chr(34)}, {value})"


def test_null_keys_group_together_and_groups_come_as_their_keys_came() -> None:
    tasks = pairs(("b", 1), (None, 2), ("b", 3), (None, 4))
    tasks += f'  s = reduce_by_key(builtin(sum, int)) <- a hash(key) : {PAIRS}\n  o = to("out") <- s : {PAIRS}'
    assert rows(tasks) == [("b", 4), (None, 6)]


def test_a_sum_is_checked_only_when_it_is_emitted() -> None:
    most = 2**63 - 1
    tasks = pairs(("fits", most), ("fits", 1), ("fits", -1), ("over", most), ("over", 1))
    tasks += f'  s = reduce_by_key(builtin(sum, int)) <- a hash(key) : {PAIRS} named  # f:3:4\n  o = to("out") <- s : {PAIRS}'
    found = result(tasks)
    assert found.sinks["out"] == [("fits", most)]
    (letter,) = found.dead
    assert (letter.unit, letter.task, letter.reason, letter.input) == ("u", "s", Failure.OVERFLOW, '{"key":"over"}')
    assert letter.origin == "f:3:4"


def test_lateness_looks_at_the_partition_before_the_record() -> None:
    line = "{n: int, t: timestamp}"
    tasks = f"""  a = source(files("*.json", format("json"))) : stream<{line}> bounded
  t = event_time((l: {line}) => l.t, 1000000) <- a : stream<{line}> bounded timed
  p = map_to_pair((l: {line}) => ("k", l.n)) <- t : pairs<{{key: string, value: int}}> bounded timed
  w = window(tumbling(2000000), 1000000) <- p : pairs<{{key: string, value: int, window: Window{{start: timestamp, end: timestamp}}}}> bounded timed windowed
  s = reduce_by_key(builtin(sum, int)) <- w hash(key, window) : pairs<{{key: string, value: int, window: Window{{start: timestamp, end: timestamp}}}}> bounded timed windowed
  o = to("out") <- s : pairs<{{key: string, value: int, window: Window{{start: timestamp, end: timestamp}}}}> bounded timed windowed
"""
    one = b'{"n": 1, "t": 0}\n{"n": 2, "t": 3.9}\n{"n": 4, "t": 1}\n{"n": 8, "t": 4}\n{"n": 16, "t": 1}\n{"n": 32, "t": 2}\n'
    two = b'{"n": 64, "t": 1}\n'
    found = result(tasks, inputs={"a": {"one": one, "two": two}})
    assert found.sinks["out"] == [
        ("k", 1 + 4 + 64, (0, 2_000_000)),
        ("k", 2 + 32, (2_000_000, 4_000_000)),
        ("k", 8, (4_000_000, 6_000_000)),
    ]
    (letter,) = found.dead
    assert (letter.task, letter.reason, letter.input) == ("w", Failure.LATE, '{"key":"k","value":16}')


def test_a_failing_record_is_a_dead_letter_and_the_rest_goes_on() -> None:
    tasks = pairs(("a", 0), ("b", 2), (None, 3))
    tasks += f"""  m = map((p: {PAIR}) => (p.key, 6 // p.value)) <- a : stream<(string?, int)> bounded
  f = filter((p: (string?, int)) => p._1 != "zz") <- m : stream<(string?, int)> bounded
  o = to("out") <- f : stream<(string?, int)> bounded"""
    found = result(tasks)
    assert found.sinks["out"] == [("b", 3)]
    assert [(each.task, each.reason, each.input) for each in found.dead] == [
        ("m", Failure.ZERO_DIVISOR, '{"key":"a","value":0}')
    ]


def test_right_sides_are_evaluated_only_where_needed() -> None:
    tasks = pairs(("a", 0), (None, 1))
    tasks += f"""  m = map((p: {PAIR}) => (p.value == 0 or 1 // p.value == 1, p.value != 0 and 1 // p.value > 5, p.key ?? to_string(1 // p.value), if p.value == 0 then 0 else 1 // p.value, p.key == "a" or p.value > 1)) <- a : stream<(bool, bool, string, int, bool?)> bounded
  o = to("out") <- m : stream<(bool, bool, string, int, bool?)> bounded"""
    assert rows(tasks) == [(True, False, "a", 0, True), (True, False, "1", 1, None)]


def test_sort_and_top_put_nulls_where_the_design_says() -> None:
    given = pairs(("b", 1), (None, 2), ("a", 3), ("a", 1))
    key = f"(p: {PAIR}) => p.key"
    for op, expected in {
        f"sort({key}, false)": [(None, 2), ("a", 1), ("a", 3), ("b", 1)],
        f"sort({key}, true)": [("b", 1), ("a", 1), ("a", 3), (None, 2)],
        f"top(2, {key}, true)": [("b", 1), ("a", 1)],
        f"top(4, {key}, false)": [("a", 1), ("a", 3), ("b", 1), (None, 2)],
        f"top(-1, {key}, true)": [],
    }.items():
        assert rows(f'{given}  s = {op} <- a global : {PAIRS}\n  o = to("out") <- s : {PAIRS}') == expected


def test_null_keys_never_join() -> None:
    joined = "{key: string?, value: {left: int, right: int}}"
    key = f"(p: {PAIR}) => p.key"
    tasks = pairs(("a", 1), (None, 2), ("a", 3))
    tasks += f"""  j = join(inner, [{key}], [{key}], (l: {PAIR}, r: {PAIR}) => l.value < r.value, true) <- a hash(key), a hash(key) : pairs<{joined}> bounded
  o = to("out") <- j : pairs<{joined}> bounded"""
    assert rows(tasks) == [("a", (1, 3))]


def test_aggregates_skip_nulls_and_the_sum_of_nothing_is_null() -> None:
    element = "{key: string, value: float?}"
    made = "{key: string, value: {n: int, known: int, sum: float?, mean: float?, least: float?, most: float?}}"
    arg = "(v: float?) => v"
    tasks = f"""  a = source(memory([("x", 1e100), ("x", null), ("x", 1.0), ("x", -1e100), ("y", null), ("z", NaN), ("z", 1.0)])) : pairs<{element}> bounded
  g = aggregate_by_key([aggregate("n", count, none, int), aggregate("known", count, {arg}, int), aggregate("sum", sum, {arg}, float?), aggregate("mean", mean, {arg}, float?), aggregate("least", min, {arg}, float?), aggregate("most", max, {arg}, float?)]) <- a hash(key) : pairs<{made}> bounded
  o = to("out") <- g : pairs<{made}> bounded"""
    found = rows(tasks)
    assert found[:2] == [("x", (4, 3, 1.0, 1 / 3, -1e100, 1e100)), ("y", (1, 0, None, None, None, None))]
    key, (count, known, total, mean, least, most) = found[2]
    assert (key, count, known, least) == ("z", 2, 2, 1.0)
    assert all(map(math.isnan, (total, mean, most)))


def test_distinct_and_group_by_key_tell_floats_apart_as_values() -> None:
    tasks = """  a = source(memory([(NaN,), (0.0,), (NaN,), (-0.0,)])) : stream<{x: float}> bounded
  d = distinct <- a hash() : stream<{x: float}> bounded
  c = count <- d global : stream<int> bounded
  o = to("out") <- c : stream<int> bounded"""
    assert rows(tasks.replace("distinct ", "distinct() ").replace("count ", "count() ")) == [2]


def test_counting_nothing_gives_zero_of_a_stream_and_nothing_of_pairs() -> None:
    tasks = """  a = source(memory([])) : stream<{x: float}> bounded
  c = count() <- a global : stream<int> bounded
  o = to("out") <- c : stream<int> bounded"""
    assert rows(tasks) == [0]
    counted = "pairs<{key: string?, value: int}> bounded"
    assert rows(f'{pairs()}  c = count() <- a hash(key) : {counted}\n  o = to("out") <- c : {counted}') == []


def test_an_upsert_sink_holds_the_last_record_of_each_key() -> None:
    sinks = f'sink last: {PAIR} = redis("last") upsert key (r: {PAIR}) => r.key'
    tasks = pairs(("a", 1), (None, 2), ("a", 3)) + f'  o = to("last") <- a : {PAIRS}'
    assert result(tasks, sinks=sinks).sinks["last"] == [("a", 3), (None, 2)]


POLICIES = {
    "every_records = 2": [([1, 2], 3), ([4], 0)][:1],
    "every_records = 2, at_end = true": [([1, 2], 3), ([4], 4)],
    f"when = (p: {PAIR}) => p.value == 2": [([1, 2], 3)],
    'on = "completion"': [([1, 2, 4], 7)],
}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_aggregates_since_it_last_published(policy: str) -> None:
    call = f'call_template("called", [("least", aggregate("least", min, (p: {PAIR}) => p.value, int?)), ("sum", aggregate("sum", sum, (p: {PAIR}) => p.value, int?)), ("depth", 3)])'
    tasks = (
        pairs(("a", 1), (None, 2), ("a", 4)) + f"  o = publish({call}, policy({policy}), none) <- a global : {PAIRS}"
    )
    expected = [
        Published("o", "called", {"least": min(values), "sum": sum(values), "depth": 3})
        for values, _ in POLICIES[policy]
    ]
    assert result(tasks).instructions == expected


def test_tables_are_kept_and_read() -> None:
    table = f"table<{PAIR}> unbounded"
    tasks = pairs(("a", 1), ("a", 2)) + f"  s = reduce_by_key(builtin(sum, int)) <- a hash(key) : {table} named"
    assert result(tasks).tables == {"s": [("a", 3)]}
    reading = f"""program p
responsive stream u(word: string)
  r = read_table("u", "s", $word) : {PAIRS}
  o = reply() <- r : {PAIRS}"""
    found = run(parse_program(reading), "u", parameters={"word": "b"}, tables={("u", "s"): [("a", 3), ("b", 4)]})
    assert found.reply == [("b", 4)]


# --- decoding --------------------------------------------------------------------------------------------------------

FLOW = '{src: string from "id.orig", n: int?, at: timestamp?, ok: bool?, x: float?}'


def decoded(data: bytes, format_: str) -> tuple[list[object], list[tuple[Failure, str]]]:
    tasks = f"""  a = source(files("in", format("{format_}"))) : stream<{FLOW}> bounded
  o = to("out") <- a : stream<{FLOW}> bounded"""
    found = result(tasks, inputs={"a": {"in": data}})
    return found.sinks["out"], [(each.reason, each.input) for each in found.dead]


def test_json_lines() -> None:
    good = b'{"id.orig": "a", "n": 1, "at": 1.5, "ok": true, "x": 2}\n\n{"id": {"orig": "\xc3\xa9"}, "at": "1970-01-01T01:00:00+01:00"}\r\n'
    bad = [
        b'{"id.orig": "a", "n": 1.0}',
        b'{"id.orig": "a", "n": true}',
        b'{"id.orig": "a", "n": 9223372036854775808}',
        b'{"id.orig": 1}',
        b'{"n": 1}',
        b"[1]",
        b'{"id.orig": "a", "x": NaN}',
        b'{"id.orig": "\\ud800"}',
        b"nothing",
        b"[" * 100_000,
        b'{"id.orig": "\xff"}',
    ]
    found, dead = decoded(good + b"\n".join(bad), "json")
    assert found == [("a", 1, 1_500_000, True, 2.0), ("é", None, 0, None, None)]
    assert dead == [(Failure.BAD_RECORD, each.decode(errors="replace")[:16_384]) for each in bad]


def test_csv() -> None:
    good = b'n,id.orig,at,ok,x\r\n1,"a ""b""\nc",0.000001,TRUE,1e3\n\n,,2026-01-02,,\n'
    bad = [b"1,a", b"1.5,a,,,", b",a,,yes,", b",a,noon,,", b",\xff,,,"]
    found, dead = decoded(good + b"\n".join(bad), "csv")
    assert found == [('a "b"\nc', 1, 1, True, 1000.0), ("", None, 1_767_312_000_000_000, None, None)]
    assert dead == [(Failure.BAD_RECORD, each.decode(errors="replace")[:16_384]) for each in bad]


def test_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(b"last")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"one\r\n\ntwo\n"))
    line = "Line{text: string, file: string, number: int}"
    tasks = f"""  a = source(files("*.txt*", format("text"))) : stream<{line}> bounded
  o = to("out") <- a : stream<{line}> bounded"""
    assert rows(tasks, base=tmp_path) == [
        ("one", "a.txt.gz", 1),
        ("", "a.txt.gz", 2),
        ("two", "a.txt.gz", 3),
        ("last", "b.txt", 1),
    ]
    with pytest.raises(GhcmError, match="no file matches"):
        rows(tasks, base=tmp_path / "nowhere")


def test_python_functions(tmp_path: Path) -> None:
    (tmp_path / "mine_for_reference.py").write_text(
        "from datetime import timedelta\n"
        "def f(r):\n"
        "    if r.n == 0: raise ValueError('zero')\n"
        "    return {'later': r.at + timedelta(seconds=r.n), 'n': r.n if r.n > 1 else 'one'}\n"
    )
    before, after = "{n: int, at: timestamp}", "{n: int, later: timestamp}"
    tasks = f"""  a = source(memory([(0, 0), (1, 0), (2, 0)])) : stream<{before}> bounded
  p = python_call("mine_for_reference", "f") <- a : stream<{after}> bounded
  o = to("out") <- p : stream<{after}> bounded"""
    found = result(tasks, base=tmp_path)
    assert found.sinks["out"] == [(2, 2_000_000)]
    assert [each.reason for each in found.dead] == [Failure.PYTHON, Failure.WRONG_RESULT]
    assert found.dead[0].detail == "ValueError: zero"
