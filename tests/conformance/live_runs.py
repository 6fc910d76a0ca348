"""A unit `u` of a program in the language, run for ever over a folder, by a clock that stands until it is set."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from types import ModuleType

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.optimizer import optimise
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Origin, Source
from ghcm.spg.graph import Program
from tests.redis_server import connected
from tests.unit.runtime.operators.harness import module_of

__all__ = ["Running", "checked", "put"]


@dataclass
class Compiled:
    """A checked program with its generated code."""

    plan: Program

    def line(self, origin: Origin) -> str:
        return ""

    def unit_module(self, unit: str) -> ModuleType:
        return module_of(self.plan, self.plan.unit(unit))

    def load(self, name: str) -> ModuleType:
        return importlib.import_module(name)


def checked(text: str) -> Program:
    """The program as it is written."""
    return lower(parse(Source("live.istream", text)))


class Running:
    """An engine over a directory, with a clock that stands until it is set."""

    def __init__(self, base: Path, now: int, text: str, *, optimised: bool = True) -> None:
        self.now = now
        self._base = base
        written = checked(text)
        self._program = optimise(written).program if optimised else written
        self._committed = Event()
        self._engine = Engine(
            Compiled(self._program),
            connections=connected(base),
            state=base / "state",
            commit_s=0.01,
            changed=self._committed.set,
            now=lambda: self.now,
        )
        self._engine.start()

    def until(self, done: Callable[[], bool]) -> None:
        """Wait for a commit behind which that holds."""
        while not done():
            assert self._committed.wait(60)
            self._committed.clear()

    def rows(self, sink: str) -> list[object]:
        """What a sink holds."""
        self._engine.check()
        return sorted(read(self._program.sink(sink), connected(self._base)), key=repr)

    def commits(self) -> int:
        """How many commits there were."""
        return self._engine.commits

    def commit(self, times: int) -> None:
        """Wait for so many commits."""
        before = self.commits()
        self.until(lambda: self.commits() >= before + times)

    def close(self) -> None:
        """Stop, as a crash would."""
        self._engine.close()


def put(base: Path, name: str, text: str) -> None:
    """Have a whole file appear in the folder `in`."""
    (base / f".{name}").write_text(text)
    (base / f".{name}").rename(base / "in" / name)
