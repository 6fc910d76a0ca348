"""Latency of splitting and a regex under a steady load: 40,000 lines a second come by a socket, are split at blanks,
and the words that match go to a Redis stream that somebody reads as they come.

Beside GHCM's native engine stands a bare loop of Python that does the same with each read of the socket, and a probe:
the words that would match, sent to the stream by whoever sends the lines, at their moments, with nobody between. All
take turns in one run, each in a process of its own, and what matches is the moment when its line was due: the latency
is from then until the reader has it. Where it is said where Flink is, its DataStream takes its turns too, as it is by
default, and as one chain without buffers between.
"""

from __future__ import annotations

import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import redis

from bench import corpus
from bench.flink_sql import java
from bench.table import Row
from ghcm.runtime.pubsub.embedded import find_redis_server

__all__ = ["measure"]

PROGRAM = Path(__file__).parent / "programs" / "latency.istream"
_ADDRESS, _SINK = "127.0.0.1:4748", "found"
_RATE, _TICK_S, _MARKED = 40_000, 0.001, 10
"""Lines a second, how often they are sent, and of how many one has a word that matches."""
_WARM_S, _LATE_S, _STARTS_S = 5.0, 30.0, 60.0
_WORD = "^[0-9]+[.][0-9]{6}$"
_NAMES = {"nothing": "idle probe", "bare": "bare loop of Python", "own": "GHCM, native engine"}
_FLINKS = {"default": "Flink by default", "tuned": "Flink, tuned"}
_FLINK = PROGRAM.with_name("FlinkWords.java")


def measure(seconds: float, runs: int, flink: Path | None = None) -> list[Row]:
    """The best of so many turns of each, `seconds` long behind the first ones. SystemExit where words are missing.
    `flink`: as in `flink_sql`.
    """
    names = _NAMES if flink is None else _NAMES | _FLINKS
    with tempfile.TemporaryDirectory() as name, _server(Path(name)) as client:
        folder = Path(name)
        if flink is not None:  # its workers do not find what Java has compiled by itself
            classes = str(flink / "pyflink" / "lib" / "*")
            subprocess.run(["javac", "-proc:none", "-d", name, "-cp", classes, str(_FLINK)], check=True)
        text = next(corpus.generated(folder / "text", 4).iterdir())
        best: dict[str, list[float]] = {}
        for _ in range(runs):
            for contestant in names:
                found = _turn(contestant, folder, text, client, seconds, flink)
                if contestant not in best or statistics.fmean(found) < statistics.fmean(best[contestant]):
                    best[contestant] = found
    return [_row(contestant, latencies, best["bare"], runs) for contestant, latencies in best.items()]


def _row(contestant: str, latencies: list[float], bare: list[float], runs: int) -> Row:
    mean, p99 = statistics.fmean(latencies), _p99(latencies)
    figure = f"mean {mean * 1e3:.2f} ms, p99 {p99 * 1e3:.2f}, at most {max(latencies) * 1e3:.1f}"
    beside = f"mean {mean / statistics.fmean(bare):.2f} x that of the loop, p99 {p99 / _p99(bare):.2f} x"
    return Row("latency", (_NAMES | _FLINKS)[contestant], figure, beside, f"{_RATE:,} lines/s, best of {runs}")


def _p99(latencies: list[float]) -> float:
    return sorted(latencies)[int(0.99 * len(latencies))]


