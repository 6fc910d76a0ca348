"""Latency of calls over HTTP: a responsive stream unit at 1 and 50 calls a second, a responsive batch unit over 10,000
rows natively and on warm Spark in turn, beside its bare Spark job.

How callers call and are timed stands in `callers`.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.callers import Caller, probed, tail, timed
from bench.table import Row
from ghcm.cli.private import private_daemon
from ghcm.driver import build
from ghcm.runtime.daemon.state import StateDirectory

__all__ = ["measure"]

PROGRAM = Path(__file__).parent / "programs" / "calls.istream"
ROWS, ENGINES = 10_000, ("native", "spark")


def measure(seconds: float, batch_calls: int) -> list[Row]:
    """`seconds` of load at each rate; `batch_calls` calls of the batch unit on each engine, in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "numbers.csv").write_text("key,factor\n" + "".join(f"{n % 50},{n}\n" for n in range(ROWS)))
        bundle = build(PROGRAM, folder / "calls.ghcm")
        with private_daemon(StateDirectory(folder / "state"), "embedded", "127.0.0.1", 0) as daemon:
            caller = Caller(str(daemon.status()["url"]), "bench_calls")
            daemon.control.ask("submit", bundle=str(bundle), base=str(folder))
            native, spark = (partial(caller.call, "scaled", wait=60, factor=3, engine=name) for name in ENGINES)
            if native() != spark():
                raise SystemExit("the engines give different rows")
            rows = _stream_calls(partial(caller.call, "total", key=7), seconds)
            for _ in range(3):  # the first calls of a session are compiled meanwhile
                spark()
            taken = [(timed(native), timed(spark)) for _ in range(batch_calls)]
        natively, on_spark = (sorted(each) for each in zip(*taken, strict=True))
        bare = sorted(_bare(bundle, folder, batch_calls))
        added = statistics.median(on_spark) - statistics.median(bare)
        beside = f"bare job {tail(bare)}, added {added * 1e3:.0f} ms"
        how = f"{batch_calls} calls over {ROWS:,} rows, in turn"
        return [
            *rows,
            Row("calls", "responsive batch, native", tail(natively), "aim: p50 below 100 ms", how),
            Row("calls", "the same on warm Spark", tail(on_spark), beside, how),
        ]


def _stream_calls(total: Callable[[], object], seconds: float) -> list[Row]:
    for _ in range(50):
        total()
    rows: list[Row] = []
    for rate in (1, 50):
        latencies, probe = probed(total, rate, seconds)
        what = f"responsive stream, {rate}/s"
        rows.append(Row("calls", what, tail(latencies), probe, f"{seconds:.0f} s, open loop"))
    return rows


def _bare(bundle: Path, folder: Path, calls: int) -> list[float]:
    """The generated job alone, in a session like the driver's."""
    from ghcm.runtime.bundle import Bundle
    from ghcm.runtime.settings import Spark
    from ghcm.runtime.spark.session import Session

    module = Bundle.open(bundle).unit_module("scaled", "spark")
    session = Session(Spark(), 2, folder / "spark")
    spark = session.get()
    times: list[float] = []
    for number in range(calls + 3):
        context = {"call": f"bare-{number}", "base": str(folder), "dead": str(folder / "dead"), "reply": list[object]()}
        start = time.perf_counter()
        module.run(spark, {"factor": 3}, context)
        times.append(time.perf_counter() - start)
    session.stop()
    shutil.rmtree(folder / "dead", ignore_errors=True)
    return times[3:]
