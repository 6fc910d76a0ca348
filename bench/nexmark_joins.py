"""Events per second of the queries of NEXMark that join and of its sessions, as streams from JSON lines with a snapshot
every second, beside Flink SQL and one-shot passes of DuckDB and Polars over the same files, all on two cores.

Contestants take turns, each in a process of its own. What ours, DuckDB and Polars write is compared; the limit is the
better pass. What a query reads counts as its events: q3 and q8 read people and auctions, q11 bids.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import polars as pl

from bench import flink_sql
from bench.nexmark import cpu_s, run_own
from bench.table import Row
from tests.conformance.nexmark_events import ANSWERS, write

__all__ = ["QUERIES", "measure"]

PROGRAMS = Path(__file__).parent / "programs" / "nexmark_joins"
OTHERS = Path(__file__).parents[1] / "tests" / "conformance" / "nexmark"
_READS = {
    "q3": ("people", "auctions"),
    "q4": ("auctions", "bids"),
    "q8": ("people", "auctions"),
    "q9": ("auctions", "bids"),
    "q11": ("bids",),
    "q20": ("auctions", "bids"),
}
QUERIES = tuple(_READS)
_SHARES = {"people": 1, "auctions": 3, "bids": 46}
_OF = sum(_SHARES.values())
_PEERS = ("duckdb", "polars")
_TEXT, _NUMBER = pl.String(), pl.Int64()
_TYPES: dict[str, pl.DataType] = {
    **dict.fromkeys(("name", "city", "state", "item", "at", "expires"), _TEXT),
    **dict.fromkeys(("id", "seller", "category", "auction", "bidder", "price"), _NUMBER),
}


def measure(events: int, runs: int, flink: Path | None, queries: Sequence[str] = QUERIES) -> list[Row]:
    """The best of so many runs of each. SystemExit where results differ."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, events)
        rows: list[Row] = []
        ratios: list[float] = []
        for query in queries:
            best = _best(query, folder, runs, flink)
            limit = min(_PEERS, key=lambda peer: best[peer]["seconds"])
            ratios.append(best[limit]["seconds"] / best["own"]["seconds"])
            read = events * sum(_SHARES[each] for each in _READS[query]) // _OF
            rows.append(_row(query, read, best, limit, runs))
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        return [*rows, Row("nexmark_joins", "all", f"{mean:.0%} of the limit", "", "geometric mean")]


def _best(query: str, folder: Path, runs: int, flink: Path | None) -> dict[str, dict[str, float]]:
    best: dict[str, dict[str, float]] = {}
    for _ in range(runs):
        for contestant in ("own", *_PEERS):
            found = _turn(contestant, query, folder)
            if contestant not in best or found["seconds"] < best[contestant]["seconds"]:
                best[contestant] = found
        if flink is not None:
            seconds = flink_sql.run(query, folder, flink)
            best["flink"] = {"seconds": min(seconds, best.get("flink", {"seconds": seconds})["seconds"])}
        _compare(query, folder)
    return best


def _row(query: str, read: int, best: dict[str, dict[str, float]], limit: str, runs: int) -> Row:
    own = best["own"]
    others = [name for name in (*_PEERS, "flink") if name in best]
    beside = ", ".join(f"{name} {read / best[name]['seconds'] / 1e6:.2f}" for name in others)
    ahead = f", {best['flink']['seconds'] / own['seconds']:.1f} x Flink" if "flink" in best else ""
    share = best[limit]["seconds"] / own["seconds"]
    return Row(
        "nexmark_joins",
        query,
        f"{read / own['seconds'] / 1e6:.2f} million events/s, {share:.0%} of the limit{ahead}",
        f"{beside}; CPU {own['cpu'] / best[limit]['cpu']:.1f} x that of {limit}",
        f"{read:,} events, a snapshot every {own['interval']:.1f} s, best of {runs}",
    )


