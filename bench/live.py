"""Records per second of the live unit of `examples/traffic` on Zeek's logs and on long JSON records, beside a plain
Polars program that computes the same statistics of a file that has come to its end.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bench import flows
from bench.table import Row

if TYPE_CHECKING:
    from ghcm.runtime.slot.engine import Engine

__all__ = ["EXAMPLE", "measure", "program", "uncalled"]

EXAMPLE = Path(__file__).parents[1] / "examples" / "traffic"
STATISTICS = ("throughput", "protocols", "pairs", "hosts", "new_hosts")
_LONG = 3700
_SOURCES = ("  json = files(", "  flows = union(zeek, json, argus, live)")
_PUBLISHED = re.compile(r"(\.to\(alerts\))\s*\.publish\(.*\)$", re.MULTILINE)
_ALARMS, _END = "  # --- alarms", "# Alerts of Suricata go where the alarms go."


def measure(originals: Path | None, copies: int, runs: int) -> list[Row]:
    """`originals`: a folder of conn logs. The results of both programs are compared. SystemExit where they differ."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = flows.replicated(originals or flows.ORIGINALS, copies)
        count = made.height
        places = {kind: folder / kind / "in" / kind for kind in ("zeek", "json")}
        for place in places.values():
            place.mkdir(parents=True)
        flows.as_zeek(flows.last_of(made), places["zeek"] / "conn.log")
        flows.as_json(flows.last_of(made.head(count // 16)), places["json"] / "conn.json", _LONG)
        best: dict[str, Mapping[str, float]] = {}
        for _ in range(runs):
            for subject, arguments in _contestants(folder).items():
                result = _run(arguments)
                if subject not in best or result["seconds"] < best[subject]["seconds"]:
                    best[subject] = result
        _compare(folder / "zeek")
    own = best["statistics, Zeek"]["seconds"]
    return [_row(subject, result, own, runs) for subject, result in best.items()]


def _contestants(folder: Path) -> dict[str, list[str]]:
    zeek, long = str(folder / "zeek"), str(folder / "json")
    return {
        "statistics, Zeek": ["statistics", zeek, "zeek"],
        "statistics in plain Polars": ["polars", zeek, "zeek"],
        "statistics and alarms, Zeek": ["everything", zeek, "zeek"],
        "statistics, JSON of 3.7 kB": ["statistics", long, "json"],
    }


def _row(subject: str, result: Mapping[str, float], own: float, runs: int) -> Row:
    rate, size = result["records"] / result["seconds"], result["bytes"] / result["seconds"] / 1e6
    cpu = result["records"] / result["cpu"]
    figure = f"{rate:,.0f} records/s, {size:.1f} MB/s, {cpu:,.0f} records per CPU second"
    beside = "aim: 300,000 records/s" if subject == "statistics, Zeek" else f"{result['seconds'] / own:.2f} x its time"
    return Row("live", subject, figure, beside, f"{result['records']:,.0f} records, best of {runs}")


def _run(arguments: list[str]) -> Mapping[str, float]:
    """A contestant in a process of its own; the engine's libraries have the threads that they have in the daemon."""
    from ghcm.runtime.daemon.warm_standby import SLOT

    pools = {} if arguments[0] == "polars" else SLOT
    command = [sys.executable, "-m", "bench.live", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **pools})
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _compare(folder: Path) -> None:
    import polars as pl
    from polars.testing import assert_frame_equal

    for name in STATISTICS:
        own = pl.read_delta(str(folder / "out" / name)).sort(pl.all())
        other = pl.read_parquet(folder / "polars" / f"{name}.parquet").select(own.columns).sort(pl.all())
        try:
            assert_frame_equal(own, other, check_dtypes=False)
        except AssertionError as error:
            raise SystemExit(f'the results "{name}" differ: {error}') from None


def program(form: str, *, alarms: bool) -> str:
    """The text of the example with nothing but its live unit, which follows files of one format."""
    text = (EXAMPLE / "traffic.istream").read_text()
    for mark in (*_SOURCES, _ALARMS, _END):
        if mark not in text:
            raise SystemExit(f"the example has changed: it has no {mark!r}")
    begin, end = (text.index(mark) for mark in _SOURCES)
    followed = text[:begin].replace(
        'files("in/zeek", format = zeek, clock = continues)', f'files("in/{form}", format = {form}, follow = true)'
    )
    rest = uncalled(text[end + len(_SOURCES[1]) : text.index(_END)])
    return followed + "  flows = zeek" + (rest if alarms else rest[: rest.index(_ALARMS)] + "}\n")


def uncalled(text: str) -> str:
    """The text without the policies by which alerts call Spark."""
    return _PUBLISHED.sub(r"\1", text)


def _live(folder: Path, form: str, *, alarms: bool) -> dict[str, float]:
    from ghcm.driver import build
    from ghcm.runtime.bundle import Bundle
    from ghcm.runtime.pubsub.connections import Connections
    from ghcm.runtime.slot.engine import Engine

    shutil.rmtree(folder / "out", ignore_errors=True)
    source = folder / "traffic.istream"
    source.write_text(program(form, alarms=alarms))
    shutil.copy(EXAMPLE / "servers.csv", folder)
    bundle = Bundle.open(build(source, folder / "traffic.ghcm"))
    size = sum(path.stat().st_size for path in (folder / "in" / form).iterdir())
    records = _lines(folder / "in" / form)
    with tempfile.TemporaryDirectory() as state:
        engine = Engine(bundle, ["monitor"], connections=Connections(folder), state=Path(state), tame_collector=True)
        start, cpu = time.perf_counter(), _cpu()
        engine.start()
        while not _has_all(engine, records):
            time.sleep(0.05)
            engine.check()
        engine.savepoint(60)
        seconds, spent = time.perf_counter() - start, _cpu() - cpu
        engine.close()
    return {"seconds": seconds, "cpu": spent, "records": records, "bytes": size}


def _lines(folder: Path) -> int:
    lines = (line for path in folder.iterdir() for line in path.open("rb"))
    return sum(not line.startswith(b"#") for line in lines)


def _has_all(engine: Engine, records: int) -> bool:
    """Whether every record was taken and none waits."""
    units = cast("dict[str, dict[str, dict[str, dict[str, int]]]]", engine.status()["units"])
    tasks = units["monitor"].get("tasks", {})
    if "zeek/files" not in tasks:
        return False
    return tasks["zeek/files"]["in"] >= records and not any(task["backlog"] for task in tasks.values())


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _polars(folder: Path) -> dict[str, float]:
    from bench.live_polars import statistics

    path = folder / "in" / "zeek" / "conn.log"
    (folder / "polars").mkdir(exist_ok=True)
    start, cpu = time.perf_counter(), _cpu()
    for name, frame in statistics(path).items():
        frame.write_parquet(folder / "polars" / f"{name}.parquet")
    seconds, spent = time.perf_counter() - start, _cpu() - cpu
    return {"seconds": seconds, "cpu": spent, "records": _lines(path.parent), "bytes": path.stat().st_size}


if __name__ == "__main__":
    what, where = sys.argv[1], Path(sys.argv[2])
    print(json.dumps(_polars(where) if what == "polars" else _live(where, sys.argv[3], alarms=what == "everything")))
