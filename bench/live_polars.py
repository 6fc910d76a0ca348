"""The statistics of `examples/traffic` as one would write them with Polars for a log that is complete."""

from __future__ import annotations

from pathlib import Path

import polars as pl

__all__ = ["statistics"]

_WINDOW = 10_000_000
_BEST = 20
_SUMS = ("flows", "packets", "bytes", "sent")


def statistics(path: Path) -> dict[str, pl.DataFrame]:
    """Throughput, protocol shares, busiest pairs and hosts per ten seconds by the end of connections, and new hosts;
    the window of the last record is left out.
    """
    flows = _flows(path)
    totals = flows.group_by("start").agg(pl.len().alias("flows"), pl.col("packets").sum(), pl.col("bytes").sum())
    of_protocols = flows.group_by("start", "proto").agg(pl.len().alias("flows"), pl.col("bytes").sum())
    share = pl.when(pl.col("all_bytes") > 0).then(pl.col("bytes") / pl.col("all_bytes"))
    protocols = of_protocols.join(totals.select("start", all_bytes="bytes", all_flows="flows"), on="start").select(
        "start", "proto", "flows", "bytes", share=share.otherwise(pl.col("flows") / pl.col("all_flows"))
    )
    pairs = flows.group_by("start", "src", "dst").agg(
        pl.len().cast(pl.Int64).alias("flows"), *(pl.col(name).sum() for name in _SUMS[1:])
    )
    received = pairs.select(
        "start", host="dst", flows="flows", packets="packets", bytes="bytes", sent=pl.col("bytes") - pl.col("sent")
    )
    sides = pl.concat(
        [pairs.select("start", host="src", flows="flows", packets="packets", bytes="bytes", sent="sent"), received]
    )
    hosts = sides.group_by("start", "host").agg(*(pl.col(name).sum() for name in _SUMS))
    found = {
        "throughput": totals,
        "protocols": protocols,
        "pairs": _best(pairs, "src", "dst"),
        "hosts": _best(hosts, "host"),
        "new_hosts": hosts.group_by("host").agg(pl.col("start").min().alias("since")),
    }
    return {name: _timed(frame) for name, frame in found.items()}


def _flows(path: Path) -> pl.DataFrame:
    with path.open() as file:
        lines = [line for _, line in zip(range(16), file, strict=False) if line.startswith("#")]
    names = next(line.split()[1:] for line in lines if line.startswith("#fields"))
    read = pl.scan_csv(
        path, separator="\t", has_header=False, new_columns=names, skip_lines=len(lines), quote_char=None,
        null_values="-", schema_overrides={"ts": pl.Float64, "duration": pl.Float64},
    )  # fmt: skip
    begin, lasts = _micros("ts"), _micros("duration").fill_null(0)
    sent, received = pl.col("orig_bytes").fill_null(0), pl.col("resp_bytes").fill_null(0)
    flows = read.select(
        ((begin + lasts) // _WINDOW * _WINDOW).alias("start"),
        pl.col("proto"),
        pl.col("id.orig_h").alias("src"),
        pl.col("id.resp_h").alias("dst"),
        (pl.col("orig_pkts").fill_null(0) + pl.col("resp_pkts").fill_null(0)).alias("packets"),
        (sent + received).alias("bytes"),
        sent.alias("sent"),
    )
    return flows.filter(pl.col("start") < pl.col("start").max()).collect()


def _micros(name: str) -> pl.Expr:
    return (pl.col(name) * 1e6).round().cast(pl.Int64)


def _best(frame: pl.DataFrame, *names: str) -> pl.DataFrame:
    by = ["bytes", "flows", *names]
    return frame.sort(by, descending=True).group_by("start").head(_BEST)


def _timed(frame: pl.DataFrame) -> pl.DataFrame:
    time = "since" if "since" in frame.columns else "start"
    return frame.with_columns(pl.col(time).cast(pl.Datetime("us", "UTC")))
