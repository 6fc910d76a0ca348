"""A source far larger than memory should be, and a sink that stalls: the engine waits, and then nothing is missing.

`GHCM_SOURCE_MB=1000` runs the full size.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from ghcm.runtime.sinks.sink import read
from tests.redis_server import connected
from tests.system.engine_stalled_child import program

ROOT = Path(__file__).resolve().parents[2]
SIZE_MB = int(os.environ.get("GHCM_SOURCE_MB", "150"))
LIMIT_MB = 500


def make_lines(path: Path) -> int:
    """A file of `SIZE_MB`; how many lines it has."""
    line = "{:012d} the quick brown fox jumps over the lazy dog and runs away again\n"
    count = SIZE_MB * 1_000_000 // len(line.format(0))
    with path.open("w") as file:
        for start in range(0, count, 10_000):
            file.write("".join(line.format(n) for n in range(start, min(count, start + 10_000))))
    return count


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_stalled_sink_holds_the_source_back_and_loses_nothing(tmp_path: Path) -> None:
    count = make_lines(tmp_path / "big.txt")
    process = subprocess.Popen([sys.executable, "-m", "tests.system.engine_stalled_child", str(tmp_path)], cwd=ROOT)
    measured = psutil.Process(process.pid)
    most = 0

    def grown() -> int:
        """Megabytes held, once they have stopped growing; 0 while it still reads."""
        nonlocal most
        now = measured.memory_info().rss // 1_000_000
        calm = now <= most and (tmp_path / "stalled").exists()
        most = max(most, now)
        return now if calm else 0

    Retrying(stop=stop_after_delay(60), wait=wait_fixed(0.5), retry=retry_if_result(lambda held: not held))(grown)
    read_so_far = measured.io_counters().read_chars
    assert read_so_far < 120_000_000, "the source went on though nobody took its records"
    (tmp_path / "go").touch()
    while process.poll() is None:
        most = max(most, grown())
        try:
            process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            continue
    assert process.returncode == 0
    print(f"{SIZE_MB} MB read with at most {most} MB of memory")
    assert most < LIMIT_MB
    rows = read(program().sink("copy"), connected(tmp_path))
    assert sum(1 for n, row in enumerate(rows) if int(str(row[0])[:12]) == n) == count
