"""The queries of NEXMark as one would write them with DuckDB and with Polars for files that are complete; each takes
two threads and writes a Parquet file.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

__all__ = ["by_duckdb", "by_polars"]

_TYPES = {
    "auction": "BIGINT", "bidder": "BIGINT", "price": "BIGINT", "channel": "VARCHAR", "url": "VARCHAR",
    "date_time": "TIMESTAMP", "extra": "VARCHAR",
}  # fmt: skip
READ = {
    "q0": ("auction", "bidder", "price", "date_time", "extra"),
    "q1": ("auction", "bidder", "price", "date_time", "extra"),
    "q2": ("auction", "price"),
    "q5": ("auction", "date_time"),
    "q7": ("auction", "bidder", "price", "date_time", "extra"),
    "q12": ("bidder",),
    "q14": ("auction", "bidder", "price", "date_time", "extra"),
    "q17": ("auction", "price", "date_time"),
    "q22": ("auction", "bidder", "price", "channel", "url"),
}
"""The columns that each query reads."""

_SQL = {
    "q0": "SELECT auction, bidder, price, date_time, extra FROM bids",
    "q1": "SELECT auction, bidder, 0.908::DOUBLE * price AS price, date_time, extra FROM bids",
    "q2": "SELECT auction, price FROM bids WHERE auction % 123 = 0",
    "q5": """WITH counts AS (
        SELECT auction, start, count(*) AS bids FROM (
          SELECT auction, unnest([time_bucket(INTERVAL 2 SECOND, date_time) - INTERVAL 2 SECOND * i
                                  FOR i IN range(5)]) AS start FROM bids)
        GROUP BY ALL)
      SELECT auction, start, bids FROM counts
      JOIN (SELECT start, max(bids) AS bids FROM counts GROUP BY start) USING (start, bids)""",
    "q7": """WITH timed AS (SELECT *, time_bucket(INTERVAL 10 SECOND, date_time) AS start FROM bids)
      SELECT auction, price, bidder, date_time, extra FROM timed
      JOIN (SELECT start, max(price) AS price FROM timed GROUP BY start) USING (start, price)""",
    "q12": "SELECT bidder, count(*) AS bids, TIMESTAMP '2026-01-01' AS start FROM bids GROUP BY bidder",
    "q14": """SELECT auction, bidder, 0.908::DOUBLE * price AS price,
        CASE WHEN hour(date_time) BETWEEN 8 AND 18 THEN 'dayTime'
             WHEN hour(date_time) BETWEEN 7 AND 19 THEN 'otherTime' ELSE 'nightTime' END AS time,
        date_time, extra, length(extra) - length(replace(extra, 'c', '')) AS c_counts
      FROM bids WHERE 0.908::DOUBLE * price > 1000000 AND 0.908::DOUBLE * price < 50000000""",
    "q17": """SELECT auction, strftime(date_time, '%Y-%m-%d') AS day, count(*) AS bids,
        count(*) FILTER (price < 10000) AS bids_1, count(*) FILTER (price >= 10000 AND price < 1000000) AS bids_2,
        count(*) FILTER (price >= 1000000) AS bids_3, min(price) AS least, max(price) AS most, avg(price) AS mean,
        sum(price)::BIGINT AS total FROM bids GROUP BY ALL""",
    "q22": """SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS first,
        split_part(url, '/', 5) AS second, split_part(url, '/', 6) AS third FROM bids""",
}


def by_duckdb(query: str, kind: str, folder: Path) -> float:
    """Seconds."""
    import duckdb

    columns = ", ".join(f"{name}: '{_TYPES[name]}'" for name in READ[query])
    files = str(folder / kind / "bids" / "*")
    read = (
        f"read_json('{files}', format = 'newline_delimited', columns = {{{columns}}})"
        if kind == "json"
        else f"read_parquet('{files}')"
    )
    start = time.perf_counter()
    connection = duckdb.connect()
    connection.execute("SET threads = 2; SET TimeZone = 'UTC'; SET preserve_insertion_order = false")
    named = ", ".join(READ[query]).replace("date_time", "date_time::TIMESTAMP AS date_time")
    connection.execute(f"CREATE VIEW bids AS SELECT {named} FROM {read}")
    connection.execute(f"COPY ({_SQL[query]}) TO '{folder / 'duckdb.parquet'}' (FORMAT parquet)")
    return time.perf_counter() - start


def by_polars(query: str, kind: str, folder: Path) -> float:
    """Seconds. The process has two threads (`POLARS_MAX_THREADS`)."""
    files = folder / kind / "bids"
    start = time.perf_counter()
    if kind == "json":
        types = {name: _dtype(name) for name in READ[query]}
        bids = pl.scan_ndjson(files / "*", schema=types)
        if "date_time" in types:
            form = "%Y-%m-%d %H:%M:%S%.3f"
            bids = bids.with_columns(pl.col("date_time").str.to_datetime(form, time_unit="us", time_zone="UTC"))
    else:
        bids = pl.scan_parquet(files / "*").select(READ[query])
    _LAZY[query](bids).sink_parquet(folder / "polars.parquet", maintain_order=False)
    return time.perf_counter() - start


def _dtype(name: str) -> pl.DataType:
    return pl.Int64() if _TYPES[name] == "BIGINT" else pl.String()


def _hot_items(bids: pl.LazyFrame) -> pl.LazyFrame:
    starts = [(pl.col("date_time").dt.truncate("2s") - pl.duration(seconds=2 * n)) for n in range(5)]
    slices = bids.group_by("auction", pl.col("date_time").dt.truncate("2s")).agg(pl.len().cast(pl.Int64).alias("bids"))
    every = slices.select("auction", "bids", pl.concat_list(starts).alias("start")).explode("start")
    counts = every.group_by("auction", "start").agg(pl.col("bids").sum())
    most = counts.group_by("start").agg(pl.col("bids").max())
    return counts.join(most, on=["start", "bids"]).select("auction", "start", "bids")


def _highest(bids: pl.LazyFrame) -> pl.LazyFrame:
    timed = bids.with_columns(pl.col("date_time").dt.truncate("10s").alias("start"))
    most = timed.group_by("start").agg(pl.col("price").max())
    return timed.join(most, on=["start", "price"]).select("auction", "price", "bidder", "date_time", "extra")


def _middling(bids: pl.LazyFrame) -> pl.LazyFrame:
    price, hour = 0.908 * pl.col("price"), pl.col("date_time").dt.hour()
    night = pl.when((hour <= 6) | (hour >= 20)).then(pl.lit("nightTime")).otherwise(pl.lit("otherTime"))
    return bids.filter((price > 1_000_000) & (price < 50_000_000)).select(
        "auction", "bidder", price.alias("price"),
        pl.when(hour.is_between(8, 18)).then(pl.lit("dayTime")).otherwise(night).alias("time"),
        "date_time", "extra", pl.col("extra").str.count_matches("c", literal=True).cast(pl.Int64).alias("c_counts"),
    )  # fmt: skip


def _statistics(bids: pl.LazyFrame) -> pl.LazyFrame:
    price = pl.col("price")
    low, high = price < 10_000, price >= 1_000_000
    named = {"bids_1": low, "bids_2": ~low & ~high, "bids_3": high}
    return bids.group_by("auction", pl.col("date_time").dt.strftime("%Y-%m-%d").alias("day")).agg(
        pl.len().cast(pl.Int64).alias("bids"), *(each.sum().cast(pl.Int64).alias(name) for name, each in named.items()),
        price.min().alias("least"), price.max().alias("most"), price.mean().alias("mean"), price.sum().alias("total"),
    )  # fmt: skip


def _folders(bids: pl.LazyFrame) -> pl.LazyFrame:
    parts = pl.col("url").str.split("/").list
    named = {"first": 3, "second": 4, "third": 5}
    return bids.select(
        "auction",
        "bidder",
        "price",
        "channel",
        *(parts.get(at, null_on_oob=True).alias(name) for name, at in named.items()),
    )


_LAZY: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "q0": lambda bids: bids,
    "q1": lambda bids: bids.with_columns(0.908 * pl.col("price")),
    "q2": lambda bids: bids.filter(pl.col("auction") % 123 == 0),
    "q5": _hot_items,
    "q7": _highest,
    "q12": lambda bids: bids.group_by("bidder").agg(pl.len().cast(pl.Int64).alias("bids")),
    "q14": _middling,
    "q17": _statistics,
    "q22": _folders,
}
