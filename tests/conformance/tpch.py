"""The 22 queries of TPC-H in IStream (`examples/tpch`), on the native engine and on Spark, beside DuckDB's answers to
the SQL of `tpch.sql`. All rows are compared, in their order, decimals as decimals.

python -m tests.conformance.tpch --scale 0.1        checks all of them, and prints how long each took on each
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb
import polars as pl

from examples.tpch.generate import tables, write
from ghcm.driver import build
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.pubsub.cache import START, MessageCache, cache_topic
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State
from ghcm.runtime.slot.engine import Engine
from ghcm.spg.graph import Unit
from ghcm.spg.ops import To
from ghcm.tables.delta import DeltaTable
from tests.redis_server import connected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["PROGRAM", "answers", "compiled", "differences", "lay_out", "run_natively", "run_on_spark", "statements"]

PROGRAM = Path(__file__).parents[2] / "examples" / "tpch" / "tpch.istream"
SQL = Path(__file__).with_name("tpch.sql")

Rows: TypeAlias = list[dict[str, Any]]
Seconds: TypeAlias = dict[str, float]


def statements() -> dict[str, str]:
    """The SQL of each query by the name of its unit."""
    texts = SQL.read_text(encoding="utf-8").split("-- ")[1:]
    return {name: text.strip() for name, _, text in (each.partition("\n") for each in texts)}


def lay_out(folder: Path, scale: float) -> None:
    """The eight tables where the program looks for them."""
    write(tables(scale), folder / "data")


def compiled(folder: Path) -> Bundle:
    """The program of examples/tpch as a bundle in the folder, for both engines."""
    return Bundle.open(build(PROGRAM, folder / "tpch.ghcm"), cache=folder / "bundles")


def answers(folder: Path) -> tuple[dict[str, Rows], Seconds]:
    """What DuckDB gives for each query, and how long it takes."""
    found, took = dict[str, Rows](), Seconds()
    with duckdb.connect() as database:
        for path in (folder / "data").iterdir():
            database.execute(f"CREATE VIEW {path.stem} AS FROM '{path}'")
        for name, text in statements().items():
            with timed(took, name):
                rows = database.execute(text).fetchall()
            names = [column[0] for column in database.description or []]
            found[name] = [dict(zip(names, row, strict=True)) for row in rows]
    return found, took


def run_natively(bundle: Bundle, folder: Path) -> Seconds:
    """Call each unit on the native engine, one after the other, as the daemon does; how long each took."""
    took, store, connections = Seconds(), open_store(folder / "jobs.sqlite"), connected(folder)
    with Engine(bundle, connections=connections, state=folder / "state", serve=True, calls=store.calls):
        for unit in bundle.plan.units:
            cache = connections.cache(cache_topic("tpch", unit.name), "tpch", "test")
            with timed(took, unit.name):
                cache.send(Instruction(unit.name, "tpch", unit.name, {}, reply=f"reply-{unit.name}"))
                answer = final(cache, f"reply-{unit.name}")
            cache.close()
            assert (answer.state, answer.engine, answer.detail) == (State.DONE, "native", ""), answer
    return took


def final(cache: MessageCache, address: str) -> Feedback:
    """The last word to a call."""
    position = START
    while told := cache.feedback(address, position, timeout=300):
        position = told[-1].position
        if told[-1].feedback.final:
            return told[-1].feedback
    raise AssertionError(f"nothing came to {address}")


def run_on_spark(spark: SparkSession, bundle: Bundle, folder: Path, units: Sequence[str]) -> Seconds:
    """Run the jobs of these units in one session; how long each took."""
    took = Seconds()
    for name in units:
        context = {"call": name, "base": str(folder), "dead": str(folder / "dead" / name)}
        job = bundle.unit_module(name, "spark")
        with timed(took, name):
            done = job.run(spark, {}, context)
        assert done["dead"] == 0
    return took


@contextmanager
def timed(took: Seconds, name: str) -> Generator[None]:
    """Note the seconds until the end of the block."""
    begun = time.perf_counter()
    yield
    took[name] = time.perf_counter() - begun


def differences(bundle: Bundle, folder: Path, expected: Mapping[str, Rows]) -> dict[str, str]:
    """What the sinks in the folder hold otherwise than expected, by unit."""
    found = dict[str, str]()
    for name, wanted in expected.items():
        rows = left_by(bundle.plan.unit(name), folder)
        if rows != wanted:
            pairs = [f"expected {one}, found {other}" for one, other in zip(wanted, rows, strict=False) if one != other]
            found[name] = "\n".join([f"{len(rows)} rows of {len(wanted)}", *pairs[:3]])
    return found


def left_by(unit: Unit, folder: Path) -> Rows:
    """The rows of the unit's sink in their order."""
    (sink,) = [task.op.sink for task in unit.tasks if isinstance(task.op, To)]
    table = folder / "out" / sink
    return pl.read_parquet([table / file.name for file in DeltaTable(table).live()]).to_dicts()


def main() -> None:
    """Check all queries at a scale, and print the seconds of each."""
    from tests.conformance.spark_runs import start_spark

    parser = argparse.ArgumentParser(description="The queries of TPC-H on both engines, beside DuckDB.")
    parser.add_argument("--scale", type=float, default=0.1)
    scale = parser.parse_args().scale
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay_out(folder, scale)
        bundle, (expected, _) = compiled(folder), answers(folder)
        of_duckdb = answers(folder)[1]  # the second time, with warm files
        natively = run_natively(bundle, folder)
        differ = {f"{unit}, native": what for unit, what in differences(bundle, folder, expected).items()}
        on_spark = run_on_spark(start_spark(), bundle, folder, [*expected])
        differ |= {f"{unit}, spark": what for unit, what in differences(bundle, folder, expected).items()}
    print(f"{'':24}{'rows':>6}{'native':>10}{'spark':>10}{'duckdb':>10}")
    for unit, rows in expected.items():
        print(f"{unit:24}{len(rows):6}{natively[unit]:10.2f}{on_spark[unit]:10.2f}{of_duckdb[unit]:10.2f}")
    for where, what in differ.items():
        print(f"{where}: {what}")
    print(f"scale {scale}: {2 * len(expected) - len(differ)} of {2 * len(expected)} results are DuckDB's")
    raise SystemExit(1 if differ else 0)


if __name__ == "__main__":
    main()
