"""How long a program takes to check and to compile as it grows: 500, 1,000, 2,000 and 4,000 lines; and one unit to be
optimised: 250, 500, 1,000 and 2,000 tasks.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.table import Row

__all__ = ["measure", "written"]

LINES = (500, 1000, 2000, 4000)
TASKS = (250, 500, 1000, 2000)
RECORD = "record Event { at: timestamp, name: string, size: int, ratio: float?, tag: string? }"
UNITS = """
sink shares{n} = redis("shares{n}", key = r => (r.key, r.window.start))
sink kept{n}   = parquet("out/kept{n}", mode = append)

stream watch{n} {{
  rows = files("in{n}/*.jsonl", format = json).as(Event).event_time(e => e.at, disorder = 5s)

  rows.filter(e => e.size > {n} and e.tag is not null)
      .map_to_pair(e => (e.tag, e.size + {n} * 2))
      .window(tumbling(10s))
      .reduce_by_key((a, b) => a + b)
      .to(shares{n})

  totals = rows.map_to_pair(e => (e.name, 1)).reduce_by_key((a, b) => a + b)

  rows.filter(e => e.name.starts_with("a") or e.size % 7 == 3)
      .to(kept{n})
      .publish(rebuild{n}(since = min(at)), every = 100)
}}

responsive batch rebuild{n}(since: timestamp, depth: int = 3) {{
  kept{n}.read()
      .filter(e => e.at >= since)
      .map(e => if e.size > depth then e.name.upper() else e.name.lower())
      .filter(name => name.length() > {n})
      .distinct()
      .reply()
}}

responsive stream most{n}(n: int = 10) {{
  watch{n}.totals.read().top(n, by = p => p.value).reply()
}}
"""


def written(lines: int) -> str:
    """A program of about so many lines: groups of three units that write, call and read each other."""
    groups = max(1, round((lines - 3) / (UNITS.count("\n"))))
    return "\n".join(["program large", "", RECORD, *(UNITS.format(n=n).rstrip("\n") for n in range(groups))]) + "\n"


def long_unit(tasks: int) -> str:
    """A program of one chain of about so many tasks: filters, maps, and a union and groups now and then."""
    steps = [f"    .filter(e => e.size > {n} and e.ratio is not null)" for n in range(tasks)]
    for n in range(1, tasks, 2):
        steps[n] = f"    .map(e => e with {{ size: e.size + {n} }})"
    for n in range(9, tasks, 20):
        steps[n] = "    .distinct()"
    return "\n".join(
        ["program long", RECORD, 'sink kept = parquet("kept", mode = append)', "batch watch {",
         '  files("in", format = json).as(Event)', *steps, "    .to(kept)", "}", ""]
    )  # fmt: skip


def measure(runs: int) -> list[Row]:
    """For each size the median of `runs` times in one process that has compiled before."""
    from ghcm import driver

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.istream"
        path.write_text(written(LINES[0]))
        driver.compile(path)
        rows: list[Row] = []
        for lines in LINES:
            path.write_text(written(lines))
            checking = _median(lambda: driver.check(path), runs)
            compiling = _median(lambda: driver.compile(path), runs)
            figure = f"check {checking * 1e3:.0f} ms, compile {compiling * 1e3:.0f} ms"
            counted = path.read_text().count("\n")
            aim = "aim: 1 s" if lines == 1000 else f"{compiling / counted * 1e6:.0f} us a line"
            rows.append(Row("compile", f"a program of {counted:,} lines", figure, aim, f"median of {runs}"))
        return rows + [_optimised(Path(folder) / "long.istream", tasks, runs) for tasks in TASKS]


def _optimised(path: Path, tasks: int, runs: int) -> Row:
    from ghcm import driver
    from ghcm.optimizer import optimise

    path.write_text(long_unit(tasks))
    program = driver.check(path)
    optimise(program)
    seconds = _median(lambda: optimise(program), runs)
    aim = "aim: 2 s" if tasks == 1000 else f"{seconds / tasks * 1e6:.0f} us a task"
    return Row("compile", f"a unit of {tasks:,} tasks, optimised", f"{seconds * 1e3:.0f} ms", aim, f"median of {runs}")


def _median(run: Callable[[], object], runs: int) -> float:
    times: list[float] = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
