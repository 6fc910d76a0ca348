"""The named tables of the units that run in a slot, as responsive units read them: copies, taken between two steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ghcm.errors import GhcmError, suggest
from ghcm.runtime.contract import INFINITY, NEVER
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.runtime.slot.unit import UnitRun


@dataclass(frozen=True, slots=True)
class Copy:
    """A consistent copy of a table: its pairs, and the watermark (microseconds) that they are as of."""

    pairs: Sequence[tuple[object, object]]
    as_of: int


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of these units. To be asked in the loop's thread; GhcmError where there is no such unit or table."""

    runs: Mapping[str, UnitRun]

    def copy(self, unit: str, task: str, key: object = None) -> Copy:
        """All pairs of a table, or only that of a key."""
        return Copy(self.pairs(unit, task, key, key is not None), self.watermark(unit, task))

    def pairs(self, unit: str, task: str, key: object, one: bool) -> list[tuple[object, object]]:
        """The pairs of a table; only that of the key where `one` is asked for, which may be null."""
        table, _ = self._run(unit).table(task)
        if not one:
            return table.copy()
        if key is None:
            return [pair for pair in table.copy() if pair[0] is None]
        return table.copy(key)

    def watermark(self, unit: str, task: str) -> int:
        """The time that a table is as of: where event time says nothing, now."""
        watermark = self._run(unit).table(task)[1]
        return watermark if NEVER < watermark < INFINITY else now_us()

    def _run(self, unit: str) -> UnitRun:
        run = self.runs.get(unit)
        if run is None:
            raise GhcmError(f'unit "{unit}" does not run here', code="GHCM-747", hint=suggest(unit, self.runs))
        return run
