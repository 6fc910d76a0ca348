"""Texts of Parquet files that are not UTF-8, in keys: Spark looks at each group once, and every row is told of."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.conformance.spark_runs import agree
from tests.conformance.test_door_plans import plan_of
from tests.conformance.test_spark_places import program

pytestmark = pytest.mark.slow

ODD, MOST = b"\xff", 2**62


def write(path: Path, *rows: tuple[bytes | None, bytes | None, int, bytes | None]) -> None:
    """The rows as a file, whose texts are these bytes."""
    arrow: Any = pa
    parquet: Any = pq
    shop, item, paid, note = zip(*rows, strict=True)
    texts = {
        name: arrow.array(values, arrow.binary()).view(arrow.string())
        for name, values in (("shop", shop), ("item", item), ("note", note))
    }
    parquet.write_table(arrow.table({**texts, "paid": paid}), path)


def test_each_row_of_an_odd_group_is_a_dead_letter_and_no_group_is_made(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "a", (b"a", b"x", 1, None), (ODD, b"x", MOST, None), (ODD, b"x", MOST, b"n"), (ODD, None, 1, ODD))
    write(tmp_path / "b", (b"a", ODD, 1, None), (b"b", None, 3, ODD), (b"a", b"x", 2, b""), (b"b", None, MOST, b"n"))
    write(tmp_path / "c", (b"a", b"x", 4, None))
    sources = ", ".join(f'files("{name}", format = parquet).as(Sale)' for name in "abc")
    text = "record Sale { shop: string, item: string?, paid: int, note: string? }\nresponsive batch u() {\n"
    text += (
        f"  union({sources}).map_to_pair(s => ((s.item, s.shop), s.paid)).reduce_by_key((a, b) => a + b).reply()\n}}\n"
    )
    found = agree(spark, program(tmp_path, text), "u", tmp_path)
    sums = [{"key": {"_1": None, "_2": "b"}, "value": MOST}, {"key": {"_1": "x", "_2": "a"}, "value": 7}]
    assert sorted(found.reply, key=str) == sorted(sums, key=str)
    assert Counter(found.dead) == {("reply/files", "bad_record", ""): 3, ("reply/files~2", "bad_record", ""): 2}


def test_keys_are_looked_at_behind_their_groups(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "a", (b"a", b"x", 1, None))
    source = 'files("a", format = parquet).as(Sold)'
    text = f"record Sold {{ shop: string, paid: int }}\nresponsive batch u() {{\n  union({source}, {source})"
    text += ".map_to_pair(s => (s.shop, s.paid)).reduce_by_key((a, b) => a + b).reply()\n}\n"
    lines = plan_of(text, spark, tmp_path).splitlines()
    checks, groups = ([at for at, line in enumerate(lines) if each in line] for each in ("isValid", "HashAggregate"))
    assert len(checks) == 1 and checks[0] < groups[0], "\n".join(lines)
