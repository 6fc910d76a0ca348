"""What is told of a key in the order of time (what comes before each value, what all so far make, when it falls silent)
is the same in the reference, natively (refused room, saved and restored at every pause) and on Spark; and so is what is
told of values in the order in which they come, in stream units.
"""

from __future__ import annotations

from random import Random
from typing import cast

import pytest
from pyspark.sql import SparkSession

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.reference import run
from ghcm.spg.verify import verify
from ghcm.values import encode
from tests.campaigns import times
from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import PROGRAMS, agrees_natively

Row = tuple[object, ...]


def ticks(seed: int, count: int) -> list[Row]:
    """Records that come out of order, some of them late; many share their time."""
    random = Random(seed)
    return [
        (
            at // 3 + random.choice([0, 0, 1, -2, -7]) + 10,
            random.choice(["a", "b", None]),
            random.choice([None, 0, 5, -5, 2**63 - 1]),
            random.choice([0.0, -0.0, 1.5]),
        )
        for at in range(count)
    ]


def made(kind: str, rows: list[Row], *, natively: bool = True) -> Program:
    """The program over these rows: in its text where it is a batch unit."""
    text = (PROGRAMS / "in_time_order.istream").read_text(encoding="utf-8").replace("KIND", kind).replace("MANY", '"5"')
    text = text if natively else text.split("  # NATIVELY")[0] + "}\n"
    source = 'socket("localhost:9000", format = json)'
    if kind == "batch":
        names = ("at", "name", "price", "part")
        written = (zip(names, row, strict=True) for row in rows)
        records = ("{ " + ", ".join(f"{name}: {_text(value)}" for name, value in row) + " }" for row in written)
        source = f"memory([{', '.join(records)}])"
    program = lower(parse(Source("in_time_order.istream", text.replace("SOURCE", source))))
    assert verify(program) == []
    return program


def _text(value: object) -> str:
    return "null" if value is None else f'"{value}"' if isinstance(value, str) else repr(value)


def test_it_is_the_same_natively() -> None:
    for seed in range(times(2)):
        rows = ticks(seed, 40)
        program = made("stream", [])
        source = next(task.id for task in program.unit("u").tasks if not task.inputs)
        found = agrees_natively(program, given={source: rows})
        late = [letter for letter in found.dead if letter.reason.value == "late" and letter.task == "each"]
        assert late and len(found.sinks["each"]) + len(late) == len(rows)
        assert all(found.sinks.values())
        agrees_natively(made("batch", rows))


@pytest.mark.slow
def test_it_is_the_same_on_spark(spark: SparkSession) -> None:
    assert differences_on_spark(spark, made("batch", ticks(7, 160), natively=False)) == []


def test_what_is_before_is_in_order_of_time() -> None:
    program = made("stream", [])
    source = next(task.id for task in program.unit("u").tasks if not task.inputs)
    rows: list[Row] = [(10, "a", 1, 0.0), (12, "a", 2, 0.0), (11, "a", 3, 0.0), (20, "a", 4, 0.0), (16, "a", 5, 0.0)]
    raw = "\n".join(encode(row, program.unit("u").task(source).schema) for row in rows).encode()
    found = run(program, "u", inputs={source: {"": raw}})
    assert found.sinks["each"] == [("a", (1, [])), ("a", (3, [1])), ("a", (2, [1, 3])), ("a", (4, [3, 2]))]
    assert [(each.task, each.input) for each in found.dead if each.task == "each"] == [
        ("each", '{"key":"a","value":5}')
    ]


def test_a_key_falls_silent_again_when_it_has_come_back() -> None:
    program = made("stream", [])
    source = next(task.id for task in program.unit("u").tasks if not task.inputs)
    rows: list[Row] = [(10, "a", 1, 0.0), (11, "a", 2, 0.0), (11, "a", 0, 0.0), (13, "a", 3, 0.0), (14, "b", 4, 0.0)]
    rows.append((2**63 - 2, "a", 5, 0.0))
    raw = "\n".join(encode(row, program.unit("u").task(source).schema) for row in rows).encode()
    found = run(program, "u", inputs={source: {"": raw}})
    assert found.sinks["gone"] == [("a", (2, 11)), ("a", (3, 13)), ("b", (4, 14))]
    assert [(each.reason.value, each.input) for each in found.dead if each.task == "gone"] == [
        ("overflow", '{"key":"a","value":5}')
    ]


ENDLESS = """program endless
record Tick { at: int }
record State { n: int }
sink calls = files("calls", mode = append)
batch u {
  ticks = memory([{ at: 5 }]).as(Tick).event_time(t => from_micros(t.at)).map_to_pair(t => (t.at, t.at))
  ticks.process("tests.conformance.row_functions:endless", state = State) : bool.to(calls)
}
"""


def test_moments_come_to_an_end() -> None:
    found = agrees_natively(lower(parse(Source("endless.istream", ENDLESS))))
    assert found.sinks["calls"] == [(5, True)] * 1000
    assert [(each.reason.value, each.input) for each in found.dead] == [("wrong_result", '{"key":5}')]


CHUNKS = """program chunks
record Tick { at: int, name: string?, price: int?, part: float }
sink pairs = files("pairs", mode = append)
sink whole = files("whole", mode = append)
sink parts = files("parts", mode = append)
stream u {
  ticks = socket("localhost:9000", format = json).as(Tick)
  ticks.map_to_pair(t => (t.name, t.price)).chunks(2).to(pairs)
  ticks.event_time(t => from_micros(t.at), disorder = 3us).map_to_pair(t => (0, t.at)).chunks(100).to(whole)
  ticks.key_by(t => if t.part > 1.0 then to_float("nan") else t.part).chunks(3)
       .map(p => { part: p.key, sum: p.value.sum(t => t.at), names: p.value.map(t => t.name) }).to(parts)
}
"""


def test_chunks_are_the_same_natively() -> None:
    program = lower(parse(Source("chunks.istream", CHUNKS)))
    assert verify(program) == []
    found = agrees_natively(program, given={"ticks": ticks(3, 40)})
    lengths = [len(chunk) for _, chunk in cast("list[tuple[object, list[object]]]", found.sinks["pairs"])]
    assert set(lengths) == {1, 2} and sum(lengths) == 40
    assert [len(chunk) for _, chunk in cast("list[tuple[object, list[object]]]", found.sinks["whole"])] == [40]
