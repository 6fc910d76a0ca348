"""How far event time has come at a task: the least of its inputs, and at an `EventTime` task the least of its source
partitions; and what the `EventTime` tasks of a unit tell each other, so that an idle partition goes on with those that
are not.

A partition that has not begun holds time back, one that has ended does not; an input that has ended does not. Whether
a record is late is not decided here but by the watermark that it carries; which partitions are idle is the operators'
business (`Idler`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ghcm.runtime.contract import INFINITY, NEVER, Idler
from ghcm.runtime.engine.instances import instances
from ghcm.spg.graph import Unit, watermark_groups
from ghcm.spg.stages import event_time_of


class Inputs:
    """The watermarks of the edges that lead to a task, their open partitions (None: not said yet), which have ended;
    by place.
    """

    def __init__(self, ended: list[bool]) -> None:
        self._times = [NEVER] * len(ended)
        self.open: list[frozenset[str] | None] = [None] * len(ended)
        self.ended = ended

    @property
    def watermark(self) -> int:
        """The least watermark of the inputs that have not ended; INFINITY once all have."""
        times = [time for time, ended in zip(self._times, self.ended, strict=True) if not ended]
        return min(times, default=INFINITY)

    @property
    def partitions(self) -> frozenset[str] | None:
        """The open partitions of all inputs together; None while an input has not said which it has."""
        known: set[str] = set()
        for each, ended in zip(self.open, self.ended, strict=True):
            if each is None and not ended:
                return None
            known |= each or frozenset() if not ended else frozenset()
        return frozenset(known)

    def advance(self, place: int, time: int) -> None:
        """An edge has a new watermark; one that goes back is ignored."""
        self._times[place] = max(self._times[place], time)


def least_of_partitions(open_partitions: frozenset[str] | None, watermarks: Mapping[str, int]) -> int:
    """The watermark behind an `EventTime` task.

    >>> least_of_partitions(frozenset({"a", "b"}), {"a": 7, "b": 5, "ended": 1})
    5
    >>> least_of_partitions(frozenset({"a", "not begun"}), {"a": 7}) == NEVER
    True
    >>> least_of_partitions(frozenset(), {"a": 7}) == INFINITY
    True
    """
    if open_partitions is None:
        return NEVER
    return min((watermarks.get(name, NEVER) for name in open_partitions), default=INFINITY)


@dataclass(frozen=True, slots=True)
class _Reached:
    """How far a task has come: the least watermark of its partitions that are not silent, the greatest of those that
    have ended; None where there are none.
    """

    least: int | None = NEVER
    ended: int | None = None


class Idleness:
    """What is common to the instances of the `EventTime` tasks of one running unit. Belongs to the loop's thread."""

    def __init__(self, unit: Unit) -> None:
        clocks = {task.id: event_time_of(task.op) for task in unit.tasks}
        idle = {id for id, clock in clocks.items() if clock is not None and clock.idle_us is not None}
        names = {task.id: [each.name for each in instances(task)] for task in unit.tasks}
        self._groups = {
            name: frozenset(each for other in group for each in names[other])
            for task, group in watermark_groups(unit).items()
            if group & idle
            for name in names[task]
        }
        self._reached = dict.fromkeys(self._groups, _Reached())
        self._followers: dict[str, Follower] = {}

    def follower(self, name: str) -> Follower | None:
        """The part of an instance in it; None where no partition that its records may meet is ever idle."""
        if name not in self._groups:
            return None
        return self._followers.setdefault(name, Follower(self, name))

    def tell(self, name: str, reached: _Reached) -> int | None:
        """An instance has come so far; how far idle partitions of its group go on: as far as the least that is not
        silent, or, once there is none, as far as what has ended had come. None: nowhere.
        """
        group = self._groups[name]
        if self._reached[name] != reached:
            self._reached[name] = reached
            for other in group - {name}:
                if other in self._followers:
                    self._followers[other].stir()
        all_reached = [self._reached[id] for id in group]
        awake = [each.least for each in all_reached if each.least is not None]
        ended = [each.ended for each in all_reached if each.ended is not None]
        return min(awake) if awake else max(ended, default=None)


class Follower:
    """The part of one instance. `wake` is called when another has gone on, `stirred` asks for a `settle`."""

    def __init__(self, idleness: Idleness, name: str) -> None:
        self.wake: Callable[[], None] = lambda: None
        self.stirred = False
        self._idleness = idleness
        self._name = name

    def stir(self) -> None:
        """Another of the group has gone on."""
        self.stirred = True
        self.wake()

    def settle(self, open_partitions: frozenset[str] | None, clock: Idler) -> None:
        """Tell how far the partitions have come, and have the idle ones follow the others."""
        if open_partitions is None:
            return
        marks = clock.watermarks()
        awake = open_partitions - clock.silent()
        ended = [mark for partition, mark in marks.items() if partition not in open_partitions]
        reached = _Reached(least_of_partitions(awake, marks) if awake else None, max(ended, default=None))
        watermark = self._idleness.tell(self._name, reached)
        if watermark is not None:
            for partition in clock.idle() & open_partitions:
                clock.follow(partition, watermark)
