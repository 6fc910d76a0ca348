"""What records of event time are put together by: the windows that they are assigned to, as data of an operation, and
the operation that lists what comes before each.
"""

from dataclasses import dataclass

from ghcm.spg.traits import TIMED, State, Together, Traits, operation


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


@operation(Traits(label="preceding {count}", state=State.KEYED, exchange=Together.KEY, hidden=TIMED))
class Preceding:
    """Gives with the value of each pair (`current`) the list of those before it of its key (`before`), the last so many
    at most, the latest at the end: in the order of event time, of equal times in that of the values.

    A record whose time is before its partition's watermark is a dead letter (`late`), and nobody's predecessor.
    """

    count: int
