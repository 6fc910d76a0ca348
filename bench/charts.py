"""Latency of charts on request over HTTP: each of the four kinds, as SVG and as PNG, none of them drawn before.

The rows are of a sink of half an hour in windows of ten seconds, of 40 hosts; a chart asks for all of them. Beside it
stands a picture that was drawn before and is asked for again.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from bench.table import Row
from ghcm.cli.private import private_daemon
from ghcm.driver import build
from ghcm.runtime.daemon.state import StateDirectory

__all__ = ["measure"]

PROGRAM = Path(__file__).parent / "programs" / "charts.istream"
_WINDOWS, _HOSTS = 180, 40
_CHARTS = {
    "line": "kind=line&x=start&y=bytes",
    "share": "kind=share&x=start&by=proto&y=bytes",
    "bar": "kind=bar&x=host&y=bytes",
    "graph": "kind=graph&from=host&to=peer&step=start&severity=level&last=1m",
}


def measure(charts: int) -> list[Row]:
    """So many charts of each kind, one after another, half of them SVG."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "traffic.csv").write_text("\n".join(_lines()), encoding="utf-8")
        bundle = build(PROGRAM, folder / "charts.ghcm")
        with private_daemon(StateDirectory(folder / "state"), "embedded", "127.0.0.1", 0) as daemon:
            url = str(daemon.status()["url"])
            daemon.control.ask("submit", bundle=str(bundle), base=str(folder))
            get = _Getter(url)
            while get.rows() < _WINDOWS * _HOSTS:
                time.sleep(0.1)  # nobody tells over HTTP that a sink has its rows
            get.page()
            time.sleep(5)  # the drawing process is made ready
            first = get.chart(f"{_CHARTS['line']}&width=701")
            found = [_row(kind, query, get, charts) for kind, query in _CHARTS.items()]
        return [
            Row("charts", "the first chart", f"{first * 1e3:.0f} ms", "aim 500 ms", "5 s after the page was opened"),
            *found,
        ]


def _row(kind: str, query: str, get: _Getter, charts: int) -> Row:
    # Each is of another width, so that none has been drawn before.
    fresh = sorted(
        get.chart(f"{query}&format={'svg' if number % 2 else 'png'}&width={702 + number}") for number in range(charts)
    )
    again = sorted(get.chart(f"{query}&format=svg&width=703") for _ in range(charts))
    return Row("charts", kind, _tail(fresh), f"drawn before {_tail(again)}", f"{_WINDOWS * _HOSTS:,} rows, aim 500 ms")


def _tail(seconds: list[float]) -> str:
    def at(share: float) -> float:
        return seconds[min(len(seconds) - 1, int(share * len(seconds)))] * 1e3

    return f"p50 {at(0.5):.0f} ms, p99 {at(0.99):.0f} ms"


def _lines() -> Iterator[str]:
    yield "start,host,peer,proto,bytes,level"
    for window in range(_WINDOWS):
        minute, second = divmod(window * 10, 60)
        for host in range(_HOSTS):
            proto = ("tcp", "udp", "icmp")[host % 3]
            size = (host * 7919 + window * 104_729) % 100_000
            peer = f"10.0.1.{(host * 3 + window) % 12}"
            yield f"2026-01-05T09:{minute:02}:{second:02}Z,10.0.0.{host},{peer},{proto},{size},{1 + host % 3}"
    yield ""


class _Getter:
    """Asks for charts of the sink over one connection."""

    def __init__(self, url: str) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=60)

    def rows(self) -> int:
        """How many rows the sink has."""
        self._connection.request("GET", "/programs/bench_charts/sinks/traffic/rows?limit=1")
        response = self._connection.getresponse()
        response.read()
        return int(response.headers.get("X-Total-Count", "0"))

    def page(self) -> None:
        """Open the page on which people watch."""
        self._connection.request("GET", "/programs/bench_charts/watch")
        self._connection.getresponse().read()

    def chart(self, query: str) -> float:
        """The seconds that a chart takes."""
        begin = time.perf_counter()
        self._connection.request("GET", f"/programs/bench_charts/sinks/traffic/chart?{query}")
        response = self._connection.getresponse()
        body = response.read()
        assert response.status == 200, body
        return time.perf_counter() - begin
