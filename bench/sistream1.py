"""SIStream 1 of the paper on a gigabyte or more: the job of GHCM with and without its optimiser, on a warm session,
beside three programs written by hand with PySpark, in turn, in one run; what they leave is compared.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from bench.table import Row
from bench.turns import Contestant, answer, beside, in_turn
from ghcm.optimizer import PASSES
from ghcm.tables.delta import DeltaTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["measure"]

PROGRAM = Path(__file__).parent / "programs" / "sistream1.istream"
SOURCES, KEYS, FILES = ("a", "b", "c"), 20_000, 4
NAMES = {
    "ghcm": "GHCM on Spark",
    "plain": "GHCM on Spark, not optimised",
    "frame": "PySpark by hand, groupBy and max",
    "sql": "PySpark by hand, SQL",
    "parts": "PySpark by hand, max of each source first",
}


def measure(rows: int, runs: int, names: Collection[str] = NAMES) -> list[Row]:
    """`rows` of all sources together, each of about 22 bytes as they lie in their files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write_events(folder / "in", rows)
        results = in_turn([Contestant(each, _command(each, folder)) for each in names], runs)
        found = {each: left_by(folder / each) for each in names}
    first, *_ = found
    for each, left in found.items():
        if not left.equals(found[first]):
            raise SystemExit(f"{NAMES[each]} gives something else than {NAMES[first]}")
    how = f"{rows:,} rows, {size / 1e9:.2f} GB of Parquet, {KEYS:,} keys, warm, median of {runs} in turn"
    return beside("sistream1", NAMES, results, ["frame", "sql", "parts"], how)


def write_events(folder: Path, rows: int) -> int:
    """Files of each source; the bytes of all."""
    each = rows // len(SOURCES) // FILES
    for place, source in enumerate(SOURCES):
        (folder / source).mkdir(parents=True)
        for number in range(FILES):
            seed = pl.select(pl.int_range(each, dtype=pl.UInt64)).to_series().hash(100 * place + number)
            frame = pl.DataFrame({"seed": seed}).select(
                key=pl.format("key-{}", pl.col("seed") % KEYS),
                value=(pl.col("seed") // 7 % 2**62).cast(pl.Int64),
                note=pl.col("seed").hash(1).cast(pl.String),
            )
            frame.write_parquet(folder / source / f"{number}.parquet")
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def left_by(folder: Path) -> pl.DataFrame:
    """What a contestant's last run has left, by key."""
    table = folder / "out"
    return pl.read_parquet([table / file.name for file in DeltaTable(table).live()]).sort("key")


def _command(name: str, folder: Path) -> list[str]:
    (folder / name).mkdir()
    (folder / name / "in").symlink_to(folder / "in")
    return [sys.executable, "-m", "bench.sistream1", name, str(folder / name)]


def ours(program: Path, unit: str, folder: Path, spark: SparkSession, without: Sequence[str]) -> Callable[[], None]:
    """What runs a unit of the program as GHCM makes it without these passes."""
    from ghcm.driver import build
    from ghcm.runtime.bundle import Bundle

    job = Bundle.open(build(program, folder / f"{program.stem}.ghcm", without=without)).unit_module(unit, "spark")

    def run() -> None:
        job.run(spark, {}, {"call": f"{time.monotonic_ns()}", "base": str(folder), "dead": str(folder / "dead")})

    return run


def _by_hand(folder: Path, spark: SparkSession, way: str) -> Callable[[], None]:
    from pyspark.sql import functions as F

    def sources() -> list[DataFrame]:
        return [spark.read.parquet(f"{folder}/in/{source}") for source in SOURCES]

    def united(parts: list[DataFrame]) -> DataFrame:
        first, *others = parts
        for each in others:
            first = first.unionByName(each)
        return first

    def best(rows: DataFrame) -> DataFrame:
        return rows.groupBy("key").agg(F.max("value").alias("value"))

    def by_sql(rows: DataFrame) -> DataFrame:
        rows.createOrReplaceTempView("events")
        return spark.sql("SELECT key, max(value) AS value FROM events GROUP BY key")

    ways: dict[str, Callable[[], DataFrame]] = {
        "frame": lambda: best(united(sources())),
        "sql": lambda: by_sql(united(sources())),
        "parts": lambda: best(united([best(each) for each in sources()])),
    }
    return lambda: ways[way]().write.mode("overwrite").parquet(f"{folder}/out")


def session(folder: Path) -> SparkSession:
    """A session as the daemon has it."""
    from ghcm.runtime.settings import Settings
    from ghcm.runtime.spark.session import Session

    return Session(Settings().spark, 2, folder).get()


if __name__ == "__main__":
    name, place = sys.argv[1], Path(sys.argv[2])
    spark = session(place)
    without = [each.name for each in PASSES] if name == "plain" else []
    own = name in ("ghcm", "plain")
    answer(ours(PROGRAM, "greatest", place, spark, without) if own else _by_hand(place, spark, name))
