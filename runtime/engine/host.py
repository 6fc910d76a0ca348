"""What a tasklet is part of, a running unit or a call, and what it gives to that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.engine.operator import Publication
from ghcm.runtime.engine.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Saved:
    """What a tasklet gives to a snapshot: its state as of the barrier, and what left its path before it.

    `position` is a source's (JSON); `version` and `rows` a sink's prepared version. `finished`: it had ended by then
    and gives nothing any more.
    """

    state: Mapping[int, bytes] = field(default_factory=dict[int, bytes])
    position: object = None
    version: str | None = None
    rows: int = 0
    finished: bool = False
    letters: tuple[DeadLetter, ...] = ()
    publications: tuple[tuple[str, Publication], ...] = ()


class Host(Protocol):
    """What a tasklet is part of: a running unit, or a call."""

    scheduler: Scheduler

    def acknowledge(self, name: str, snapshot: int, saved: Saved) -> None:
        """The tasklet has passed this snapshot's barrier."""
        ...

    def finished(self, name: str, saved: Saved) -> None:
        """The tasklet has ended."""
        ...

    def failed(self, name: str, error: Exception) -> None:
        """The tasklet cannot go on."""
        ...

    def touched(self) -> None:
        """Something has happened that the next snapshot has to hold."""
        ...


@dataclass(slots=True)
class Counters:
    """Records that went in and out of a tasklet, and records that failed there."""

    taken: int = 0
    given: int = 0
    dead: int = 0
