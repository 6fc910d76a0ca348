"""The paper's experiment on task expansion: three million records from 1, 2, 4, 8 and 16 sources at once, planned
against unplanned, each in a process of its own, in turn; what they leave is compared.

The work is the same whatever the number of sources, so that whatever a run takes longer is what more sources cost.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from bench.table import Row
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.optimizer import optimise
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.instances import in_instances
from tests.conformance.live_runs import Compiled

__all__ = ["measure"]

RECORDS = 3_000_000
SOURCES = (1, 2, 4, 8, 16)
PLANS = ("unplanned", "planned")

PROGRAM = """
program expansion

record Flow {{ ts: timestamp, src: string, dst: string, service: string, bytes: int }}

sink shares = parquet("shares", mode = append)

stream main {{
  flows = {sources}.as(Flow).event_time(f => f.ts, disorder = 1s)
  flows.filter(f => f.bytes > 100 and f.dst.matches("^10[.]"))
       .map_to_pair(f => (f.src.split(".")[0] + "/" + f.service.upper(), f.bytes * 8 // 1000))
       .window(tumbling(60s))
       .reduce_by_key((a, b) => a + b)
       .to(shares)
}}
"""


def measure(runs: int) -> list[Row]:
    """The best of so many runs of each plan at each number of sources."""
    best = timed(runs)
    return [
        Row(
            "expansion",
            f"{sources} sources, {plan}",
            f"{best[plan][place]:.2f} s",
            f"{best[plan][place] / best['unplanned'][place]:.2f} x unplanned",
            f"{RECORDS:,} records, best of {runs}",
        )
        for place, sources in enumerate(SOURCES)
        for plan in PLANS
    ]


def timed(runs: int) -> dict[str, list[float]]:
    """By plan the seconds of its best run at each number of sources."""
    both = [of_sources(sources, runs) for sources in SOURCES]
    return {"unplanned": [unplanned for _, unplanned in both], "planned": [planned for planned, _ in both]}


def of_sources(sources: int, runs: int) -> tuple[float, float]:
    """The seconds of the best run at so many sources, planned and unplanned."""
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), sources)
        left: set[str] = set()
        seconds: dict[str, list[float]] = {plan: [] for plan in PLANS}
        for plan in PLANS * runs:
            took, found = run(Path(name), sources, plan)
            seconds[plan].append(took)
            left.add(found)
    if len(left) > 1:
        raise SystemExit(f"planned and unplanned runs leave other results: {left}")
    return min(seconds["planned"]), min(seconds["unplanned"])


def picture(best: Mapping[str, Sequence[float]]) -> str:
    """The times as SVG: a line for each plan."""
    most = max(max(each) for each in best.values())
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="480" height="260" font-family="sans-serif" font-size="12">',
        '<rect width="480" height="260" fill="#ffffff"/>',
        *(f'<text x="{60 + 90 * n}" y="245" text-anchor="middle">{each}</text>' for n, each in enumerate(SOURCES)),
        f'<text x="8" y="24">{most:.1f} s</text><text x="8" y="225">0 s</text>',
    ]
    for (plan, seconds), colour in zip(best.items(), ("#5f6b7a", "#1f6feb"), strict=True):
        points = " ".join(f"{60 + 90 * n},{220 - 200 * each / most:.1f}" for n, each in enumerate(seconds))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines.append(f'<text x="{60 if plan == PLANS[0] else 150}" y="212" fill="{colour}">{plan}</text>')
    return "\n".join([*lines, "</svg>", ""])


def write(folder: Path, sources: int) -> None:
    """The records, dealt out over so many files."""
    number = pl.int_range(RECORDS, eager=True)
    flows = pl.DataFrame(
        {
            "ts": (number // 1000).cast(pl.Float64),
            "src": "192.168." + (number * 7 % 250).cast(pl.String) + ".1",
            "dst": pl.select(
                pl.when(number % 3 == 0).then(pl.lit("8.8.8.8")).otherwise(pl.lit("10.0.0.9"))
            ).to_series(),
            "service": pl.Series(["http", "dns", "ssl", "ssh"] * (RECORDS // 4)),
            "bytes": number * 13 % 1500,
        }
    )
    for each in range(sources):
        flows.gather_every(sources, each).write_ndjson(folder / f"flows{each}.json")


def run(folder: Path, sources: int, plan: str) -> tuple[float, str]:
    """The seconds of one run in a process of its own, and what it left."""
    command = [sys.executable, "-m", "bench.expansion", str(folder), str(sources), plan]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return found["seconds"], found["left"]


def program_of(sources: int, plan: str) -> Program:
    """The program for so many sources, as it is optimised, with one instance of each task where it is not planned."""
    files = ", ".join(f'files("flows{each}.json", format = json)' for each in range(sources))
    text = PROGRAM.format(sources=f"union({files})" if sources > 1 else files)
    program = optimise(lower(parse(Source("expansion.istream", text)))).program
    if plan == "planned":
        return program
    return replace(program, units=tuple(in_instances(unit, lambda _: 1) for unit in program.units))


def main(folder: Path, sources: int, plan: str) -> None:
    """One run; its seconds and the sum of what it left as JSON."""
    program = program_of(sources, plan)
    with tempfile.TemporaryDirectory(dir=folder) as state:
        connections = Connections(folder)
        engine = Engine(Compiled(program), connections=connections, state=Path(state), tame_collector=True)
        started = time.perf_counter()
        engine.run()
        seconds = time.perf_counter() - started
        rows = sorted(map(repr, read(program.sink("shares"), connections)))
    for file in (folder / "shares").rglob("*"):
        if file.is_file():
            file.unlink()
    print(json.dumps({"seconds": seconds, "left": f"{len(rows)} {hash_of(rows)}", "busy": engine.status()["busy_s"]}))


def hash_of(rows: list[str]) -> str:
    """A short name of what was left."""
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:12]


if __name__ == "__main__":
    if len(sys.argv) == 2:  # draw into this file
        Path(sys.argv[1]).write_text(picture(timed(3)), encoding="utf-8")
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
