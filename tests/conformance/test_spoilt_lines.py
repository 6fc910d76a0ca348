"""Lines that are spoilt in every way that the exact reader knows: Spark's own readers take none for what it is not."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.codegen.spark.library.files.spanning import RARE
from ghcm.spg.connectors import Files, Format
from ghcm.types import Struct
from tests.campaigns import times
from tests.conformance.spark_runs import agree
from tests.conformance.test_formats import reading
from tests.laws.spoilt_lines import NESTED, ONE, PLAIN, csv_lines, json_lines, zeek_lines

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("seed", "element"), [(1, PLAIN), (2, NESTED), (3, ONE)])
def test_spoilt_lines_of_json(seed: int, element: Struct, spark: SparkSession, tmp_path: Path) -> None:
    for number in range(times(1)):
        compare(spark, tmp_path, "json", element, json_lines(element, 1500, seed + 10 * number))


def test_spoilt_lines_of_cells(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(times(1)):
        many = csv_lines(PLAIN, 1000, number)
        compare(spark, tmp_path, "csv", PLAIN, many, with_few_quotes(many))
        open_ = [b'"' + line for line in csv_lines(PLAIN, 60, number, spoilt=0.0)]
        closed = csv_lines(PLAIN, 60, number, spoilt=0.0)
        compare(spark, tmp_path, "csv", PLAIN, [closed[0], *chain(*zip(open_[1:], closed[1:], strict=True))])
        compare(spark, tmp_path, "zeek", PLAIN, zeek_lines(PLAIN, 1000, number))


def with_few_quotes(lines: list[bytes]) -> list[bytes]:
    """Those without quotes, and one record of two lines that has some."""
    bare = [line for line in lines if b'"' not in line]
    assert len(bare) > 2 * RARE
    return [*bare, bare[1].rpartition(b",")[0] + b',"two\nlines"']


def compare(spark: SparkSession, folder: Path, format_name: str, element: Struct, *files: list[bytes]) -> None:
    """Spark gives the records and the dead letters of the reference, of each a third at least."""
    for place in folder.glob("in-*"):
        place.unlink()
    for number, lines in enumerate(files):
        (folder / f"in-{number}").write_bytes(b"\n".join(lines) + b"\n")
    found = agree(spark, reading(Files("in-*", Format(format_name)), element), "u", folder)
    assert min(len(found.reply), len(found.dead)) > sum(map(len, files)) // 4
