"""The plans of generated jobs, as Spark ran them: what an expert would look for in them, for both examples and ten
programs more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from ghcm import driver as compiler
from ghcm.codegen.engines import emit
from ghcm.codegen.spark import SPARK, generate
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.optimizer import optimise
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.ops import ReadSink
from tests.conformance.spark_runs import load_job
from tests.conformance.spark_sinks import write_sink

EXAMPLES = Path(__file__).parents[2] / "examples"
TABLES = """program plans
record Sale { shop: string, item: string, at: timestamp, paid: int, price: float? }
record Shop { shop: string, town: string, opened: timestamp, size: int? }
sink sales = parquet("sales", mode = append)
sink shops = parquet("shops", mode = append)
batch fill {
  memory([]).as(Sale).to(sales)
  memory([]).as(Shop).to(shops)
}
"""
UNITS = {
    "narrow": "sales.read().filter(s => s.paid > 0).map(s => { shop: s.shop, paid: s.paid * 2 })",
    "sums": "sales.read().map_to_pair(s => ((s.shop, s.item), s.paid)).reduce_by_key((a, b) => a + b)",
    "best": "sales.read().key_by(s => s.shop)"
    ".aggregate_by_key(best = last(value, order = s => (s.paid, s.at)), n = count())",
    "hours": "sales.read().event_time(s => s.at).map_to_pair(s => (s.shop, s.paid)).window(tumbling(1h))"
    ".aggregate_by_key(paid = sum(value), most = max(value))",
    "slides": "sales.read().event_time(s => s.at).map_to_pair(s => (s.shop, 1))"
    ".window(sliding(2h, every = 1h)).count()",
    "visits": "sales.read().event_time(s => s.at).map_to_pair(s => (s.shop, s.paid)).window(session(15m))"
    ".aggregate_by_key(paid = sum(value))",
    "towns": "sales.read().join(shops.read(), on = (s, t) => s.shop == t.shop)"
    ".map_to_pair(j => (j.right.town, j.left.paid)).reduce_by_key((a, b) => a + b)",
    "maybe": "sales.read().join(shops.read(), on = (s, t) => s.shop == t.shop and s.at > t.opened, kind = left)"
    ".map(j => { item: j.left.item, town: if j.right is null then null else j.right.town })",
    "known": "sales.read()"
    ".join(shops.read().filter(t => t.size is not null), on = (s, t) => s.shop == t.shop, kind = semi)",
    "different": 'union(files("sales/*.parquet", format = parquet).as(Sale).map(s => s.shop), '
    "shops.read().map(t => t.shop)).distinct()",
}
"""Ten units over two tables, a large and a small one."""


def _ten() -> Program:
    sinks = "\n".join(f'sink {name}_out = parquet("{name}", mode = replace)' for name in UNITS)
    units = "\n".join(f"batch {name} {{ {body}.to({name}_out) }}" for name, body in UNITS.items())
    return lower(parse(Source("plans.istream", f"{TABLES}{sinks}\n{units}\n")))


def _example(name: str) -> Program:
    path = EXAMPLES / name / f"{name}.istream"
    return lower(parse(Source(str(path), path.read_text(encoding="utf-8"))))


def plans_of(spark: SparkSession, program: Program, unit: str, folder: Path) -> dict[str, str]:
    """By sink the plan by which its rows were made, and that of each round of an iteration; tables have few rows."""
    made: dict[str, str] = {}

    def write(job: Any, rows: DataFrame, sink: str, *_: Any, **__: Any) -> None:
        java: Any = rows._jdf  # pyright: ignore[reportPrivateUsage]  (there is no public way)
        rows.collect()
        made[sink] = str(java.queryExecution().executedPlan().toString())
        job.sinks[sink] = {"version": "", "rows": 0}

    program = optimise(program).program
    for task in program.unit(unit).tasks:
        if isinstance(task.op, ReadSink) and not (folder / program.sink(task.op.sink).connector.address[1]).exists():
            write_sink(folder, program.sink(task.op.sink), _rows(task.op.sink))
    module = load_job(emit(SPARK, program, program.unit(unit)).module, folder)
    module.__dict__["write_table"] = write
    module.run(spark, {}, {"call": unit, "base": str(folder), "dead": str(folder / "dead")})
    return made


def _rows(sink: str) -> Sequence[tuple[object, ...]]:
    hour = 3_600_000_000
    rows: dict[str, list[tuple[object, ...]]] = {
        "sales": [(f"s{n % 5}", f"i{n % 7}", n * hour // 3, n, n / 2) for n in range(200)],
        "shops": [(f"s{n}", f"t{n % 2}", n * hour, n) for n in range(6)],
        "alerts": [
            (n * hour, f"10.0.0.{n % 4}", f"10.0.0.{(n + 1) % 4}", 80, "sig", "cat", 1, "suricata") for n in range(9)
        ],
        "words": [("one", f"w{n % 9}", n) for n in range(99)],
    }
    return rows[sink]


_OPERATORS = re.compile(r"^[\s:+\-|]*(\*\(\d+\) )?(\w+)", re.MULTILINE)
_LOOPED = {"Project", "Filter", "HashAggregate", "BroadcastHashJoin", "SortMergeJoin", "ColumnarToRow", "Sort"}


def ran(plan: str) -> list[str]:
    """The lines of the plan that was run in the end."""
    return plan.split("+- == Initial Plan ==", maxsplit=1)[0].splitlines()


def problems(plan: str) -> list[str]:
    """What an expert would not have written."""
    found: list[str] = []
    lines = ran(plan)
    found += [f"a node of metrics: {line.strip()}" for line in lines if "CollectMetrics" in line]
    found += [f"a list: {line.strip()}" for line in lines if "collect_list" in line or "collect_set" in line]
    found += [f"one partition: {line.strip()}" for line in lines if "SinglePartition, ENSURE_REQUIREMENTS" in line]
    for line in lines:
        operator = _OPERATORS.match(line)
        if operator and operator[2] in _LOOPED and not operator[1]:
            found.append(f"outside of a loop: {line.strip()}")
    return found


@pytest.fixture(scope="module")
def plans(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The plans of all programs, by unit and sink."""
    folder, ten = tmp_path_factory.mktemp("plans"), _ten()
    made = {unit: plans_of(spark, ten, unit, folder)[f"{unit}_out"] for unit in UNITS}
    for name, unit in (("traffic", "rebuild"), ("wordcount", "favourite_words")):
        home = tmp_path_factory.mktemp(name)
        (home / "stop_words.csv").write_text("word,kind\nw1,noun\n", encoding="utf-8")
        made |= {f"{unit} {sink}": plan for sink, plan in plans_of(spark, _example(name), unit, home).items()}
    return made


