"""Twelve row operators in a row, most of which may fail: the chain that GHCM writes, beside the same by hand with the
same checks. Natively over the same batches in one process; on Spark over the same file on one warm session, in turn.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import polars as pl

from bench.table import Row
from ghcm import driver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["measure"]

PROGRAM = Path(__file__).parent / "programs" / "chains.istream"
RECORDS = 5_000_000
BATCHES = (16_384, 131_072)
_LIMIT = 2**63 - 1


def measure(runs: int) -> list[Row]:
    """The native form by batch sizes, then Spark."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        readings(RECORDS).write_parquet(_table(folder) / "part-0.parquet", row_group_size=500_000)
        rows = [row for size in BATCHES for row in natively(readings(2_000_000), size, runs)]
        command = [sys.executable, "-m", "bench.chains", str(folder), str(runs + 1)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    own = min(seconds["GHCM on Spark"])
    how = f"{RECORDS:,} records, warm, CPU time of the JVM, best of {runs}"
    return rows + [
        Row("chains", name, f"{min(each):.1f} s", f"{min(each) / own:.2f} x its time", how)
        for name, each in seconds.items()
    ]


def readings(count: int) -> pl.DataFrame:
    """So many records, none of which fails; the same each time."""
    number = pl.int_range(count, dtype=pl.Int64)
    mixed = number.hash(7)
    return pl.select(
        id=number,
        device=(mixed % 200).cast(pl.String),
        value=(mixed // 200 % 5050).cast(pl.Int64) - 50,
        scale=(mixed // 2_000_000 % 49).cast(pl.Int64) + 1,
        level=(mixed // 300_000_000 % 100_000).cast(pl.Float64) / 10_000,
        text=(mixed // 50_000_000 % 100_000).cast(pl.String),
    )


def _table(folder: Path) -> Path:
    (folder / "readings").mkdir()
    return folder / "readings"


# --- natively --------------------------------------------------------------------------------------------------------


def natively(frame: pl.DataFrame, size: int, runs: int) -> list[Row]:
    """The chain in columns over batches of so many records, and the pass by hand; what they give is compared."""
    module = ModuleType("chain")
    sys.modules[module.__name__] = module
    exec(driver.compile(PROGRAM).code["native/chain.py"], module.__dict__)
    batches = [frame.slice(start, size) for start in range(0, frame.height, size)]
    passes: dict[str, Callable[[pl.DataFrame], pl.DataFrame | None]] = {
        "GHCM in columns": lambda batch: module.totals_map_to_pair_columns(batch, {}),
        "Polars by hand": by_hand,
    }
    best = dict.fromkeys(passes, float("inf"))
    given: dict[str, list[pl.DataFrame | None]] = {}
    for _ in range(runs + 1):
        for name, run in passes.items():
            start = time.process_time()
            given[name] = [run(batch) for batch in batches]
            best[name] = min(best[name], time.process_time() - start)
    one, other = (pl.concat([part for part in parts if part is not None]) for parts in given.values())
    if not one.equals(other):
        raise SystemExit("the chains differ")
    own = best["GHCM in columns"]
    return [
        Row(
            "chains",
            f"{name}, batches of {size:,}",
            f"{frame.height / seconds / 1e6:.1f} million records per CPU second",
            f"{seconds / own:.2f} x its time",
            f"{frame.height:,} records, best of {runs}",
        )
        for name, seconds in best.items()
    ]


def by_hand(frame: pl.DataFrame) -> pl.DataFrame | None:
    """The same pass with the same checks, as one writes it: None where a record fails."""
    value, scale, text = pl.col("value"), pl.col("scale"), pl.col("text")
    code = text.cast(pl.Int64, strict=False)
    query = (
        frame.lazy()
        .filter(value > 0)
        .with_columns(
            ratio=value.cast(pl.Float64) / scale.cast(pl.Float64),
            code=code,
            value=value * 3,
            bad=(scale == 0) | code.is_null() | ~text.str.contains(r"\A[+-]?[0-9]+\z") | (value.abs() > _LIMIT // 3),
        )
        .filter((pl.col("ratio") < 1000.0) | pl.col("bad"))
        .with_columns(
            value=value + pl.col("code"),
            level=pl.col("level") * pl.col("ratio"),
            bad=pl.col("bad") | _sum_leaves(value, pl.col("code")),
        )
        .filter((value % 7 != 0) | pl.col("bad"))
        .with_columns(
            code=pl.col("code") // (value + 1),
            ratio=pl.col("ratio") + pl.col("level"),
            bad=pl.col("bad") | (value == _LIMIT) | (value == -1) | ((pl.col("code") == -_LIMIT - 1) & (value == -2)),
        )
        .filter((pl.col("code") < 1000) | pl.col("bad"))
        .with_columns(part=value * value, level=pl.col("level") / (pl.col("ratio") + 1.0))
        .with_columns(
            value=pl.col("part") - pl.col("id"),
            bad=pl.col("bad")
            | (value.abs() > 3_037_000_499)
            | _sum_leaves(pl.col("part"), -pl.col("id"))
            | (pl.col("ratio") + 1.0 == 0),
        )
        .filter((pl.col("level") < 100_000.0) & (value > -1_000_000) | pl.col("bad"))
        .with_columns(
            points=value + pl.col("code") * 2,
            bad=pl.col("bad")
            | (pl.col("code").abs() > _LIMIT // 2)
            | _sum_leaves(value, pl.col("code") * 2)
            | (pl.col("ratio") + 2.0 == 0),
        )
        .filter((pl.col("points") != 17) | pl.col("bad"))
        .select(pl.col("device").alias("key"), (pl.col("points") // 3).alias("value"), "bad")
    )
    made = query.collect()
    return None if made.get_column("bad").any() else made.drop("bad")


def _sum_leaves(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    total = left + right
    return ((left ^ total) & (right ^ total)) < 0


# --- Spark -----------------------------------------------------------------------------------------------------------


def _on_spark(folder: Path, runs: int) -> dict[str, list[float]]:
    from ghcm.runtime.bundle import Bundle
    from ghcm.runtime.settings import Settings
    from ghcm.runtime.spark.session import Session

    unit: Any = Bundle.open(driver.build(PROGRAM, folder / "chains.ghcm")).unit_module("chain", "spark")
    spark = Session(Settings().spark, 2, folder).get()

    def ours() -> None:
        context = {"call": f"{time.monotonic_ns()}", "base": str(folder), "dead": str(folder / "dead")}
        unit.run(spark, {}, context)

    contestants: dict[str, Callable[[], object]] = {
        "GHCM on Spark": ours,
        "PySpark by hand": lambda: spark_by_hand(spark, folder),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(runs):
        for name, run in contestants.items():
            start = _cpu(spark)
            run()
            seconds[name].append(_cpu(spark) - start)
    return {name: each[1:] for name, each in seconds.items()}


def _cpu(spark: SparkSession) -> float:
    """Seconds of CPU time that the JVM has taken."""
    java: Any = spark._jvm  # pyright: ignore[reportPrivateUsage]
    ticks = Path(f"/proc/{java.java.lang.ProcessHandle.current().pid()}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(ticks[11]) + int(ticks[12])) / 100


def spark_by_hand(spark: SparkSession, folder: Path) -> None:
    """The same job as one writes it: failing rows are kept apart by a column of their own, and counted."""
    functions: Any = import_module("pyspark.sql.functions")
    observation: Any = import_module("pyspark.sql").Observation()
    rows = _spark_chain(spark.read.parquet(str(folder / "readings")))
    made = rows.observe(observation, functions.expr("count_if(bad)")).where("NOT bad")
    totals = made.groupBy("key").agg(
        functions.expr("count(1)"), functions.expr("max(value)"), functions.expr("min(value)")
    )
    totals.write.mode("overwrite").parquet(str(folder / "by_hand"))
    if next(iter(observation.get.values())):
        raise SystemExit("a record fails")


def _spark_chain(rows: DataFrame) -> DataFrame:
    return (
        rows.where("value > 0")
        .selectExpr("id", "device", "level", "try_multiply(value, 3L) AS value", "value / scale AS ratio",
                    "try_cast(text AS bigint) AS code", "scale = 0 OR NOT text RLIKE '^[+-]?[0-9]+$' AS bad")
        .where("bad OR ratio < 1000")
        .selectExpr("id", "device", "try_add(value, code) AS value", "level * ratio AS level", "ratio", "code",
                    "bad OR code IS NULL OR value IS NULL AS bad")
        .where("bad OR pmod(value, 7) != 0")
        .selectExpr("id", "device", "value", "level", "ratio + level AS ratio", "floor(code / (value + 1)) AS code",
                    "bad OR value IS NULL OR try_add(value, 1L) IS NULL OR value = -1 AS bad")
        .where("bad OR code < 1000")
        .selectExpr("id", "device", "try_subtract(try_multiply(value, value), id) AS value",
                    "level / (ratio + 1) AS level", "ratio", "code", "bad OR ratio + 1 = 0 AS bad")
        .where("bad OR value IS NULL OR (level < 100000 AND value > -1000000)")
        .selectExpr("device AS key", "try_add(value, try_multiply(code, 2L)) AS points", "bad OR ratio + 2 = 0 AS bad")
        .where("bad OR points IS NULL OR points != 17")
        .selectExpr("key", "floor(points / 3) AS value", "bad OR points IS NULL AS bad")
    )  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(_on_spark(Path(sys.argv[1]), int(sys.argv[2]))))
