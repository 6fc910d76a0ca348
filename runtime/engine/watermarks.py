"""How far event time has come at a task: the least of its inputs, and at an `EventTime` task the least of its source
partitions.

A partition that has not begun holds time back, one that has ended does not; an input that has ended does not. Whether
a record is late is not decided here but by the watermark that it carries.
"""

from __future__ import annotations

from collections.abc import Mapping

from ghcm.runtime.engine.operator import INFINITY, NEVER


class Inputs:
    """The watermarks and open partitions of a task's inputs, by ordinal."""

    def __init__(self, count: int) -> None:
        self._times = [NEVER] * count
        self._open: list[frozenset[str] | None] = [None] * count
        self._ended = [False] * count

    @property
    def watermark(self) -> int:
        """The least watermark of the inputs that have not ended; INFINITY once all have."""
        times = [time for time, ended in zip(self._times, self._ended, strict=True) if not ended]
        return min(times, default=INFINITY)

    @property
    def partitions(self) -> frozenset[str] | None:
        """The open partitions of all inputs together; None while an input has not said which it has."""
        known: set[str] = set()
        for each, ended in zip(self._open, self._ended, strict=True):
            if each is None and not ended:
                return None
            known |= each or frozenset() if not ended else frozenset()
        return frozenset(known)

    def advance(self, ordinal: int, time: int) -> None:
        """Input `ordinal` has a new watermark; one that goes back is ignored."""
        self._times[ordinal] = max(self._times[ordinal], time)

    def announce(self, ordinal: int, partitions: frozenset[str]) -> None:
        """Input `ordinal` has these open partitions now."""
        self._open[ordinal] = partitions

    def end(self, ordinal: int) -> None:
        """Input `ordinal` has ended."""
        self._ended[ordinal] = True

    @property
    def all_ended(self) -> bool:
        """Whether every input has ended."""
        return all(self._ended)

    def has_ended(self, ordinal: int) -> bool:
        """Whether input `ordinal` has ended."""
        return self._ended[ordinal]


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
