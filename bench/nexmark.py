"""Bids per second of nine queries of NEXMark as streams, from JSON lines and from Parquet, with a snapshot every
second, beside one-shot passes of DuckDB and Polars over the same files with two threads.

Contestants take turns, each in a process of its own, and what they write is compared. The limit is the better pass.
"""

from __future__ import annotations

import gc
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.nexmark_bids import write
from bench.nexmark_peers import READ, by_duckdb, by_polars
from bench.table import Row

__all__ = ["KINDS", "QUERIES", "cpu_s", "measure", "run_own"]

PROGRAMS = Path(__file__).parent / "programs" / "nexmark"
QUERIES = tuple(READ)
KINDS = ("json", "parquet")
_PEERS = ("duckdb", "polars")
_SAME = {
    "q12": "SELECT bidder, sum(bids) FROM found GROUP BY bidder",
    "q17": "SELECT auction, day, bids, bids_1, bids_2, bids_3, least, most, round(mean, 3), total FROM found",
}
"""What is compared of results that are not the same row by row: windows by the clock, and means as they are rounded."""


def measure(events: int, runs: int, queries: Sequence[str] = QUERIES, kinds: Sequence[str] = KINDS) -> list[Row]:
    """The best of so many runs of each. SystemExit where results differ."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bids = write(folder, events)
        rows: list[Row] = []
        for kind in kinds:
            ratios: list[float] = []
            for query in queries:
                best = _best(query, kind, folder, runs)
                limit = min(_PEERS, key=lambda peer: best[peer]["seconds"])
                ratios.append(best[limit]["seconds"] / best["own"]["seconds"])
                rows.append(_row(query, kind, bids, best, limit, runs))
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            rows.append(
                Row("nexmark", f"all, {kind}", f"{mean:.0%} of the limit", f"worst {min(ratios):.0%}", "geometric mean")
            )
        return rows


def _best(query: str, kind: str, folder: Path, runs: int) -> dict[str, dict[str, float]]:
    best: dict[str, dict[str, float]] = {}
    for _ in range(runs):
        for contestant in ("own", *_PEERS):
            found = _turn(contestant, query, kind, folder)
            if contestant not in best or found["seconds"] < best[contestant]["seconds"]:
                best[contestant] = found
        _compare(query, kind, folder)
    return best


def _row(query: str, kind: str, bids: int, best: dict[str, dict[str, float]], limit: str, runs: int) -> Row:
    own = best["own"]
    beside = ", ".join(f"{name} {bids / best[name]['seconds'] / 1e6:.2f}" for name in _PEERS)
    return Row(
        "nexmark",
        f"{query}, {kind}",
        f"{bids / own['seconds'] / 1e6:.2f} million bids/s, {best[limit]['seconds'] / own['seconds']:.0%} of the limit",
        f"{beside}; CPU {own['cpu'] / best[limit]['cpu']:.1f} x that of {limit}",
        f"{bids:,} bids, a snapshot every {own['interval']:.1f} s, best of {runs}",
    )


def _turn(contestant: str, query: str, kind: str, folder: Path) -> dict[str, float]:
    """A contestant in a process of its own; the engine's libraries have the threads that they have in the daemon."""
    from ghcm.runtime.daemon.warm_standby import SLOT

    pools = SLOT if contestant == "own" else {"POLARS_MAX_THREADS": "2"}
    command = [sys.executable, "-m", "bench.nexmark", contestant, query, kind, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **pools})
    if done.returncode:
        raise SystemExit(f"{contestant} has failed in {query}: {done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _compare(query: str, kind: str, folder: Path) -> None:
    """What was written has the same rows, in whatever order."""
    import duckdb
    import polars as pl

    own = pl.read_delta(str(folder / kind / "out"))
    own = own.with_columns(
        [pl.col(name).dt.replace_time_zone(None) for name in ("date_time", "start") if name in own.columns]
    )
    own = own.unnest([name for name in ("key", "value") if name in own.columns])
    own.write_parquet(folder / "own.parquet")
    chosen = _SAME.get(query, f"SELECT {', '.join(own.columns)} FROM found")
    sums: list[tuple[object, ...]] = []
    for name in ("own", "duckdb"):
        connection = duckdb.connect()
        connection.execute(f"CREATE VIEW found AS SELECT * FROM '{folder / f'{name}.parquet'}'")
        sums += connection.execute(f"SELECT count(*), sum(hash(each)) FROM ({chosen}) AS each").fetchall()
    if sums[0] != sums[1]:
        raise SystemExit(f"the results of {query} differ: {sums}")


def _own(query: str, kind: str, folder: Path) -> dict[str, float]:
    home = folder / kind
    source = home / f"{query}.istream"
    source.write_text((PROGRAMS / source.name).read_text().replace("format = json", f"format = {kind}"))
    return run_own(source, home)


def run_own(source: Path, home: Path) -> dict[str, float]:
    """Run a program in a folder that has its files: seconds, also of the processor, and between two snapshots."""
    from ghcm.driver import build
    from ghcm.runtime.bundle import Bundle
    from ghcm.runtime.pubsub.connections import Connections
    from ghcm.runtime.slot.engine import Engine

    shutil.rmtree(home / "out", ignore_errors=True)
    bundle = Bundle.open(build(source, source.with_suffix(".ghcm")))
    with tempfile.TemporaryDirectory() as state:
        engine = Engine(bundle, connections=Connections(home), state=Path(state), tame_collector=True)
        gc.collect()
        gc.freeze()  # as the process does that waits for an engine to start
        start, cpu = time.perf_counter(), cpu_s()
        engine.run()
        seconds, spent = time.perf_counter() - start, cpu_s() - cpu
    versions = len(list((home / "out" / "_delta_log").glob("*.json")))
    return {"seconds": seconds, "cpu": spent, "interval": seconds / max(1, versions - 1)}


def _peer(contestant: str, query: str, kind: str, folder: Path) -> dict[str, float]:
    cpu = cpu_s()
    seconds = (by_duckdb if contestant == "duckdb" else by_polars)(query, kind, folder)
    return {"seconds": seconds, "cpu": cpu_s() - cpu}


def cpu_s() -> float:
    """Seconds that the processors have worked for this process and for those that it has started and that are over."""
    used = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _main(arguments: Iterable[str]) -> None:
    contestant, query, kind, folder = arguments
    run = _own(query, kind, Path(folder)) if contestant == "own" else _peer(contestant, query, kind, Path(folder))
    print(json.dumps(run))


if __name__ == "__main__":
    _main(sys.argv[1:])
