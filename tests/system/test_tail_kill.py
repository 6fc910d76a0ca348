"""Logs that are written, renamed, copied and cut at random moments, while the engine that tails them is killed: in the
end the sink holds every line once.
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from ghcm.runtime.sinks.sink import read
from tests.campaigns import times
from tests.conformance.live_runs import checked
from tests.redis_server import connected
from tests.system.tail_child import TEXT
from tests.unit.runtime.small_operators import dead_letters
from tests.unit.runtime.sources.log_writer import LogWriter

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
KILLS = times(2)


def start(base: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.system.tail_child", str(base)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def killed_while_written(base: Path, writer: LogWriter, chance: random.Random) -> int:
    """Write while the engine is killed again and again, and until it has read all: so many lines."""
    for _ in range(KILLS):
        process = start(base)
        assert process.stdout is not None
        if chance.randrange(4):
            process.stdout.readline()  # it has come as far as a commit
        for _ in range(chance.randrange(60)):
            writer.act()
        process.kill()
        process.communicate()
        for _ in range(chance.randrange(20)):
            writer.act()
    process = start(base)
    assert process.stdout is not None
    for _ in range(15):
        writer.act()
    while (line := process.stdout.readline()) and int(line) < writer.written:
        pass
    process.kill()
    process.communicate()
    return writer.written


def test_every_line_is_there_once(tmp_path: Path) -> None:
    chance = random.Random(KILLS)
    (tmp_path / "in").mkdir()
    with LogWriter(tmp_path / "in", chance) as writer:
        written = killed_while_written(tmp_path, writer, chance)
    program = checked(TEXT)
    rows = list(read(program.sink("out"), connected(tmp_path)))
    assert sorted(cast("int", row[0]) for row in rows) == list(range(1, written + 1))
    assert dead_letters(tmp_path, program, "u") == []
