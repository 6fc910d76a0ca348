"""Records per second that are looked up in a Redis that answers 5 ms late, beside a loop by hand that asks for one key
after the other, and one that asks by pipelines.

The Redis is real; a proxy before it hands on each answer when its time has come. All keys differ, nothing is cached.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import redis

from bench.table import Row
from ghcm.driver import build
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.embedded import find_redis_server
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine

__all__ = ["measure"]

RECORDS, BY_ONE, DELAY_S = 100_000, 1_000, 0.005
_PIPELINE = 256

PROGRAM = """program looked
record Visit { page: string, user: int }
record User { name: string }
sink out = files("out", format = json, mode = append)
stream u {
  visits = files("visits.jsonl", format = json).as(Visit)
  visits.lookup(redis("user:{key}"), key = v => v.user, record = User, as = (v, u) => { page: v.page, name: u.name })
        .to(out)
}
"""


class Late:
    """A proxy to a socket of this machine that gives on what comes back only after so many seconds."""

    def __init__(self, path: str, delay_s: float) -> None:
        self._path, self._delay = path, delay_s
        self._loop = asyncio.new_event_loop()
        server: asyncio.Server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = server.sockets[0].getsockname()[1]
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_unix_connection(self._path)

        async def late() -> None:
            while data := await back.read(1 << 16):
                self._loop.call_later(self._delay, writer.write, data)

        answers = asyncio.ensure_future(late())
        while data := await reader.read(1 << 16):
            forth.write(data)
        answers.cancel()
        forth.close()
        writer.close()


def _by_ghcm(folder: Path, url: str) -> float:
    bundle = Bundle.open(build(folder / "looked.istream", folder / "looked.ghcm"))
    connections = Connections(folder, url)
    started = time.perf_counter()
    Engine(bundle, connections=connections, state=folder / "state").run()
    seconds = time.perf_counter() - started
    found = list(read(bundle.plan.sink("out"), connections))
    connections.close()
    assert len(found) == RECORDS and found[-1] == ("/", f"user {RECORDS - 1}"), "every record has its user, in order"
    return RECORDS / seconds


def _one_by_one(client: Any) -> float:
    started = time.perf_counter()
    found = [json.loads(client.get(f"user:{key}"))["name"] for key in range(BY_ONE)]
    assert len(found) == BY_ONE
    return BY_ONE / (time.perf_counter() - started)


def _by_pipelines(client: Any) -> float:
    started, found = time.perf_counter(), list[str]()
    for start in range(0, RECORDS, _PIPELINE):
        pipeline = client.pipeline(transaction=False)
        for key in range(start, min(start + _PIPELINE, RECORDS)):
            pipeline.get(f"user:{key}")
        found += [json.loads(each)["name"] for each in pipeline.execute()]
    assert len(found) == RECORDS
    return RECORDS / (time.perf_counter() - started)


def measure() -> list[Row]:
    """One row for each way."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = (json.dumps({"page": "/", "user": key}) for key in range(RECORDS))
        (folder / "visits.jsonl").write_text("\n".join(lines) + "\n")
        (folder / "looked.istream").write_text(PROGRAM)
        socket = str(folder / "r.sock")
        server = subprocess.Popen(
            [find_redis_server(), "--port", "0", "--unixsocket", socket, "--save", "", "--dir", name],
            stdout=subprocess.DEVNULL,
        )
        try:
            while not Path(socket).exists():
                assert server.poll() is None, "Redis has ended before it listened"
                time.sleep(0.02)
            return _rates(folder, socket)
        finally:
            server.terminate()
            server.wait()


def _rates(folder: Path, socket: str) -> list[Row]:
    with redis.Redis(unix_socket_path=socket) as direct:
        pipeline: Any = direct.pipeline(transaction=False)  # pyright: ignore[reportUnknownMemberType]
        for key in range(RECORDS):
            pipeline.set(f"user:{key}", json.dumps({"name": f"user {key}"}))
        pipeline.execute()
    proxy = Late(socket, DELAY_S)
    url = f"redis://127.0.0.1:{proxy.port}/0"
    with redis.Redis.from_url(url) as client:  # pyright: ignore[reportUnknownMemberType]
        ways: list[tuple[str, Callable[[], float]]] = [
            ("lookup", lambda: _by_ghcm(folder, url)),
            ("by hand, one key after the other", lambda: _one_by_one(client)),
            ("by hand, by pipelines of 256", lambda: _by_pipelines(client)),
        ]
        rates = {name: rate() for name, rate in ways}
    proxy.close()
    beside = rates["by hand, by pipelines of 256"]
    return [
        Row("lookups", name, f"{rate:,.0f} records/s", f"{rate / beside:.2f} x", "in a Redis 5 ms away")
        for name, rate in rates.items()
    ]
