"""WordCount on real books equals an independent count, as a stream unit and as a batch unit."""

import gzip
import re
from collections import Counter
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from ghcm.driver import build
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from tests.redis_server import connected

PROGRAM = """program books

sink live = parquet("live", mode = append)
sink late = parquet("late", mode = replace)

stream count_live {{
  files("{books}/*.txt.gz", format = text)
    .flat_map(line => extract_all(lower(line.text), "[a-z]+"))
    .map_to_pair(word => (word, 1)).reduce_by_key((a, b) => a + b).to(live)
}}

batch count_late {{
  files("{books}/*.txt.gz", format = text)
    .flat_map(line => extract_all(lower(line.text), "[a-z]+"))
    .map_to_pair(word => (word, 1)).reduce_by_key((a, b) => a + b).to(late)
}}
"""


@pytest.fixture(scope="module")
def expected(shared: Path) -> Counter[str]:
    counts = Counter[str]()
    for path in sorted((shared / "data/text_gutenberg").glob("*.txt.gz")):
        counts.update(re.findall("[a-z]+", gzip.decompress(path.read_bytes()).decode("utf-8").lower(), re.ASCII))
    return counts


@pytest.fixture
def bundle(shared: Path, tmp_path: Path) -> Bundle:
    program = tmp_path / "books.istream"
    program.write_text(PROGRAM.format(books=shared / "data/text_gutenberg"))
    return Bundle.open(build(program, tmp_path / "books.ghcm"))


def test_the_stream_counts_what_is_there(bundle: Bundle, expected: Counter[str], tmp_path: Path) -> None:
    connections = connected(tmp_path)
    Engine(bundle, connections=connections, state=tmp_path / "state").run()
    assert dict(cast("list[tuple[str, int]]", list(read(bundle.plan.sink("live"), connections)))) == expected
    assert expected.total() > 1_500_000


def test_the_spark_job_counts_what_is_there(
    bundle: Bundle, expected: Counter[str], tmp_path: Path, spark: SparkSession
) -> None:
    context = {"call": "books", "base": str(tmp_path), "dead": str(tmp_path / "dead")}
    result = bundle.unit_module("count_late", "spark").run(spark, {}, context)
    assert result["dead"] == 0
    assert dict(cast("list[tuple[str, int]]", list(read(bundle.plan.sink("late"), connected(tmp_path))))) == expected
