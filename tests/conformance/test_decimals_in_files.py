"""Decimals in files: what is read, in which form, what is a dead letter; on every engine as in the reference."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from ghcm.language import parse
from ghcm.lowering import lower
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.reference import run
from tests.conformance.live_runs import Compiled
from tests.conformance.spark_runs import agree
from tests.redis_server import connected
from tests.unit.runtime.small_operators import dead_letters

TEXT = """program t
record R { n: int, d: decimal(38, 20)?, e: decimal(5, 2)?, f: float?, more: list<decimal(5, 2)>? }
sink out = files("out", format = json, mode = append)
responsive batch b { files("a.json", format = json).as(R)
  .map(r => { n: r.n, d: r.d, e: r.e, more: r.more, j: to_json([r]),
                  f: if r.f == 0 then to_string(r.f) else "" }).reply() }
responsive batch c { files("a.csv", format = csv).as(R).reply() }
responsive batch k { files("a.json", format = text).map(l => { n: l.number, r: try(json_to(l.text, R)) }).reply() }
responsive batch p { files("a.parquet", format = parquet).as(R).reply() }
stream s { files("a.json", format = json).as(R)
  .map(r => { n: r.n, d: r.d, e: r.e, more: r.more, f: if r.f == 0 then to_string(r.f) else "" }).to(out) }
"""
NUMBERS = [
    "1.5", "-999.99", "-0.0", "-0.00", "0.0", "0e5", "1.50000000000000000000", "1e2", "1.5E0", "1.005", "1000.0",
    "12.340", "123456789012345678.12345678901234567890", "0.1000000000000000055511151231257827",
    "0." + "0" * 40, "0." + "0" * 37 + "1", "1." + "0" * 38, "12345678901234567890123.5", "100.00", "-0", "1e-400",
    "9007199254740993.5",
]  # fmt: skip
VALUES = [
    '"1.5"', '7', '"1e2"', '" 1"', '"-0.0"', '"0.00000000000000000001"',
    '"123456789012345678.12345678901234567890"', '12345678901234567890123',
    '"1."', '".5"', 'null', '"x"', '"1_0"', '"٣"', '"0012.500"', 'true', '"-999.99"', '"1000"', '1000', '"1.005"',
    *NUMBERS,
]  # fmt: skip


@pytest.fixture(name="program")
def files_of_values(tmp_path: Path) -> Program:
    """The program; its files hold the values in each of the fields."""
    both = [(each, "null") for each in VALUES] + [("null", each) for each in VALUES]
    lines = [f'{{"n": {n}, "d": {d}, "e": {e}}}' for n, (d, e) in enumerate(both)]
    lines += [f'{{"n": 0, "more": [{each}, 1] }}' for each in VALUES]
    lines += [f'{{"n": -0 ,"f":{each}}}' for each in NUMBERS]
    lines += [r'{"n": 1, "f": -0.0, "s": ": -0.0, \\\" [-0.0] \\\\", "f":-0.00 }', '{"n": 2, "f": -0.0', "-0.0"]
    (tmp_path / "a.json").write_text("\n".join(lines) + "\n")
    plain = [each.strip('"') for each in VALUES if each != "null"]
    cells = [(each, "", "") for each in plain] + [("", each, "") for each in plain]
    cells += [("", "", f'"[{each},1]"') for each in NUMBERS]
    text = "".join(f"{n},{d},{e},,{more}\n" for n, (d, e, more) in enumerate(cells))
    (tmp_path / "a.csv").write_text("n,d,e,f,more\n" + text)
    columns = {"n": [1, 2, 3, 4], "d": [0.1, 1e300, 0.30000000000000004, None], "f": [0.1, -0.0, 1.5, None]}
    tables: Any = pq
    tables.write_table(pa.table(columns), tmp_path / "a.parquet")
    return lower(parse(Source("t.istream", TEXT)))


@pytest.mark.slow
def test_what_is_read_as_a_decimal(spark: SparkSession, tmp_path: Path, program: Program) -> None:
    for unit in ("b", "c", "k", "p"):
        agree(spark, program, unit, tmp_path, base=str(tmp_path))


def test_the_native_engine_reads_the_same(tmp_path: Path, program: Program) -> None:
    expected = run(program, "s", base=tmp_path)
    Engine(Compiled(program), connections=connected(tmp_path), state=tmp_path / "state").run()
    rows = sorted(read(program.sink("out"), connected(tmp_path)), key=repr)
    assert rows == sorted(expected.sinks["out"], key=repr)
    assert {Decimal("1.50"), Decimal("-999.99"), Decimal("12.34"), Decimal("100.00")} <= {row[2] for row in rows}
    assert {"", "0.0", "-0.0"} == {row[-1] for row in rows}
    found = sorted(each.input for each in dead_letters(tmp_path, program, "s"))
    assert found == sorted(each.input for each in expected.dead)
