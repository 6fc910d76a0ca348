"""Attack chains from 512,240 alerts: the native engine of GHCM, the Spark job that it writes, on a warm session, and
PySpark and Polars written by hand, in turn, in one run; what they leave is compared.

The alerts are real ones, repeated: ten copies of the 47,876 of ten teams and 33,480 of an eleventh, each over
networks and days of its own.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from bench.table import Row
from bench.turns import Contestant, answer, beside, in_turn
from examples.traffic.cptc import alerts, write_alerts
from ghcm.tables.delta import DeltaTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["measure", "repeated"]

PROGRAM = Path(__file__).parents[1] / "examples" / "traffic" / "traffic.istream"
ALERTS = 512_240
NAMES = {
    "ghcm": "GHCM on Spark",
    "native": "GHCM, native engine",
    "checkpoints": "PySpark by hand, checkpoints",
    "caches": "PySpark by hand, caches",
    "whole": "PySpark by hand, a loop over all",
    "polars": "Polars by hand",
}


def measure(source: Path, runs: int, names: Collection[str] = NAMES) -> list[Row]:
    """`source`: the folder of `alerts_compact.csv.gz`."""
    with tempfile.TemporaryDirectory() as folder:
        write_alerts(repeated(alerts(source), ALERTS), Path(folder) / "alerts")
        results = in_turn([Contestant(name, _command(name, Path(folder), runs)) for name in names], runs)
        chains = {name: left_by(Path(folder) / name) for name in names}
    first, *_ = chains
    for name, rows in chains.items():
        if not rows.equals(chains[first]):
            raise SystemExit(f"{NAMES[name]} has other chains than {NAMES[first]}")
    how = f"{ALERTS:,} alerts, {chains[first].height:,} chains, warm, median of {runs} in turn"
    by_hand = ["checkpoints", "caches", "whole"]
    return beside("scenarios", NAMES, results, by_hand, how)


def repeated(rows: pl.DataFrame, count: int) -> pl.DataFrame:
    """So many alerts: the same again in other networks, a day later each time."""
    copies: list[pl.DataFrame] = []
    for number in range(-(-count // rows.height)):
        ten = [pl.col(name).str.replace_many(networks(number)).alias(name) for name in ("src", "dst")]
        copies.append(rows.with_columns(pl.col("ts") + pl.duration(days=number), *ten))
    return pl.concat(copies).head(count)


def networks(number: int) -> dict[str, str]:
    """The networks of the ten teams, and those that they become."""
    return {f"10.{team}.{part}.": f"10.{team + 10 * number}.{part}." for team in range(1, 11) for part in (0, 99, 254)}


def left_by(folder: Path) -> pl.DataFrame:
    """The chains of a contestant's last run, by id; files of earlier ones may stand beside them."""
    table = folder / "out" / "chains"
    return pl.read_parquet([table / file.name for file in DeltaTable(table).live()]).sort("id")


def _command(name: str, folder: Path, runs: int) -> list[str]:
    """What begins a contestant, in a folder of its own with the alerts."""
    place = folder / name / "out"
    place.mkdir(parents=True)
    (place / "alerts").symlink_to(folder / "alerts")
    return [sys.executable, "-m", "bench.scenarios", name, str(folder / name)]


def _ghcm(folder: Path) -> Callable[[], None]:
    from ghcm.driver import build
    from ghcm.runtime.bundle import Bundle

    unit = Bundle.open(build(PROGRAM, folder / "traffic.ghcm")).unit_module("rebuild", "spark")
    spark = _session(folder)

    def run() -> None:
        context = {"call": f"{time.monotonic_ns()}", "base": str(folder), "dead": str(folder / "dead")}
        unit.run(spark, {}, context)

    return run


def _native(folder: Path) -> Callable[[], None]:
    from ghcm.driver import build
    from ghcm.runtime.bundle import Bundle
    from ghcm.runtime.calls.once import run_once
    from ghcm.runtime.pubsub.connections import Connections

    bundle, connections = Bundle.open(build(PROGRAM, folder / "traffic.ghcm")), Connections(folder)

    def run() -> None:
        outcome = run_once(bundle, "rebuild", connections, folder / "state")
        if outcome.error is not None:
            raise outcome.error

    return run


def _spark(folder: Path, way: str) -> Callable[[], None]:
    from bench.scenarios_in_spark import rebuild

    spark = _session(folder)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    return lambda: rebuild(spark, folder, way)


def _polars(folder: Path) -> Callable[[], None]:
    from bench.scenarios_in_polars import rebuild

    return lambda: rebuild(folder)


def _session(folder: Path) -> SparkSession:
    """A session as the daemon has it, with a heap in which the plans of who caches each round have room."""
    from ghcm.runtime.settings import Spark
    from ghcm.runtime.spark.session import Session

    return Session(Spark(memory="3g"), 2, folder).get()


if __name__ == "__main__":
    name, folder = sys.argv[1], Path(sys.argv[2])
    own = {"ghcm": _ghcm, "native": _native, "polars": _polars}
    answer(own[name](folder) if name in own else _spark(folder, name))
