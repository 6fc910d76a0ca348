"""Latency of calls from outside while the traffic monitor works: `talkers`, `host_profile` and charts, under a steady
load that comes by the socket of `examples/traffic`.

The program is the whole of the example, run by a daemon, but for the policies that call Spark. Time is the wall's: each
connection ends when it is sent, so windows close every ten seconds and all they lead to happens between the calls. That
the load is held is seen by what the source has taken, once a second: how far it ever was behind what was due.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, cycle
from pathlib import Path
from typing import Any

from bench.callers import Caller, probed, tail, timed
from bench.live import EXAMPLE, uncalled
from bench.table import Row
from ghcm.cli.private import PrivateDaemon, private_daemon
from ghcm.driver import build
from ghcm.errors import GhcmError
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.histogram import Histogram, bound

__all__ = ["measure"]

_RATES = (1, 50)
_WARM_S, _PATIENCE_S = 35.0, 120.0
_HELD_S = 5.0
_SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "at most": 1.0}
_TEN_MS = -53
"""The bucket that ends nearest to 10 ms, at 10.1."""
_CHARTS = 40
_LINE = "/sinks/throughput/chart?kind=line&x=start&y=bytes&unit=bytes"
_SOURCE = "live/socket"
_ADDRESS = "127.0.0.1:4747"


@dataclass(frozen=True, slots=True)
class Load:
    """What comes in: records a second, of at least so many bytes each (0: as Zeek writes them)."""

    name: str
    rate: float
    size: int


LOADS = (
    Load("JSON of 3.7 kB", 3162, 3700),  # 11.7 MB/s, which is what the paper injects
    Load("JSON as Zeek writes it", 12_000, 0),
)


@dataclass(slots=True)
class _Watch:
    """What the source has taken, as the daemon says once a second: (moment of the monotonic clock, records)."""

    load: Load
    record_bytes: float
    begin: float
    taken: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    backlog: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    steps: list[tuple[float, dict[str, Histogram]]] = field(default_factory=list[tuple[float, dict[str, Histogram]]])
    """How long the steps of each task have held the loop, and "" for whatever has."""

    def listen(self, daemon: PrivateDaemon) -> None:
        """Note what is said, until the daemon ends."""
        try:
            for event in daemon.control.stream("watch", name="bench"):
                if event.get("event") == "job.progress":
                    self._note(event)
        except (GhcmError, OSError):
            pass  # it has ended

    def _note(self, event: Any) -> None:
        tasks = event["status"]["units"]["monitor"].get("tasks", {})
        if _SOURCE in tasks:
            now = time.monotonic()
            self.taken.append((now, tasks[_SOURCE]["in"]))
            self.backlog.append((now, sum(task["backlog"] for task in tasks.values())))
            held = {name: Histogram.read(task["steps_s"]) for name, task in tasks.items()}
            self.steps.append((now, {"": Histogram.read(event["status"]["held_s"]), **held}))

    def held(self, since: float) -> str:
        """The rate from then on, by how much it was ever behind, and whether that is too much."""
        taken = [(moment, records) for moment, records in self.taken if moment >= since]
        (first, before), (last, after) = taken[0], taken[-1]
        rate = (after - before) / (last - first)
        behind = max((moment - self.begin) - records / self.load.rate for moment, records in taken)
        waiting = max(records for moment, records in self.backlog if moment >= since)
        told = f"{rate:,.0f} records/s, {rate * self.record_bytes / 1e6:.1f} MB/s"
        missed = "" if behind < _HELD_S else "NOT HELD: "
        return f"{missed}taken {told}; at most {behind:.1f} s behind, {waiting:,} records waiting"

    def longest(self, since: float) -> tuple[str, str]:
        """For how long the loop was held from then on, and by which tasks for longest."""
        steps = [found for moment, found in self.steps if moment >= since]
        held = {name: found.since(steps[0].get(name, Histogram())) for name, found in steps[-1].items()}
        whole = held.pop("")
        short = whole.up_to([bound(_TEN_MS)])[0] / whole.count
        figures = [f"{name} {whole.quantile(share) * 1e3:.1f} ms" for name, share in _SHARES.items()]
        worst = sorted(held, key=lambda name: held[name].quantile(1.0), reverse=True)[:4]
        tasks = [f"{name} {held[name].quantile(1.0) * 1e3:.0f} ms" for name in worst]
        return f"{', '.join(figures)}; {short:.3%} below 10 ms", ", ".join(tasks)


def measure(originals: Path | None, seconds: float) -> list[Row]:
    """`seconds` of calls of each unit at each rate, for each load. `originals`: a folder of conn logs."""
    return [row for each in LOADS for row in _under(each, originals, seconds)]


def _under(load_: Load, originals: Path | None, seconds: float) -> list[Row]:
    with tempfile.TemporaryDirectory() as name, _network(load_, originals) as (told, begun):
        folder = Path(name)
        bundle = build(_lay_out(folder, int(told["port"])), folder / "traffic.ghcm")
        with private_daemon(StateDirectory(folder / "state"), "embedded", "127.0.0.1", 0) as daemon:
            caller = Caller(str(daemon.status()["url"]), "traffic")
            daemon.control.ask("submit", bundle=str(bundle), base=str(folder))
            watch = _Watch(load_, told["bytes"], begun())
            threading.Thread(target=watch.listen, args=[daemon], daemon=True).start()
            hosts = _hosts(caller)
            time.sleep(max(0.0, watch.begin + _WARM_S - time.monotonic()))
            since = time.monotonic()
            rows = [*_calls(caller, hosts, load_, seconds), _charts(caller, load_)]
            held, tasks = watch.longest(since)
            return [
                *rows,
                Row("live calls", f"{load_.name}: the load", watch.held(since), "", "whole example"),
                Row("live calls", f"{load_.name}: steps of the loop", held, f"longest: {tasks}", "aim: 30 ms at most"),
            ]


def _lay_out(folder: Path, port: int) -> Path:
    """The program, which reads from that port, beside what it reads."""
    shutil.copytree(EXAMPLE / "in", folder / "in")
    shutil.copy(EXAMPLE / "servers.csv", folder)
    text = (EXAMPLE / "traffic.istream").read_text()
    if _ADDRESS not in text:
        raise SystemExit(f"the example has changed: it has no {_ADDRESS}")
    program = folder / "traffic.istream"
    program.write_text(uncalled(text).replace(_ADDRESS, f"127.0.0.1:{port}"))
    return program


@contextmanager
def _network(load_: Load, originals: Path | None) -> Generator[tuple[dict[str, float], Callable[[], float]]]:
    """Where the load is to be had, with the bytes of a record; and when it began, once somebody has connected."""
    arguments = [str(load_.rate), str(load_.size), *([str(originals)] if originals else [])]
    process = subprocess.Popen([sys.executable, "-m", "bench.live_load", *arguments], stdout=subprocess.PIPE, text=True)
    with process:
        out = process.stdout
        assert out is not None
        try:
            yield json.loads(out.readline()), lambda: float(json.loads(out.readline())["begin"])
        finally:
            process.kill()


def _hosts(caller: Caller) -> Iterator[str]:
    """Hosts to ask for, in turn, once a window has closed."""
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        found: list[Any] = caller.call("talkers", n=20)
        if found:
            return cycle([str(host["host"]) for host in found])
        time.sleep(0.5)
    raise SystemExit("no window has closed")


def _calls(caller: Caller, hosts: Iterator[str], load_: Load, seconds: float) -> Iterator[Row]:
    units: dict[str, Callable[[], object]] = {
        "talkers": partial(caller.call, "talkers", n=10),
        "host_profile": lambda: caller.call("host_profile", host=next(hosts)),
    }
    for rate in _RATES:
        for unit, call in units.items():
            latencies, probe = probed(call, rate, seconds)
            how = f"{seconds:.0f} s, open loop"
            yield Row("live calls", f"{load_.name}: {unit}, {rate}/s", tail(latencies), probe, how)


def _charts(caller: Caller, load_: Load) -> Row:
    widths = count(700)  # each is of another width, so that none has been drawn before

    def chart() -> None:
        number = next(widths)
        caller.ask("GET", f"{_LINE}&format={'svg' if number % 2 else 'png'}&width={number}")

    first = timed(chart)  # it starts the process that draws
    figure = tail(sorted(timed(chart) for _ in range(_CHARTS)))
    beside = f"aim 500 ms; the first of all {first * 1e3:.0f} ms"
    return Row("live calls", f"{load_.name}: a chart", figure, beside, f"{_CHARTS} charts, none drawn before")
