"""An aggregate behind a union and a join, which the optimiser puts below both: the job of GHCM with and without its
pass `pre-aggregate`, on a warm session, beside what one writes with PySpark, in turn, in one run; what they leave is
compared.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from bench.sistream1 import SOURCES, left_by, ours, session, write_events
from bench.table import Row
from bench.turns import Contestant, answer, beside, in_turn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["measure"]

PROGRAM = Path(__file__).parent / "programs" / "eager.istream"
ACCOUNTS, COUNTRIES = 4_000_000, 200
NAMES = {
    "ghcm": "GHCM on Spark",
    "late": "GHCM on Spark without pre-aggregate",
    "frame": "PySpark by hand, join and groupBy",
}


def measure(rows: int, runs: int, names: Collection[str] = NAMES) -> list[Row]:
    """`rows` events of 20,000 among four million accounts, which Spark does not send to every task."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_events(folder / "in", rows)
        write_accounts(folder / "in" / "accounts")
        results = in_turn([Contestant(each, _command(each, folder)) for each in names], runs)
        found = {each: left_by(folder / each) for each in names}
    first, *_ = found
    for each, left in found.items():
        if not left.equals(found[first].select(left.columns)):
            raise SystemExit(f"{NAMES[each]} gives something else than {NAMES[first]}")
    how = f"{rows:,} events, {ACCOUNTS:,} accounts, {COUNTRIES} countries, warm, median of {runs} in turn"
    return beside("eager", NAMES, results, ["frame"], how)


def write_accounts(folder: Path) -> None:
    """The table of accounts, of which one in two hundred has events."""
    folder.mkdir(parents=True)
    number = pl.int_range(ACCOUNTS, dtype=pl.Int64)
    made = pl.select(
        key=pl.format("key-{}", number),
        country=number.hash(3).mod(COUNTRIES).cast(pl.Int64),
        name=number.hash(5).cast(pl.String),
    )
    made.write_parquet(folder / "0.parquet", row_group_size=250_000)


def _command(name: str, folder: Path) -> list[str]:
    (folder / name).mkdir()
    (folder / name / "in").symlink_to(folder / "in")
    return [sys.executable, "-m", "bench.eager", name, str(folder / name)]


def _by_hand(folder: Path, spark: SparkSession) -> Callable[[], None]:
    from pyspark.sql import functions as F

    def run() -> None:
        events, *others = (spark.read.parquet(f"{folder}/in/{source}") for source in SOURCES)
        for each in others:
            events = events.unionByName(each)
        accounts = spark.read.parquet(f"{folder}/in/accounts")
        totals = F.count("*").alias("events"), F.max("value").alias("most"), F.min("value").alias("least")
        made = events.join(accounts, "key").groupBy(F.col("country").alias("key")).agg(*totals)
        made.write.mode("overwrite").parquet(f"{folder}/out")

    return run


if __name__ == "__main__":
    name, place = sys.argv[1], Path(sys.argv[2])
    spark = session(place)
    without = ("pre-aggregate",) if name == "late" else ()
    own = name in ("ghcm", "late")
    answer(ours(PROGRAM, "countries", place, spark, without) if own else _by_hand(place, spark))
