"""Programs that are measured in turn, each in a process of its own that stays warm: wall time, and the processor time
of the process with all that it has started, which is what Spark's executors take.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import psutil

from bench.table import Row

__all__ = ["Contestant", "Taken", "answer", "beside", "in_turn", "processor_s"]


@dataclass(frozen=True, slots=True)
class Contestant:
    """A program by its name, and the command of a process that runs it once for each line that it is given."""

    name: str
    command: Sequence[str]


@dataclass(frozen=True, slots=True)
class Taken:
    """The seconds of one run, by the clock and of processors."""

    wall: float
    processor: float


def in_turn(contestants: Sequence[Contestant], runs: int) -> dict[str, list[Taken]]:
    """What each run of each took, but for a first one that warms up."""
    started = {each.name: _start(each.command) for each in contestants}
    try:
        taken = [{name: _run(name, process) for name, process in started.items()} for _ in range(runs + 1)]
    finally:
        for process in started.values():
            process.communicate()
    return {name: [each[name] for each in taken[1:]] for name in started}


def _start(command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _run(name: str, process: subprocess.Popen[str]) -> Taken:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    for line in process.stdout:
        if line.startswith("{"):
            found: dict[str, float] = json.loads(line)
            return Taken(found["wall"], found["processor"])
    raise SystemExit(f"{name} has ended")


def answer(run: Callable[[], None]) -> None:
    """The other end: run for each line, and tell what that took."""
    for _ in sys.stdin:
        processor, wall = processor_s(), time.perf_counter()
        run()
        taken = {"wall": time.perf_counter() - wall, "processor": processor_s() - processor}
        print(json.dumps(taken), flush=True)


def processor_s() -> float:
    """Seconds that the processors have worked for this process and for those that it has started and that are there."""
    own = psutil.Process()
    times = [each.cpu_times() for each in (own, *own.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def beside(
    benchmark: str, names: Mapping[str, str], results: Mapping[str, Sequence[Taken]], by_hand: Sequence[str], how: str
) -> list[Row]:
    """A row for each, beside the best of those that are written by hand, or the first where none of these ran."""
    walls = {name: median(each.wall for each in taken) for name, taken in results.items()}
    processors = {name: median(each.processor for each in taken) for name, taken in results.items()}
    best = min((name for name in by_hand if name in results), key=walls.__getitem__, default=next(iter(results)))
    return [
        Row(
            benchmark,
            names[name],
            f"{walls[name]:.1f} s, {processors[name]:.1f} s of processors",
            f"{walls[name] / walls[best]:.2f} x {names[best]}, "
            f"{processors[name] / processors[best]:.2f} x its processors",
            how,
        )
        for name in results
    ]
