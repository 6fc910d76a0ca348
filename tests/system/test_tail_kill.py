"""Logs that are written, renamed, copied and cut at random moments, while the engine that tails them is killed: in the
end the sink holds every line once.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import TextIO

import pytest

from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.sink import read
from tests.conformance.live_runs import checked
from tests.system.tail_child import TEXT
from tests.unit.runtime.small_operators import dead_letters

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("GHCM_KILLS", "12")) // 2


class Writer:
    """An application that logs, and what is done to its log."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.log = folder / "app.log"
        self.written = 0
        self._chance = chance
        self._file = self.log.open("a")
        self._rotated = 0

    def act(self) -> None:
        """Write some lines, the last of them in two halves now and then; rarely give the log another name, or copy and
        cut it."""
        for _ in range(self._chance.choice([1, 1, 5, 400])):
            text = self._line()
            half = self._chance.randrange(len(text))
            self._write(self._file, text[:half])
            self._write(self._file, text[half:])
        match self._chance.randrange(25):
            case 0:
                old, self._file = self._file, self._renamed()
                self._write(old, self._line())
                old.close()
            case 1:
                self._rotated += 1
                shutil.copy(self.log, self.log.with_name(f"app.log.{self._rotated}"))
                os.truncate(self.log, 0)
            case _:
                pass

    def _line(self) -> str:
        self.written += 1
        return json.dumps({"n": self.written, "pad": "é" * self._chance.randrange(60)}, ensure_ascii=False) + "\n"

    def _write(self, file: TextIO, text: str) -> None:
        file.write(text)
        file.flush()
        if self._chance.randrange(50) == 0:
            Event().wait(self._chance.uniform(0, 0.02))

    def _renamed(self) -> TextIO:
        self._rotated += 1
        self.log.rename(self.log.with_name(f"app.log.{self._rotated}"))
        return self.log.open("a")


def start(base: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.system.tail_child", str(base)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("seed", range(2))
def test_every_line_is_there_once(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    (tmp_path / "in").mkdir()
    writer = Writer(tmp_path / "in", chance)
    for _ in range(KILLS):
        process = start(tmp_path)
        assert process.stdout is not None
        if chance.randrange(4):
            process.stdout.readline()  # it has come as far as a commit
        for _ in range(chance.randrange(100)):
            writer.act()
        process.kill()
        process.communicate()
        for _ in range(chance.randrange(20)):
            writer.act()
    process = start(tmp_path)
    assert process.stdout is not None
    for _ in range(30):
        writer.act()
    while (line := process.stdout.readline()) and int(line) < writer.written:
        pass
    process.kill()
    process.communicate()
    program = checked(TEXT)
    rows = list(read(program.sink("out"), Connections(tmp_path)))
    assert sorted(row[0] for row in rows) == list(range(1, writer.written + 1))  # type: ignore[type-var]
    assert dead_letters(tmp_path, program, "u") == []
