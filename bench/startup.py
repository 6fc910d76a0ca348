"""What a user waits for: `import ghcm`, `ghcm check`, and `ghcm run` to its first result on a program without Spark;
and what such a program takes while nothing comes.
"""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from bench.table import Row

__all__ = ["measure"]

EXAMPLE = Path(__file__).parents[1] / "examples" / "wordcount"
GHCM = [str(Path(sys.executable).with_name("ghcm"))]
LIVE = """program first

sink seen = files("seen", format = json, mode = append)

stream numbers { generate(rows = 2000, rate = 500).map(g => { n: g.number }).to(seen) }
"""
STILL = """program still

sink seen = files("seen", format = json, mode = append)

stream numbers { generate(rows = 500, rate = 500).map(g => { n: g.number }).to(seen) }

stream words { counts = files("in/*.txt", follow = true).map_to_pair(l => (l.text, 1)).reduce_by_key((a, b) => a + b) }
"""
ASKED = "\nresponsive stream count(word: string) { words.counts.read(word).reply() }\n"
_SETTLES_S, _STILL_S = 15.0, 20.0


def measure(runs: int) -> list[Row]:
    """Each `runs` times after one run that is not counted."""
    check = [*GHCM, "check", str(EXAMPLE / "wordcount.istream")]
    return [
        _row("import ghcm", "aim: 300 ms", _times(lambda: _command([sys.executable, "-c", "import ghcm"]), runs)),
        _row("python alone", "", _times(lambda: _command([sys.executable, "-c", "pass"]), runs)),
        _row("ghcm check on the example", "aim: 1 s", _times(lambda: _command(check), runs)),
        _row("ghcm run to the first result, no Spark", "aim: 1.5 s", _times(_first_result, runs)),
        _still("an engine to which nothing comes", STILL),
        _still("the same with a responsive unit, so with Redis", STILL + ASKED),
    ]


def _row(subject: str, beside: str, times: list[float]) -> Row:
    figure = f"median {statistics.median(times) * 1e3:.0f} ms, worst {max(times) * 1e3:.0f} ms"
    return Row("start", subject, figure, beside, f"{len(times)} processes")


def _times(run: Callable[[], float], runs: int) -> list[float]:
    return [run() for _ in range(runs + 1)][1:]


def _command(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def _still(subject: str, text: str) -> Row:
    """What the engine takes once it has given back what it does not need, after ten seconds without work."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "in").mkdir()
        program = Path(folder) / "still.istream"
        program.write_text(text)
        with subprocess.Popen(
            [*GHCM, "run", str(program), "--json"], cwd=folder, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            next(line for line in process.stdout if json.loads(line)["event"] == "commit")
            time.sleep(_SETTLES_S)
            below = psutil.Process(process.pid).children(recursive=True)
            [engine] = [each for each in below if each.cmdline()[-1].endswith("slot.standby")]
            before = sum(engine.cpu_times()[:2])
            time.sleep(_STILL_S)
            share = (sum(engine.cpu_times()[:2]) - before) / _STILL_S
            memory = engine.memory_full_info()
            process.send_signal(signal.SIGINT)
            process.communicate()
    own, shared = memory.uss / 1e6, (memory.rss - memory.uss) / 1e6
    figure = f"{own:.0f} MB of its own, {shared:.0f} MB of libraries that processes share; {share:.2%} of a core"
    return Row("start", subject, figure, "aims: 120 MB, 1 %", f"{_STILL_S:.0f} s")


def _first_result() -> float:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "first.istream"
        program.write_text(LIVE)
        start = time.perf_counter()
        process = subprocess.Popen(
            [*GHCM, "run", str(program), "--json"], cwd=folder, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "commit":
                seconds = time.perf_counter() - start
                process.communicate()
                return seconds
    raise SystemExit("ghcm run showed no result")