def _turn(contestant: str, query: str, folder: Path) -> dict[str, float]:
    """A contestant in a process of its own; the engine's libraries have the threads that they have in the daemon."""
    from ghcm.runtime.daemon.warm_standby import SLOT

    pools = SLOT if contestant == "own" else {"POLARS_MAX_THREADS": "2"}
    command = [sys.executable, "-m", "bench.nexmark_joins", contestant, query, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **pools})
    if done.returncode:
        raise SystemExit(f"{contestant} has failed in {query}: {done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _compare(query: str, folder: Path) -> None:
    """What was written has the same rows, in whatever order."""
    own = _alike(pl.read_delta(str(folder / "out")))
    for name in _PEERS:
        other = _alike(pl.read_parquet(folder / f"{name}.parquet"))
        if not own.equals(other):
            raise SystemExit(f"the results of {query} differ: {own} of ours, {other} of {name}")


def _alike(frame: pl.DataFrame) -> pl.DataFrame:
    """With columns by their places, moments as microseconds and means as they are rounded, in one order."""
    moments = [pl.col(name).dt.epoch("us") for name, type_ in frame.schema.items() if type_.is_temporal()]
    means = [pl.col(name).round(4) for name, type_ in frame.schema.items() if type_.is_float()]
    frame = frame.with_columns(moments + means)
    frame.columns = [str(place) for place in range(frame.width)]
    return frame.sort(pl.all())


def _by_duckdb(query: str, folder: Path) -> float:
    import duckdb

    start = time.perf_counter()
    connection = duckdb.connect()
    connection.execute("SET threads = 2; SET TimeZone = 'UTC'; SET preserve_insertion_order = false")
    for name in _READS[query]:
        columns = ", ".join(f'"{each}": {_in_duckdb(each)!r}' for each in _columns(name))
        moments = '* EXCLUDE ("at"), "at"::TIMESTAMP AS moment'
        file = folder / f"{name}.jsonl"
        connection.execute(
            f"CREATE VIEW {name} AS SELECT {moments} FROM "
            f"read_json('{file}', format = 'newline_delimited', columns = {{{columns}}})"
        )
    connection.execute(f"COPY ({ANSWERS[query]}) TO '{folder / 'duckdb.parquet'}' (FORMAT parquet)")
    return time.perf_counter() - start


def _columns(name: str) -> Sequence[str]:
    """The columns of a file that some query reads; DuckDB and Polars read of them what theirs needs."""
    return {
        "people": ("id", "name", "city", "state", "at"),
        "auctions": ("id", "item", "at", "expires", "seller", "category"),
        "bids": ("auction", "bidder", "price", "at"),
    }[name]


def _in_duckdb(column: str) -> str:
    if column in ("at", "expires"):
        return "TIMESTAMP"
    return "BIGINT" if _TYPES[column] == _NUMBER else "VARCHAR"


def _by_polars(query: str, folder: Path) -> float:
    start = time.perf_counter()
    _LAZY[query](folder).sink_parquet(folder / "polars.parquet", maintain_order=False)
    return time.perf_counter() - start


def _read(folder: Path, name: str, *columns: str) -> pl.LazyFrame:
    found = pl.scan_ndjson(folder / f"{name}.jsonl", schema={each: _TYPES[each] for each in columns})
    form = "%Y-%m-%dT%H:%M:%S%.6fZ"
    moments = [each for each in ("at", "expires") if each in columns]
    return found.with_columns(pl.col(each).str.to_datetime(form, time_unit="us") for each in moments)


def _local(folder: Path) -> pl.LazyFrame:
    people = _read(folder, "people", "id", "name", "city", "state")
    auctions = _read(folder, "auctions", "id", "seller", "category").filter(pl.col("category") == 10)
    here = people.filter(pl.col("state").is_in(["OR", "ID", "CA"]))
    return auctions.join(here, left_on="seller", right_on="id").select("id", "name", "city", "state")


def _placed(folder: Path) -> pl.LazyFrame:
    auctions = _read(folder, "auctions", "id", "category", "at", "expires").rename({"at": "opened"})
    bids = _read(folder, "bids", "auction", "bidder", "price", "at")
    joined = bids.join(auctions, left_on="auction", right_on="id")
    return joined.filter(pl.col("at").is_between(pl.col("opened"), pl.col("expires")))


def _closed(folder: Path) -> pl.LazyFrame:
    closed = _placed(folder).group_by("auction", "category").agg(pl.col("price").max())
    return closed.group_by("category").agg(pl.col("price").mean())


def _met(folder: Path) -> pl.LazyFrame:
    start = pl.col("at").dt.truncate("10s").alias("start")
    came = _read(folder, "people", "id", "name", "at").select("id", "name", start).unique()
    sold = _read(folder, "auctions", "seller", "at").select("seller", start)
    return came.join(sold, left_on=["id", "start"], right_on=["seller", "start"], how="semi").select(
        "id", "name", "start"
    )


def _won(folder: Path) -> pl.LazyFrame:
    best = _placed(folder).sort("price", "at", "bidder", descending=[True, False, True])
    return best.unique("auction", keep="first", maintain_order=True).select("auction", "bidder", "price", "at")


def _visits(folder: Path) -> pl.LazyFrame:
    bids = _read(folder, "bids", "bidder", "at").sort("bidder", "at")
    other = pl.col("bidder").ne_missing(pl.col("bidder").shift())
    begins = other | (pl.col("at") - pl.col("at").shift() >= pl.duration(seconds=10))
    visits = bids.with_columns(begins.cum_sum().alias("visit")).group_by("bidder", "visit")
    ends = pl.col("at").max() + pl.duration(seconds=10)
    return visits.agg(pl.len().cast(_NUMBER).alias("bids"), pl.col("at").min().alias("start"), ends.alias("end")).drop(
        "visit"
    )


def _of_category(folder: Path) -> pl.LazyFrame:
    auctions = _read(folder, "auctions", "id", "item", "seller", "category").filter(pl.col("category") == 10)
    bids = _read(folder, "bids", "auction", "bidder", "price")
    return bids.join(auctions, left_on="auction", right_on="id").select("auction", "bidder", "price", "item", "seller")


_LAZY: dict[str, Callable[[Path], pl.LazyFrame]] = {
    "q3": _local,
    "q4": _closed,
    "q8": _met,
    "q9": _won,
    "q11": _visits,
    "q20": _of_category,
}


def _own(query: str, folder: Path) -> dict[str, float]:
    source = folder / f"{query}.istream"
    found = next(each / source.name for each in (PROGRAMS, OTHERS) if (each / source.name).exists())
    source.write_text(found.read_text())
    return run_own(source, folder)


def _main(arguments: Iterable[str]) -> None:
    contestant, query, folder = arguments
    if contestant == "own":
        print(json.dumps(_own(query, Path(folder))))
        return
    cpu = cpu_s()
    seconds = (_by_duckdb if contestant == "duckdb" else _by_polars)(query, Path(folder))
    print(json.dumps({"seconds": seconds, "cpu": cpu_s() - cpu}))


if __name__ == "__main__":
    _main(sys.argv[1:])
