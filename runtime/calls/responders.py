"""The responsive units of an engine that answer calls: started together, and swapped when the program grows.

How one of them takes calls and answers is `responder`'s matter; when they may start, the engine's.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable

from ghcm.runtime.calls.receiver import Calls
from ghcm.runtime.calls.responder import Responder
from ghcm.runtime.engine.services import Services
from ghcm.spg.graph import Unit


class Responders:
    """The responders by unit. `watermark` gives that of a table, in the loop."""

    def __init__(self, job: str, calls: Calls | None, watermark: Callable[[str, str], int]) -> None:
        self._calls = calls
        self._watermark = watermark
        self._executor = f"{job}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._generations: dict[str, int] = {}
        self._by_unit: dict[str, Responder] = {}
        self._retired: list[Responder] = []
        """Those of units that the program has no more: they may have calls at hand."""
        self._started = False

    def __len__(self) -> int:
        return len(self._by_unit)

    @property
    def started(self) -> bool:
        """Whether they take calls."""
        return self._started

    def add(self, unit: Unit, services: Services) -> None:
        """One more, which takes calls if the others do."""
        generation = self._generations[unit.name] = self._generations.get(unit.name, -1) + 1
        responder = Responder(unit, services, self._calls, self._executor, self._watermark, generation)
        self._by_unit[unit.name] = responder
        if self._started:
            responder.start()

    def start(self) -> None:
        """Take calls from now on; in the loop."""
        self._started = True
        for responder in self._by_unit.values():
            responder.start()

    def become(self, units: Iterable[Unit], services: Services) -> None:
        """Be those of another version of the program, between two steps: what is no more answers what it has taken."""
        after = {unit.name: unit for unit in units}
        for name in [name for name in self._by_unit if name not in after]:
            responder = self._by_unit.pop(name)
            responder.retire()
            self._retired = [each for each in self._retired if not each.closed] + [responder]
        for name, unit in after.items():
            if name in self._by_unit:
                self._by_unit[name].become(unit, services)
            else:
                self.add(unit, services)

    def all(self) -> list[Responder]:
        """Each of them, and those that only answer what they have at hand."""
        return [*self._by_unit.values(), *self._retired]

    def status(self) -> dict[str, dict[str, object]]:
        """How each stands, as JSON."""
        return {name: responder.status() for name, responder in self._by_unit.items()}
