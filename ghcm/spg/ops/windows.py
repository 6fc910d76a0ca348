"""Windows: which there are, the operation that puts records into them, and the clock of those of processing time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Windows of `size_us` that start `offset_us` (less than the size) behind multiples of it since 1970; the end is
    exclusive.
    """

    size_us: int
    offset_us: int = 0


@dataclass(frozen=True, slots=True)
class Sliding:
    """Windows of `size_us` that start `offset_us` (less than `every_us`) behind multiples of `every_us` (at most the
    size) since 1970; a record is in all that hold its time.
    """

    size_us: int
    every_us: int
    offset_us: int = 0


@dataclass(frozen=True, slots=True)
class ArrivalTime:
    """Gives each record the time at which it came here, by the clock of the unit, in place of any event time.

    That time never goes back, and it is the watermark behind the task too, whether records come or not: windows close
    when the clock has passed their end, and nothing is late. After a recovery a record that comes again has the time
    at which it came again. Stream units only: a batch has no moment at which its records come.
    """


@dataclass(frozen=True, slots=True)
class Window:
    """Adds the column `window` by event time: each record once for each of its windows that is open, in their order.

    A window is closed for a record where `end + allowed_lateness` <= its partition's watermark; a record without an
    open window is a dead letter (`late`).
    """

    assigner: Tumbling | Sliding
    allowed_lateness_us: int


@dataclass(frozen=True, slots=True)
class Sessions:
    """Adds the column `window`: the session that the record is in, of all records or, of pairs, of those of its key.

    A session holds records of which each comes less than `gap_us` after the one before, and lasts from the first until
    `gap_us` behind the last, which it excludes: a record exactly then begins another one. A record by itself would end
    its session `gap_us` after it; where that + `allowed_lateness` <= its partition's watermark it is a dead letter
    (`late`), whatever session it would have fallen into, so that no other partition decides about it. Sessions are
    made of all other records, in whatever order they come.
    """

    gap_us: int
    allowed_lateness_us: int