@pytest.mark.slow
def test_nothing_is_collected_sent_to_one_place_or_left_out_of_the_loops_of_stages(plans: Mapping[str, str]) -> None:
    wrong = {name: found for name, plan in plans.items() if (found := problems(plan))}
    assert wrong == {}
    assert re.search(r"\*\(\d+\) Union", plans["different"]), plans["different"]


@pytest.mark.slow
def test_small_tables_are_broadcast(plans: Mapping[str, str]) -> None:
    for name in ("towns", "maybe", "known"):
        assert "BroadcastHashJoin" in plans[name] and "SortMergeJoin" not in plans[name], plans[name]


@pytest.mark.slow
def test_joins_carry_the_columns_that_are_used_behind_them(plans: Mapping[str, str]) -> None:
    for name, used, unused in (
        ("towns", "right.town", "size"),
        ("maybe", "left.item", "price"),
        ("maybe", "_town", "size"),
    ):
        assert used in plans[name]
        assert not any(f"{side}{unused}" in plans[name] for side in ("left.", "right.", "_extract_")), plans[name]


@pytest.mark.parametrize("ends", ["rows.reply()", "rows.to(out)\n  rows.count().reply()"], ids=["one", "two"])
def test_dead_letters_are_not_looked_for_where_no_record_came(
    ends: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "letters.istream"
    path.write_text(
        'program letters\nrecord N { n: int }\nsink out = files("out", format = json)\nresponsive batch all() {\n'
        '  rows = files("in.json", format = json).as(N).filter(x => x.n > 9).map(x => 10 // x.n)\n'
        f"  {ends}\n}}\n"
    )
    made = compiler.check(path)
    (tmp_path / "in.json").write_text('{"n": 1}\n{"n": 0}\n')
    module = load_job(generate(made, made.unit("all")), tmp_path)
    known, looked = module.Unit.run.__globals__["end"].__globals__, list[object]()
    found: Callable[[object], list[object]] = known["steps_with_failures"]

    def looking(job: object) -> list[object]:
        looked.extend(some := found(job))
        return some

    monkeypatch.setitem(known, "steps_with_failures", looking)
    assert module.run(spark, {}, {"base": str(tmp_path), "dead": str(tmp_path / "letters")})["dead"] == 0
    assert looked == []
