"""A stream that commits once a second for long: how many files its table has, and how long reading it takes.

Beside each reading of the table stands that of the same rows in a table of one commit.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import deltalake
import duckdb
import polars as pl

from bench.table import Row
from ghcm.cli.private import private_daemon
from ghcm.driver import build
from ghcm.runtime.daemon.state import StateDirectory

__all__ = ["measure"]

PROGRAM = Path(__file__).parent / "programs" / "commits.istream"
_INTERVAL = "0.95"
"""Seconds from the first row to its commit, which takes the rest of the second."""
_LOOK_S, _STAGES, _READINGS = 0.3, 12, 15
_LIVE = 20
"""Files from which on the table is read: soon after a compaction it has one or two."""


def by_polars(table: Path) -> list[int]:
    """The numbers in the table."""
    return pl.scan_delta(str(table)).select("number").collect()["number"].to_list()


def by_duckdb(table: Path) -> list[int]:
    """The numbers in the table."""
    delta: Any = deltalake.DeltaTable(table)
    with duckdb.connect() as database:
        database.register("t", delta.to_pyarrow_dataset())
        return [row[0] for row in database.execute("select number from t").fetchall()]


_READERS: dict[str, Callable[[Path], list[int]]] = {"Polars": by_polars, "DuckDB": by_duckdb}


@dataclass(slots=True)
class _Watch:
    """A table while it is written: the commits of its stream, and how many files it ever had."""

    table: deltalake.DeltaTable
    commits: int = 0
    live: int = 0
    most: int = 0
    _seen: int = field(default=-1)

    def has_seen(self, commits: int) -> bool:
        """Whether there are so many commits by now, and files enough to read."""
        self.table.update_incremental()
        newest = self.table.version()
        done = self.table.history(newest - self._seen) if newest > self._seen else []
        self.commits += sum(each["operation"] == "WRITE" for each in done)
        self._seen = newest
        self.live = len(self.table.file_uris())
        self.most = max(self.most, self.live)
        return self.live >= _LIVE and self.commits >= commits


def measure(commits: int) -> list[Row]:
    """So many commits; a row for each of `_STAGES` parts of them."""
    os.environ["GHCM_COMMIT_INTERVAL"] = _INTERVAL
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle = build(PROGRAM, folder / "commits.ghcm")
        with private_daemon(StateDirectory(folder / "state"), "embedded", "127.0.0.1", 0) as daemon:
            daemon.status()  # it listens then
            daemon.control.ask("submit", bundle=str(bundle), base=str(folder))
            _until(lambda: deltalake.DeltaTable.is_deltatable(str(folder / "rows")), daemon)
            begun, watch, rows = time.monotonic(), _Watch(deltalake.DeltaTable(folder / "rows")), list[Row]()
            for stage in range(_STAGES + 1):
                due = commits * stage // _STAGES
                _until(partial(watch.has_seen, due), daemon)
                rows.append(_row(watch, time.monotonic() - begun, folder, stage))
                print(rows[-1].subject, rows[-1].figure, rows[-1].beside, rows[-1].how, sep="; ", flush=True)
            return rows


def _until(holds: Callable[[], bool], daemon: Any) -> None:
    """Wait for that. SystemExit where no job is at work any more that could bring it about."""
    while not holds():
        if all(each["state"] in ("failed", "stopped", "done") for each in daemon.control.ask("list")["jobs"]):
            raise SystemExit("the stream has ended: see its log")
        time.sleep(_LOOK_S)


def _row(watch: _Watch, seconds: float, folder: Path, stage: int) -> Row:
    """Read what is there, each row once, and the same rows where one commit has written them."""
    same = folder / f"same-{stage}"
    pl.read_delta(str(folder / "rows")).write_delta(str(same))
    found = {name: (_timed(read, folder / "rows"), _timed(read, same)) for name, read in _READERS.items()}
    return Row(
        "commits",
        f"{watch.commits:,} commits in {seconds:,.0f} s",
        f"{watch.live} live files, at most {watch.most}; " + _told(found, 0),
        f"one commit: {_told(found, 1)}",
        f"{len(by_polars(same)):,} rows, median and best of {_READINGS}; load {os.getloadavg()[0]:.1f}",
    )


def _timed(read: Callable[[Path], list[int]], table: Path) -> list[float]:
    """The seconds of each reading."""
    took: list[float] = []
    for _ in range(_READINGS):
        before = time.perf_counter()
        found = read(table)
        took.append(time.perf_counter() - before)
        assert all(number == each for number, each in zip(sorted(found), count(), strict=False))
    return took


def _told(found: dict[str, tuple[list[float], list[float]]], of: int) -> str:
    return ", ".join(
        f"{name} {median(took[of]) * 1e3:.1f} ms ({min(took[of]) * 1e3:.1f})" for name, took in found.items()
    )
