"""Which texts of files a Spark job checks by group: only those that come whole to groups of their own."""

from __future__ import annotations

import re

import pytest

from ghcm.codegen.spark import generate
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.optimizer import optimise
from ghcm.source import Source

TEXT = """program checks
record Sale {{ shop: string, item: string?, paid: int }}
record Item {{ item: string, kind: string }}
sink old = parquet("old", mode = append, record = Sale)
responsive batch u() {{
  sales = files("sales", format = parquet).as(Sale)
  {pipeline}.reply()
}}
"""
SALES = 'files("sales", format = parquet).as(Sale)'
PAIRS = ".map_to_pair(s => (s.shop, s.paid))"


@pytest.mark.parametrize(
    ("pipeline", "columns"),
    [
        (f"{SALES}{PAIRS}.reduce_by_key((a, b) => a + b)", ["shop"]),
        (f"{SALES}{PAIRS}.group_by_key()", ["shop"]),
        (f"{SALES}.map_to_pair(s => ((1, s.item, s.shop), 1)).count()", ["item, shop"]),
        (f"{SALES}.key_by(s => s.shop).aggregate_by_key(n = count(), most = max(value.paid))", ["shop"]),
        (f"{SALES}.key_by(s => s.shop).aggregate_by_key(n = count(), most = max(value.item))", ["shop"]),
        (f"{SALES}.map_to_pair(s => (s.shop, {{ it: s.shop, paid: s.paid }})).map_values(v => v.it).count()", ["shop"]),
        (f"union({SALES}, {SALES}){PAIRS}.count()", ["shop", "shop"]),
        (f"union({SALES}{PAIRS}, {SALES}.map_to_pair(s => (s.shop, 1))).count()", ["shop", "shop"]),
        (
            f'{SALES}.join(files("items", format = parquet).as(Item), on = (s, i) => s.item == i.item)'
            ".map_to_pair(j => (j.right.kind, j.left.paid)).count()",
            ["item"],
        ),
    ],
)
def test_columns_that_are_checked_by_group(pipeline: str, columns: list[str]) -> None:
    assert left_to_groups(pipeline) == columns


@pytest.mark.parametrize(
    "pipeline",
    [
        pytest.param(f"{SALES}.filter(s => s.paid > 1){PAIRS}.count()", id="a row may be dropped before"),
        pytest.param(f"{SALES}.map_to_pair(s => (s.shop, s.paid * 2)).reduce_by_key((a, b) => a + b)", id="may fail"),
        pytest.param(f"{SALES}.key_by(s => s.shop).aggregate_by_key(n = sum(value.paid * 2))", id="an argument may"),
        pytest.param(f"{SALES}.map_to_pair(s => (upper(s.shop), 1)).count()", id="another key"),
        pytest.param(f"{SALES}.map_to_pair(s => (s.shop, upper(s.shop))).group_by_key()", id="worked on beside"),
        pytest.param(f"{SALES}.key_by(s => s.shop).aggregate_by_key(n = max(upper(value.shop)))", id="by an aggregate"),
        pytest.param(f"{SALES}.map_to_pair(s => (s.paid, s.shop)).group_by_key()", id="in the value"),
        pytest.param(f"{SALES}.flat_map(s => [s, s]){PAIRS}.count()", id="several of one"),
        pytest.param(f"union({SALES}, old.read()){PAIRS}.count()", id="rows from elsewhere"),
        pytest.param(f"union({SALES}{PAIRS}, {SALES}.map_to_pair(s => ("
                     '"x", 1))).count()', id="another key of others"),
        pytest.param(f"{SALES}.distinct(){PAIRS}.count()", id="not alone in the group"),
        pytest.param(f"{SALES}.aggregate(n = count())", id="no key"),
        pytest.param(f"union(sales{PAIRS}, sales{PAIRS}).count()", id="read twice"),
    ],
)  # fmt: skip
def test_columns_that_are_checked_by_row(pipeline: str) -> None:
    assert left_to_groups(pipeline) == []


def left_to_groups(pipeline: str) -> list[str]:
    """The columns of each source that has such, as the job says them."""
    program = optimise(lower(parse(Source("checks.istream", TEXT.format(pipeline=pipeline))))).program
    job = generate(program, program.unit("u"))
    assert ("by_group" in job) == ("with_sound_keys(" in job)
    return [found.replace('"', "") for found in re.findall(r"by_group=\[(.*?)\]", job)]
