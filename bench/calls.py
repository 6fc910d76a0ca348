"""Latency of calls over HTTP: a responsive stream unit at 1 and 50 calls a second, a responsive batch unit beside its
bare Spark job.

Calls start on a fixed schedule whether or not earlier ones have answered, and are timed from when they were due, so
a stall is not hidden. An idle probe (a coroutine that only sleeps on the same schedule) shows what of a tail is the
machine's own.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

from bench.table import Row
from ghcm.cli.private import private_daemon
from ghcm.driver import build
from ghcm.runtime.daemon.state import StateDirectory

__all__ = ["measure"]

PROGRAM = Path(__file__).parent / "programs" / "calls.istream"


def measure(seconds: float, batch_calls: int) -> list[Row]:
    """`seconds` of load at each rate; `batch_calls` calls of the batch unit, one after another."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "numbers.csv").write_text("key,factor\n" + "".join(f"{n % 50},{n}\n" for n in range(1000)))
        bundle = build(PROGRAM, folder / "calls.ghcm")
        with private_daemon(StateDirectory(folder / "state"), "embedded", "127.0.0.1", 0) as daemon:
            url = str(daemon.status()["url"])
            daemon.control.ask("submit", bundle=str(bundle), base=str(folder))
            return asyncio.run(_measure(url, seconds, batch_calls, bundle, folder))


async def _measure(url: str, seconds: float, batch_calls: int, bundle: Path, folder: Path) -> list[Row]:
    units = f"{url}/programs/bench_calls/units"
    async with httpx.AsyncClient(timeout=120) as client:

        async def total() -> None:
            answer = await client.post(f"{units}/total/calls?wait=10", json={"key": 7})
            assert answer.status_code == 200 and answer.json()["state"] == "done", answer.text

        async def scaled() -> None:
            answer = await client.post(f"{units}/scaled/calls?wait=60", json={"factor": 3})
            assert answer.status_code == 200 and answer.json()["state"] == "done", answer.text

        await scaled()  # the Spark session is started and warm
        for _ in range(50):
            await total()
        rows = []
        for rate in (1, 50):
            latencies, probe = await asyncio.gather(_load(total, rate, seconds), _load(_nothing, rate, seconds))
            rows.append(
                Row(
                    "calls",
                    f"responsive stream, {rate}/s",
                    _tail(latencies),
                    f"idle probe {_tail(probe)}",
                    f"{seconds:.0f} s, open loop",
                )
            )
        whole = []
        for _ in range(batch_calls):
            start = time.perf_counter()
            await scaled()
            whole.append(time.perf_counter() - start)
    bare = await asyncio.to_thread(_bare, bundle, folder, batch_calls)
    added = statistics.median(whole) - statistics.median(bare)
    rows.append(
        Row(
            "calls",
            "responsive batch",
            f"median {statistics.median(whole) * 1e3:.0f} ms",
            f"bare job {statistics.median(bare) * 1e3:.0f} ms, added {added * 1e3:.0f} ms",
            f"{batch_calls} calls, warm session",
        )
    )
    return rows


async def _nothing() -> None:
    await asyncio.sleep(0)


async def _load(call: Callable[[], Awaitable[None]], rate: float, seconds: float) -> list[float]:
    latencies: list[float] = []

    async def one(due: float) -> None:
        await call()
        latencies.append(time.perf_counter() - due)

    begin = time.perf_counter() + 0.1
    tasks = []
    for number in range(int(rate * seconds)):
        due = begin + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(one(due)))
    await asyncio.gather(*tasks)
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
