"""What a tasklet is part of, a running unit or a call, and what it gives to snapshots: state, position, failed records
and publications.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ghcm.runtime.contract import Publication
from ghcm.runtime.data.dead_letter import DeadLetter
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


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task in a snapshot: of each of its instances the key groups, and the position if it is a source; whether all
    had finished; `since` the version of the program that a publish policy began with.
    """

    groups: tuple[Mapping[int, bytes], ...] = ()
    positions: tuple[object, ...] = ()
    finished: bool = False
    since: int = 1

    @classmethod
    def of(cls, saved: Sequence[Saved], since: int = 1) -> TaskState:
        """What the instances of a task have given."""
        groups, positions = tuple(each.state for each in saved), tuple(each.position for each in saved)
        return cls(groups, positions, all(each.finished for each in saved), since)


class Host(Protocol):
    """What a tasklet is part of: a running unit, or a call. `name` is that of an instance, `task` the id of a task.
    `keeps_state`: what operators save is kept by somebody.
    """

    scheduler: Scheduler
    keeps_state: bool

    def acknowledge(self, name: str, snapshot: int, saved: Saved) -> None:
        """The tasklet has passed this snapshot's barrier."""

    def finished(self, name: str, saved: Saved) -> None:
        """The tasklet has ended."""

    def failed(self, task: str, error: Exception) -> None:
        """The tasklet cannot go on."""

    def mark_dirty(self) -> None:
        """Something has happened that the next snapshot has to hold."""

    def dead(self, letter: DeadLetter) -> None:
        """A record of the tasklet has failed; it is in what the tasklet saves, too."""
