"""What the `EventTime` tasks of a unit tell each other, so that an idle partition goes on with those that are not.

Which partitions are idle is the operators' business (`Idler`). Nothing here asks a clock.
"""

from __future__ import annotations

from collections.abc import Callable

from ghcm.runtime.operator import NEVER, Idler
from ghcm.runtime.watermarks import least_of_partitions
from ghcm.spg.graph import Unit
from ghcm.spg.meetings import companies
from ghcm.spg.ops import EventTime

__all__ = ["Idleness", "Member"]


class Idleness:
    """What is common to the `EventTime` tasks of one running unit. Belongs to the loop's thread."""

    def __init__(self, unit: Unit) -> None:
        idle = {task.id for task in unit.tasks if isinstance(task.op, EventTime) and task.op.idle_us is not None}
        self._companies = {id: company for id, company in companies(unit).items() if company & idle}
        self._least: dict[str, int | None] = dict.fromkeys(self._companies, NEVER)
        self._members: dict[str, Member] = {}

    def member(self, task: str) -> Member | None:
        """The part of a task in it; None where no partition that its records may meet is ever idle."""
        if task not in self._companies:
            return None
        return self._members.setdefault(task, Member(self, task))

    def tell(self, task: str, least: int | None) -> int | None:
        """The least watermark of the task's partitions that are not idle is this now, None if there are none; the same
        of its whole company.
        """
        company = self._companies[task]
        if self._least[task] != least:
            self._least[task] = least
            for other in company - {task}:
                if other in self._members:
                    self._members[other].stir()
        return min((each for id in company if (each := self._least[id]) is not None), default=None)


class Member:
    """The part of one task. `wake` is called when another task has gone on, `stirred` asks for
    a `settle`."""

    def __init__(self, idleness: Idleness, task: str) -> None:
        self.wake: Callable[[], None] = lambda: None
        self.stirred = False
        self._idleness = idleness
        self._task = task

    def stir(self) -> None:
        """Another task of the company has gone on."""
        self.stirred = True
        self.wake()

    def settle(self, open_partitions: frozenset[str] | None, clock: Idler) -> None:
        """Tell how far the partitions have come, and have the idle ones follow the others."""
        if open_partitions is None:
            return
        awake = open_partitions - clock.silent()
        least = self._idleness.tell(self._task, least_of_partitions(awake, clock.watermarks()) if awake else None)
        if least is not None:
            for partition in clock.idle() & open_partitions:
                clock.follow(partition, least)
