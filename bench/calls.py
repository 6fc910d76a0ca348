"""Latency of calls over HTTP: a responsive stream unit at 1 and 50 calls a second, a responsive batch unit beside its
bare Spark job.

Calls start on a fixed schedule whether or not earlier ones have answered, and are timed from when they were due, so
a stall is not hidden. An idle probe (work that does nothing, on the same schedule) shows what of a tail is the
machine's own. Callers are threads with a connection each: an event loop rounds its waits to milliseconds, and that
would be counted as the answer's time.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from bench.table import Row
from ghcm.cli.private import private_daemon
from ghcm.driver import build
from ghcm.runtime.daemon.state import StateDirectory

__all__ = ["measure"]

PROGRAM = Path(__file__).parent / "programs" / "calls.istream"
_CALLERS = 8


def measure(seconds: float, batch_calls: int) -> list[Row]:
    """`seconds` of load at each rate; `batch_calls` calls of the batch unit, one after another."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "numbers.csv").write_text("key,factor\n" + "".join(f"{n % 50},{n}\n" for n in range(1000)))
        bundle = build(PROGRAM, folder / "calls.ghcm")
        with private_daemon(StateDirectory(folder / "state"), "embedded", "127.0.0.1", 0) as daemon:
            caller = _Caller(str(daemon.status()["url"]))
            daemon.control.ask("submit", bundle=str(bundle), base=str(folder))
            caller.scaled()  # the Spark session is started and warm
            rows = _stream_calls(caller, seconds)
            whole = [_timed(caller.scaled) for _ in range(batch_calls)]
        bare = _bare(bundle, folder, batch_calls)
        added = statistics.median(whole) - statistics.median(bare)
        bare_text = f"bare job {statistics.median(bare) * 1e3:.0f} ms, added {added * 1e3:.0f} ms"
        whole_text = f"median {statistics.median(whole) * 1e3:.0f} ms"
        return [*rows, Row("calls", "responsive batch", whole_text, bare_text, f"{batch_calls} calls, warm session")]


def _stream_calls(caller: _Caller, seconds: float) -> list[Row]:
    for _ in range(50):
        caller.total()
    rows: list[Row] = []
    for rate in (1, 50):
        latencies, probe = _load(caller.total, rate, seconds), _load(_nothing, rate, seconds)
        what = f"responsive stream, {rate}/s"
        rows.append(Row("calls", what, _tail(latencies), f"idle probe {_tail(probe)}", f"{seconds:.0f} s, open loop"))
    return rows


class _Caller:
    """Calls the units of the program; each thread has a connection of its own."""

    def __init__(self, url: str) -> None:
        self._place = urlsplit(url).netloc
        self._mine = threading.local()

    def total(self) -> None:
        """One call of the stream unit, to its answer."""
        self._call("total", wait=10, parameters=b'{"key": 7}')

    def scaled(self) -> None:
        """One call of the batch unit, to its answer."""
        self._call("scaled", wait=60, parameters=b'{"factor": 3}')

    def _call(self, unit: str, *, wait: int, parameters: bytes) -> None:
        connection: HTTPConnection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = self._mine.connection = HTTPConnection(self._place, timeout=120)
        path = f"/programs/bench_calls/units/{unit}/calls?wait={wait}"
        try:
            connection.request("POST", path, parameters, {"Content-Type": "application/json"})
            response = connection.getresponse()
        except ConnectionError:  # the server closes what was silent for some seconds
            connection.close()
            connection.request("POST", path, parameters, {"Content-Type": "application/json"})
            response = connection.getresponse()
        body = response.read()
        assert response.status == 200 and json.loads(body)["state"] == "done", body


def _nothing() -> None:
    pass


def _timed(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _load(call: Callable[[], None], rate: float, seconds: float) -> list[float]:
    latencies: list[float] = []

    def one(due: float) -> None:
        call()
        latencies.append(time.perf_counter() - due)

    with ThreadPoolExecutor(_CALLERS) as callers:
        begin = time.perf_counter() + 0.1
        calls = []
        for number in range(int(rate * seconds)):
            due = begin + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            calls.append(callers.submit(one, due))
        for each in calls:
            each.result()
    return sorted(latencies)


def _tail(latencies: list[float]) -> str:
    def at(share: float) -> float:
        return latencies[min(len(latencies) - 1, int(share * len(latencies)))] * 1e3

    return f"p50 {at(0.5):.1f} ms, p99 {at(0.99):.1f} ms"


def _bare(bundle: Path, folder: Path, calls: int) -> list[float]:
    """The generated job alone, in a session like the driver's."""
    from ghcm.runtime.bundle import Bundle
    from ghcm.runtime.settings import Spark
    from ghcm.runtime.spark.session import Session

    module = Bundle.open(bundle).unit_module("scaled")
    session = Session(Spark(), 2, folder / "spark")
    spark = session.get()
    times = []
    for number in range(calls + 3):
        context = {"call": f"bare-{number}", "base": str(folder), "dead": str(folder / "dead"), "reply": list[object]()}
        start = time.perf_counter()
        module.run(spark, {"factor": 3}, context)
        times.append(time.perf_counter() - start)
    session.stop()
    shutil.rmtree(folder / "dead", ignore_errors=True)
    return times[3:]
