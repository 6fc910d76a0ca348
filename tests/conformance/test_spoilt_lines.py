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
from tests.conformance.spark_runs import Outcome, agree
from tests.conformance.test_formats import reading
from tests.laws.spoilt_lines import NESTED, ONE, PLAIN, TWINS, csv_lines, json_lines, zeek_lines

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("seed", "element", "sound"), [(1, PLAIN, 32), (2, NESTED, 0), (3, ONE, 32), (4, PLAIN, 0)])
def test_spoilt_lines_of_json(seed: int, element: Struct, sound: int, spark: SparkSession, tmp_path: Path) -> None:
    """By the tokens of flat records where the first lines are `sound`, else by Spark's parser."""
    for number in range(times(1)):
        head = json_lines(element, sound, seed + 10 * number, spoilt=0.0)
        lines = json_lines(element, 1500 if sound else 700, seed + 10 * number)
        compare(spark, tmp_path, "json", element, [*head, *lines])


def test_lines_of_json_whose_keys_stand_in_another_order(spark: SparkSession, tmp_path: Path) -> None:
    """In the first lines they stand backwards, one that may be missing is; later lines have them as they like."""
    backwards = Struct(tuple(field for field in reversed(TWINS.fields) if field.name != "via"))
    odd = [b"[" * 5000, b'{"\\ud800":1,"\\"":2}', b'{"first":1,"high":-0,"low":-0,"sent":-0,"to":"a","from":"b"}']
    sound = json_lines(backwards, 40, 5, spoilt=0.0)
    first = [*odd, *sound, *json_lines(backwards, 200, 6), *json_lines(TWINS, 300, 7)]
    last = [b"\xef\xbb\xbf" + line for line in json_lines(TWINS, 40, 8, spoilt=0.0)]
    found = compare(spark, tmp_path, "json", TWINS, first, [line.rstrip() + b"\r" for line in (*first, *last)])
    assert "-0.0" not in str(found.reply)


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


def compare(spark: SparkSession, folder: Path, format_name: str, element: Struct, *files: list[bytes]) -> Outcome:
    """Spark gives the records and the dead letters of the reference, of each a third at least."""
    for place in folder.glob("in-*"):
        place.unlink()
    for number, lines in enumerate(files):
        (folder / f"in-{number}").write_bytes(b"\n".join(lines) + b"\n")
    found = agree(spark, reading(Files("in-*", Format(format_name)), element), "u", folder)
    assert min(len(found.reply), len(found.dead)) > sum(map(len, files)) // 4
    return found
