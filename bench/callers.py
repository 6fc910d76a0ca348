"""Callers from outside, for the benchmarks of latency: threads with a connection each, and a load on a fixed schedule.

Calls start whether or not earlier ones have answered, and are timed from when they were due, so a stall is not hidden.
A load of `nothing` on the same schedule shows what of a tail is the machine's own. Callers are no event loop: that
rounds its waits to milliseconds, which would be counted as the answer's time.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

__all__ = ["Caller", "load", "nothing", "tail", "timed"]

_CALLERS = 8


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
    latencies: list[float] = []

    def one(due: float) -> None:
        call()
        latencies.append(time.perf_counter() - due)

    with ThreadPoolExecutor(_CALLERS) as callers:
        begin = time.perf_counter() + 0.1
        calls: list[Future[None]] = []
        for number in range(int(rate * seconds)):
            due = begin + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            calls.append(callers.submit(one, due))
        for each in calls:
            each.result()
    return sorted(latencies)


def tail(latencies: list[float]) -> str:
    """The middle and the end of latencies, the shortest first."""

    def at(share: float) -> float:
        return latencies[min(len(latencies) - 1, int(share * len(latencies)))] * 1e3

    return f"p50 {at(0.5):.1f} ms, p99 {at(0.99):.1f} ms"
