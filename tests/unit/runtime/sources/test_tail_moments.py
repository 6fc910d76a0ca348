"""Logs that are written, renamed, copied and cut at random moments, and a source that goes on from its last snapshot at
others: every line is read once.
"""

from __future__ import annotations

import random
from pathlib import Path
from threading import Event

import pytest

from ghcm.runtime.sources.tail import TailSource
from ghcm.spg.connectors import Files, Format
from ghcm.types import Field, Int, String, Struct
from tests.campaigns import times
from tests.unit.runtime.sources.log_writer import LogWriter

LINE = Struct((Field("n", Int()), Field("pad", String())))
LOGS = Files("in/app.log*", Format("json"), clock="continues", follow=True, tail=True)
SEEDS = times(2)


class Reading:
    """What a unit does with a source: snapshots hold what was polled before them, the rest is lost with it."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._committed: list[object] = []
        self._position: object = None
        self.start()

    def start(self) -> None:
        """Go on behind the last snapshot."""
        self._rows: list[object] = []
        self._woken = Event()
        self._source = TailSource(LOGS, LINE, "p", self._base)
        self._source.open(self._position, self._woken.set)

    def poll(self) -> bool:
        """Take what is there; whether anything was."""
        batch = self._source.poll(8192, self._fail)
        self._rows += [] if batch is None else [row[0] for row in batch.rows()]
        return batch is not None

    def snapshot(self) -> None:
        self._committed += self._rows
        self._rows = []
        self._position = self._source.position()

    def kill(self) -> None:
        self._source.close()

    def until(self, count: int) -> list[object]:
        """All rows, once there are so many."""
        while len(self._committed) + len(self._rows) < count:
            self._woken.clear()
            if not self.poll():
                assert self._woken.wait(60), (len(self._committed) + len(self._rows), count)
        self.snapshot()
        return self._committed

    def _fail(self, reason: object, detail: str, text: str) -> None:
        raise AssertionError((reason, detail, text))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_line_is_read_once(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    (tmp_path / "in").mkdir()
    with LogWriter(tmp_path / "in", chance) as writer:
        reading = Reading(tmp_path)
        for _ in range(200):
            match chance.randrange(12):
                case 0:
                    reading.kill()
                    reading.start()
                case 1 | 2:
                    reading.snapshot()
                case 3 | 4 | 5:
                    reading.poll()
                case _:
                    writer.act()
        found = reading.until(writer.written)
        reading.kill()
    assert sorted(found) == list(range(1, writer.written + 1))  # type: ignore[type-var]
