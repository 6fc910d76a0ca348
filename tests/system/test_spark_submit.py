"""Spark jobs of bundles as users of Spark run them: by plain `spark-submit`, where there is no `ghcm` at all."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars
import pytest

from ghcm import driver as compiler
from ghcm.spg import reference
from ghcm.spg.connectors import Kafka
from ghcm.spg.ops import Source
from tests.kafka_server import kafka, messages, new_topic
from tests.system.elsewhere import Elsewhere, make_elsewhere

pytestmark = [pytest.mark.slow, pytest.mark.system]

PROGRAM = """program sales

record Sale { shop: string, amount: int }
record Told { shop: string, amount: int, ghcm: bool }

sink totals = parquet("out/totals", mode = replace)
sink sent   = kafka("sales.sent", key = t => t.key, delivery = at_least_once)

responsive batch add_up(least: int = 0) {
  told = kafka("sales.submitted", until = latest).as(Sale)
  sales = files("sales.json", format = json).as(Sale).union(told).filter(s => 60 // s.amount >= least)
  sums = sales.map_to_pair(s => (s.shop, s.amount)).reduce_by_key((a, b) => a + b)
  sums.to(totals)
  sums.to(sent)
  sales.python("telling:tell"): Told.reply()
}
"""
TELLING = """from importlib.util import find_spec


def tell(sale):
    return {"shop": sale.shop, "amount": sale.amount, "ghcm": find_spec("ghcm") is not None}
"""
SALES = [("a", 3), ("b", 5), ("c", 0), ("d", 60), ("é😀", 1)]
TOLD = b'{"shop": "a", "amount": 4}'


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    return make_elsewhere(tmp_path_factory.mktemp("elsewhere"))


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """The folder of an unpacked bundle, with what it reads beside it."""
    (tmp_path / "sales.istream").write_text(PROGRAM)
    (tmp_path / "telling.py").write_text(TELLING)
    lines = [json.dumps({"shop": shop, "amount": amount}) for shop, amount in SALES]
    (tmp_path / "sales.json").write_text("\n".join([*lines, "no record"]) + "\n")
    with zipfile.ZipFile(compiler.build(tmp_path / "sales.istream")) as archive:
        archive.extractall(tmp_path / "opened")
    return tmp_path / "opened"


def submit(elsewhere: Elsewhere, job: Path, *words: str | Path) -> Any:
    """What the job prints as its result, run by the `spark-submit` of PySpark with a Kafka and its password."""
    spark_submit = elsewhere.packages / "pyspark" / "bin" / "spark-submit"
    options = ["--master", "local[2]", "--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"]
    options += ["--py-files", str(job.parent / "ghcm_spark.zip")]
    told = replace(elsewhere, environment={**elsewhere.environment, **kafka().variables()})
    done = told.run(spark_submit, *options, job, *words, cwd=job.parent)
    assert done.returncode == 0, done.stderr[-4000:]
    assert kafka().password.get_secret_value() not in done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_job_needs_no_ghcm_and_says_what_the_reference_says(elsewhere: Elsewhere, bundle: Path) -> None:
    assert elsewhere.cannot_import("ghcm")
    new_topic([TOLD], [], name="sales.submitted")
    new_topic([], name="sales.sent")
    home, job = bundle.parent, bundle / "spark" / "add_up.py"
    options: list[str | Path] = [
        "--parameters",
        '{"least": 2}',
        "--base",
        home,
        "--dead",
        home / "dead",
        "--call",
        "first",
    ]
    result = submit(elsewhere, job, *options)
    assert result["sinks"] == {"totals": {"version": "first", "rows": 3}, "sent": {"version": "first", "rows": 3}}
    assert sorted((row["shop"], row["amount"], row["ghcm"]) for row in result["reply"]) == [
        ("a", 3, False),
        ("a", 4, False),
        ("b", 5, False),
        ("é😀", 1, False),
    ]
    sums = [("a", 7), ("b", 5), ("é😀", 1)]
    assert totals(home) == sums
    sent = [(0, shop.encode(), f'{{"key":"{shop}","value":{amount}}}'.encode(), None) for shop, amount in sums]
    assert messages("sales.sent") == [sorted(sent, key=repr)]
    letters = [json.loads(line) for path in (home / "dead").glob("part-*") for line in path.read_text().splitlines()]
    program = compiler.check(home / "sales.istream")
    (told,) = (
        task.id
        for task in program.unit("add_up").tasks
        if isinstance(task.op, Source) and isinstance(task.op.connector, Kafka)
    )
    inputs = {told: {"sales.submitted/0": TOLD}}
    expected = reference.run(program, "add_up", parameters={"least": 2}, base=home, inputs=inputs)
    assert sorted((each["task"], each["reason"], each["input"]) for each in letters) == sorted(
        (each.task, each.reason.value, each.input) for each in expected.dead
    )
    assert result["dead"] == len(letters) == 2


def totals(home: Path) -> list[tuple[object, ...]]:
    """What the sink holds, read as anybody would."""
    return polars.read_delta(str(home / "out" / "totals")).sort("key").rows()
