"""The alerts of the Collegiate Penetration Testing Competition of 2017, as the program keeps alerts.

Ten teams attacked ten copies of one network, all with the same addresses. Here each has its own: `10.0.x.y` of team 4
becomes `10.4.x.y`.  python cptc.py FOLDER out/alerts
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

__all__ = ["alerts", "write_alerts"]


def alerts(folder: Path) -> pl.DataFrame:
    """All of `alerts_compact.csv.gz`, in the order of time."""
    lines = pl.read_csv(folder / "alerts_compact.csv.gz", infer_schema=False)
    return lines.select(
        pl.col("timestamp").str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%z", time_unit="us", time_zone="UTC").alias("ts"),
        _of_team("src_ip").alias("src"),
        _of_team("dest_ip").alias("dst"),
        pl.col("dest_port").cast(pl.Int64).fill_null(0).alias("port"),
        "signature",
        "category",
        pl.col("severity").cast(pl.Int64),
        pl.lit("suricata").alias("origin"),
    )


def _of_team(address: str) -> pl.Expr:
    """An address of the network that all teams had, in the network of the line's team."""
    rest = pl.col(address).str.strip_prefix("10.0.")
    return (
        pl.when(pl.col(address).str.starts_with("10.0.")).then("10." + pl.col("team") + "." + rest).otherwise(address)
    )


def write_alerts(rows: pl.DataFrame, folder: Path) -> None:
    """Leave alerts where the sink of the program has its files."""
    folder.mkdir(parents=True, exist_ok=True)
    rows.write_parquet(folder / "part-0.parquet")


if __name__ == "__main__":
    write_alerts(alerts(Path(sys.argv[1])), Path(sys.argv[2]))
