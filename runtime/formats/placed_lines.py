"""Lines in memory that holds more than them, as a topic's values do, of which somebody knows where each begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ghcm.runtime.data.arrays import Octets, Places
from ghcm.runtime.data.arrow import cut_out


@dataclass(frozen=True, slots=True)
class PlacedLines:
    """Lines in order, at least one, of which each has its end behind it. There may be blanks in front of a line, or
    whatever else if nobody reads it but by these places.
    """

    memory: Octets
    starts: Places
    ends: Places

    def __len__(self) -> int:
        return len(self.starts)

    def slice(self, first: int, behind: int) -> PlacedLines:
        """Some of them, by their numbers (from 0)."""
        return PlacedLines(self.memory, self.starts[first:behind], self.ends[first:behind])

    def moved(self, away: int) -> PlacedLines:
        """Their places so far away, in half the room."""
        return PlacedLines(self.memory, (self.starts + away).astype(np.int32), (self.ends + away).astype(np.int32))

    def line(self, number: int) -> bytes:
        """One of them."""
        return bytes(self.memory[self.starts[number] : self.ends[number]])

    def packed(self) -> PlacedLines:
        """These in memory that holds nothing else."""
        size = self.ends - self.starts + 1
        behind = np.cumsum(size)
        return PlacedLines(np.frombuffer(self.content(), np.uint8), behind - size, behind - 1)

    def content(self) -> bytes:
        """All of them, each with its end, and nothing else."""
        if bool((self.ends[:-1] + 1 == self.starts[1:]).all()):
            return self.memory[self.starts[0] : self.ends[-1] + 1].tobytes()
        return bytes(cut_out(self.memory, self.starts, self.ends + 1).buffers()[2])
