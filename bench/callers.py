"""Callers from outside, for the benchmarks of latency: threads with a connection each, and a load on a fixed schedule.

Calls start whether or not earlier ones have answered, and are timed from when they were due, so a stall is not hidden.
What of a tail is the machine's own is shown by a load of `nothing` on the same schedule, and by a probe meanwhile: a
process that wakes up often and does nothing. Callers are no event loop: that rounds its waits to milliseconds, which
would be counted as the answer's time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

__all__ = ["Caller", "load", "nothing", "probed", "tail", "timed"]

_CALLERS = 8
_WAKES_S, _CALM_S = 0.004, 0.002
"""How often the probe wakes up, and how late it may be where the machine is calm."""


class Caller:
    """Asks one program at a Supervisor; each thread has a connection of its own."""

    def __init__(self, url: str, program: str) -> None:
        self._place = urlsplit(url).netloc
        self._program = f"/programs/{program}"
        self._mine = threading.local()

    def call(self, unit: str, *, wait: int = 10, engine: str = "", **parameters: object) -> list[object]:
        """One call of a responsive unit, to its answer: the rows. `engine`: who is to run it."""
        path = f"/units/{unit}/calls?wait={wait}" + (f"&engine={engine}" if engine else "")
        body = self.ask("POST", path, json.dumps(parameters).encode())
        answer = json.loads(body)
        assert answer["state"] == "done", body
        rows: list[object] = answer["data"]
        return rows

    def ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """What the Supervisor answers to a request about the program."""
        connection: HTTPConnection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = self._mine.connection = HTTPConnection(self._place, timeout=120)
        try:
            response = self._response(connection, method, path, body)
        except ConnectionError:  # the server closes what was silent for some seconds
            connection.close()
            response = self._response(connection, method, path, body)
        found = response.read()
        assert response.status == 200, found
        return found

    def _response(self, connection: HTTPConnection, method: str, path: str, body: bytes | None) -> HTTPResponse:
        connection.request(method, self._program + path, body, {"Content-Type": "application/json"})
        return connection.getresponse()


def nothing() -> None:
    """The call of the idle probe."""


def timed(call: Callable[[], object]) -> float:
    """The seconds that a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def load(call: Callable[[], object], rate: float, seconds: float) -> list[float]:
    """Make so many calls a second for so long; the seconds from when each was due to its answer, the shortest first."""
    return sorted(latency for _, latency in _made(call, rate, seconds))


def probed(call: Callable[[], object], rate: float, seconds: float) -> tuple[list[float], str]:
    """The same, and what the probe says of it: how late it woke up meanwhile, and the tail of those calls during which
    it was never late.
    """
    command = [sys.executable, "-m", "bench.callers"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as probe:
        assert probe.stdout is not None
        probe.stdout.readline()
        calls = _made(call, rate, seconds)
        told, _ = probe.communicate("enough\n")
    wakes: list[tuple[float, float]] = json.loads(told)
    moments = [moment for moment, _ in wakes]

    def calm(due: float, latency: float) -> bool:
        first, last = bisect_left(moments, due - _WAKES_S), bisect_left(moments, due + latency + _WAKES_S)
        return all(late < _CALM_S for _, late in wakes[first:last])

    latencies = sorted(latency for _, latency in calls)
    left = sorted(latency for due, latency in calls if calm(due, latency))
    share = f"{len(left) / len(calls):.0%} of the calls while it was not late: {tail(left)}" if left else "always late"
    return latencies, f"probe meanwhile {tail(sorted(late for _, late in wakes))}; {share}"


def _made(call: Callable[[], object], rate: float, seconds: float) -> list[tuple[float, float]]:
    """When each call was due, and the seconds from then to its answer."""
    latencies: list[tuple[float, float]] = []

    def one(due: float) -> None:
        call()
        latencies.append((due, time.perf_counter() - due))

    with ThreadPoolExecutor(_CALLERS) as callers:
        begin = time.perf_counter() + 0.1
        calls: list[Future[None]] = []
        for number in range(int(rate * seconds)):
            due = begin + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            calls.append(callers.submit(one, due))
        for each in calls:
            each.result()
    return latencies


def tail(latencies: list[float]) -> str:
    """The middle and the end of latencies, the shortest first."""

    def at(share: float) -> float:
        return latencies[min(len(latencies) - 1, int(share * len(latencies)))] * 1e3

    return f"p50 {at(0.5):.1f} ms, p99 {at(0.99):.1f} ms"


def _probe() -> None:
    """Wake up again and again until somebody says that it is enough; when that was due, and how much later it was."""
    enough, found = threading.Event(), list[tuple[float, float]]()

    def listen() -> None:
        sys.stdin.readline()
        enough.set()

    threading.Thread(target=listen, daemon=True).start()
    print("awake", flush=True)
    due = time.perf_counter()
    while not enough.is_set():
        due += _WAKES_S
        time.sleep(max(0.0, due - time.perf_counter()))
        now = time.perf_counter()
        found.append((due, now - due))
        due = max(due, now - _WAKES_S)  # what it has slept through is one wake that was late
    print(json.dumps(found))


if __name__ == "__main__":
    _probe()
