"""What a user waits for: `import ghcm`, `ghcm check`, and `ghcm run` to its first result on a program without Spark."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.table import Row

__all__ = ["measure"]

EXAMPLE = Path(__file__).parents[1] / "examples" / "wordcount"
GHCM = [str(Path(sys.executable).with_name("ghcm"))]
LIVE = """program first

sink seen = files("seen", format = json, mode = append)

stream numbers { generate(rows = 2000, rate = 500).map(g => { n: g.number }).to(seen) }
"""


def measure(runs: int) -> list[Row]:
    """Each `runs` times after one run that is not counted."""
    check = [*GHCM, "check", str(EXAMPLE / "wordcount.istream")]
    return [
        _row("import ghcm", "aim: 300 ms", _times(lambda: _command([sys.executable, "-c", "import ghcm"]), runs)),
        _row("python alone", "", _times(lambda: _command([sys.executable, "-c", "pass"]), runs)),
        _row("ghcm check on the example", "aim: 1 s", _times(lambda: _command(check), runs)),
        _row("ghcm run to the first result, no Spark", "aim: 2 s", _times(_first_result, runs)),
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