@contextmanager
def _server(folder: Path) -> Generator[Any]:
    """A Redis of its own, which keeps nothing on disk."""
    path = str(folder / "r.sock")
    command = [str(find_redis_server()), "--port", "0", "--unixsocket", path, "--save", "", "--dir", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while not Path(path).exists():
            assert server.poll() is None, "Redis has ended before it listened"
            time.sleep(0.02)
        with redis.Redis(unix_socket_path=path) as client:
            yield client
    finally:
        server.terminate()
        server.wait()


def _turn(contestant: str, folder: Path, text: Path, client: Any, seconds: float, flink: Path | None) -> list[float]:
    """The latencies of a contestant, in seconds, once it has begun to work."""
    from ghcm.runtime.daemon.warm_standby import SLOT

    client.flushall()
    command = [sys.executable, "-m", "bench.latency"]
    path = str(folder / "r.sock")
    feeding = [*command, "feed", str(text), str(seconds + _WARM_S), path if contestant == "nothing" else ""]
    with ExitStack() as started:
        feeder = started.enter_context(_process(feeding, stdout=subprocess.PIPE))
        assert feeder.stdout is not None
        port = feeder.stdout.readline().strip()
        working = None
        if contestant != "nothing":
            environment = {**os.environ, **(SLOT if contestant == "own" else {})}
            work = [*command, contestant, str(folder), port, path]
            if contestant in _FLINKS:
                assert flink is not None, "or it is no contestant"
                work = [*java(flink, str(folder)), _FLINK.stem, port, path, contestant]
            working = started.enter_context(_process(work, env=environment))
        sent = _RATE // _MARKED * int(seconds + _WARM_S)
        found = list(_read(client, sent))
        if working is not None and working.wait():
            raise SystemExit(f"{(_NAMES | _FLINKS)[contestant]} has failed")
    begin = min(due for due, _ in found)
    return [moment - due for due, moment in found if due >= begin + _WARM_S]


@contextmanager
def _process(command: Sequence[str], **options: Any) -> Generator[subprocess.Popen[str]]:
    """A process that ends with the block at the latest: one whose peer has failed would wait for ever."""
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def _read(client: Any, count: int) -> Iterator[tuple[float, float]]:
    """When so many words were due and when they were read. SystemExit if they do not all come."""
    last, left, heard = "0", count, time.monotonic() + _STARTS_S
    while left > 0:
        answer = client.xread({_SINK: last}, block=1000)
        moment = time.monotonic()
        for _, entries in answer:
            heard = moment
            for _, fields in entries:
                (word,) = fields.values()
                yield float(word), moment
            last = entries[-1][0]
            left -= len(entries)
        if moment - heard > _LATE_S:
            raise SystemExit(f"{left:,} of {count:,} words have not come")


# --- who sends, and who works ----------------------------------------------------------------------------------------


def _feed(text: Path, seconds: float, stream: str) -> None:
    """Send lines to whoever connects, or to this Redis the words that match."""
    lines = cycle(text.read_bytes().splitlines(keepends=True))
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        if stream:
            with redis.Redis(unix_socket_path=stream) as client:
                _send(lambda _, words: _add(client, words), lines, seconds)
            return
        peer, _ = server.accept()
    with peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _send(lambda data, _: peer.sendall(data), lines, seconds)


def _send(send: Callable[[bytes, list[str]], None], lines: Iterator[bytes], seconds: float) -> None:
    """Lines when they are due, some of which begin with that moment as a word, and these words."""
    begin, sent, count = time.monotonic() + 0.1, 0, int(_RATE * seconds)
    while sent < count:
        due = min(count, int((time.monotonic() - begin) * _RATE))
        data, words = list[bytes](), list[str]()
        for number in range(sent, due):
            if number % _MARKED == 0:
                words.append(f"{begin + number / _RATE:.6f}")
                data.append(f"{words[-1]} ".encode())
            data.append(next(lines))
        if data:
            send(b"".join(data), words)
            sent = due
        time.sleep(_TICK_S)


def _add(client: Any, words: list[str]) -> None:
    pipeline = client.pipeline(transaction=False)
    for word in words:
        pipeline.xadd(_SINK, {"value": word})
    pipeline.execute()


def _bare(port: int, stream: str) -> None:
    """A loop as one writes it."""
    matches, rest = re.compile(_WORD).match, b""
    with socket.create_connection(("127.0.0.1", port)) as source, redis.Redis(unix_socket_path=stream) as client:
        while data := source.recv(1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            found = [word for line in lines for word in line.decode().split(" ") if matches(word)]
            if found:
                _add(client, found)


def _own(folder: Path, port: int, stream: str) -> None:
    from ghcm.driver import build
    from ghcm.runtime.bundle import Bundle
    from ghcm.runtime.pubsub.connections import Connections
    from ghcm.runtime.slot.engine import Engine

    program = folder / PROGRAM.name
    program.write_text(PROGRAM.read_text().replace(_ADDRESS, f"127.0.0.1:{port}"))
    bundle = Bundle.open(build(program, folder / "latency.ghcm"))
    with tempfile.TemporaryDirectory() as state:
        connections = Connections(folder, f"unix://{stream}")
        Engine(bundle, connections=connections, state=Path(state), tame_collector=True).run()
        connections.close()


def _main(role: str, where: str, number: str, stream: str) -> None:
    match role:
        case "feed":
            _feed(Path(where), float(number), stream)
        case "bare":
            _bare(int(number), stream)
        case _:
            _own(Path(where), int(number), stream)


if __name__ == "__main__":
    _main(*sys.argv[1:])
