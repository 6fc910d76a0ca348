"""A hundred calls a second for long: whether latency, memory and the store stay as they are.

What is over is kept for a short time, so that the store has reached its bound after the first minutes.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import cast

import psutil

from bench.callers import Caller, load, nothing, tail
from bench.calls import PROGRAM
from bench.table import Row
from ghcm.cli.private import PrivateDaemon, private_daemon
from ghcm.driver import build
from ghcm.runtime.daemon.state import StateDirectory

__all__ = ["measure"]

RATE, STAGE = 100, 60.0
_SETTINGS = {
    "GHCM_KEEP_CALLS": "2m",
    "GHCM_KEEP_ANSWERS": "1m",
    "GHCM_QUOTAS_RATE": "1000000",
    "GHCM_QUOTAS_CALLS": "1000000",
}


def measure(calls: int) -> list[Row]:
    """So many calls, in stages of a minute; a row each."""
    os.environ.update(_SETTINGS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "numbers.csv").write_text("key,factor\n1,2\n")
        bundle = build(PROGRAM, folder / "calls.ghcm")
        with private_daemon(StateDirectory(folder / "state"), "embedded", "127.0.0.1", 0) as daemon:
            caller = Caller(str(daemon.status()["url"]), "bench_calls")
            daemon.control.ask("submit", bundle=str(bundle), base=str(folder))
            total = partial(caller.call, "total", key=7)
            total()
            rows: list[Row] = []
            for number in range(math.ceil(calls / RATE / STAGE)):
                latencies = load(total, RATE, STAGE)
                probe = load(nothing, RATE, 5.0)
                rows.append(_row(number, tail(latencies), tail(probe), daemon, folder / "state"))
                print(json.dumps([rows[-1].figure, rows[-1].beside, rows[-1].how]), flush=True)
            return rows


def _row(number: int, latency: str, probe: str, daemon: PrivateDaemon, state: Path) -> Row:
    sizes = {path.name: path.stat().st_size for path in state.glob("jobs.sqlite*")}
    store = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in sorted(sizes.items()))
    memory = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in _memory(daemon).items())
    return Row("endurance", f"minute {number + 1}", latency, f"idle probe {probe}", f"MB: {memory}; {store}")


def _memory(daemon: PrivateDaemon) -> Mapping[str, int]:
    """The resident memory of the daemon and each of its processes, in bytes."""
    found = cast("list[dict[str, object]]", daemon.control.ask("status")["processes"])
    pids = {str(each["name"]): int(str(each["pid"])) for each in found if each["pid"]} | {"daemon": daemon.process.pid}
    return {name: psutil.Process(pid).memory_info().rss for name, pid in pids.items()}
