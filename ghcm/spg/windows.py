"""The windows that records are assigned to by event time, as data of an operation."""

from dataclasses import dataclass
from typing import TypeAlias

from ghcm.expr import Param


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Windows of `size_us` that start `offset_us` (less than it) behind multiples of it since 1970, ends excluded."""

    size_us: int
    offset_us: int = 0

    @property
    def every_us(self) -> int:
        """From one window to the next."""
        return self.size_us


@dataclass(frozen=True, slots=True)
class Sliding:
    """Windows of `size_us` that start `offset_us` (less than `every_us`) behind multiples of `every_us` (at most the
    size) since 1970; a record is in all that hold its time.
    """

    size_us: int
    every_us: int
    offset_us: int = 0


@dataclass(frozen=True, slots=True)
class Cumulating:
    """Windows as `Tumbling` has them, and what has come of each so far, each `every_us` (of which the size is a
    multiple): windows of one start, of which each ends `every_us` behind the one before. A record is in all that end
    behind its time.
    """

    size_us: int
    every_us: int
    offset_us: int = 0


@dataclass(frozen=True, slots=True)
class TumblingBy:
    """Windows as `Tumbling` has them, whose size is a parameter of the unit, a duration. Where that is not positive
    each record fails (`zero_divisor`). Batch units only: no window closes before the input has ended.
    """

    size: Param


Fixed: TypeAlias = Tumbling | Sliding | Cumulating
"""Windows whose sizes are known before the unit runs."""
Assigner: TypeAlias = Fixed | TumblingBy
