"""Decimals in files: what is read, in which form, and what becomes a dead letter, on Spark as in the reference."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.language import parse
from ghcm.lowering import lower
from ghcm.source import Source
from tests.conformance.spark_runs import agree

TEXT = """program t
record R { n: int, d: decimal(38, 20)?, e: decimal(5, 2)? }
responsive batch b { files("a.json", format = json).as(R)
  .map(r => { n: r.n, d: r.d, e: r.e, j: to_json([r]) }).reply() }
responsive batch c { files("a.csv", format = csv).as(R).reply() }
"""
VALUES = [
    '"1.5"', '7', '"1e2"', '" 1"', '"-0.0"', '"0.00000000000000000001"',
    '"123456789012345678.12345678901234567890"', '12345678901234567890123',
    '"1."', '".5"', 'null', '"x"', '"1_0"', '"٣"', '"0012.500"', 'true', '"-999.99"', '"1000"', '1000', '"1.005"',
]  # fmt: skip


@pytest.mark.slow
def test_what_is_read_as_a_decimal(spark: SparkSession, tmp_path: Path) -> None:
    both = [(each, "null") for each in VALUES] + [("null", each) for each in VALUES]
    lines = [f'{{"n": {n}, "d": {d}, "e": {e}}}\n' for n, (d, e) in enumerate(both)]
    (tmp_path / "a.json").write_text("".join(lines))
    plain = [each.strip('"') for each in VALUES if each != "null"]
    cells = [(each, "") for each in plain] + [("", each) for each in plain]
    (tmp_path / "a.csv").write_text("n,d,e\n" + "".join(f"{n},{d},{e}\n" for n, (d, e) in enumerate(cells)))
    program = lower(parse(Source("t.istream", TEXT)))
    for unit in ("b", "c"):
        agree(spark, program, unit, tmp_path, base=str(tmp_path))
