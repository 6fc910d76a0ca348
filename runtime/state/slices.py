"""Windows that share slices: a record is added to its slice once, and a window is put together of slices when it
closes. A slice stands in the pane of the first window that has it, and goes on to the next one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

WindowTimes: TypeAlias = tuple[int, int]
"""The start and the end of a window, microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Slices:
    """Windows of `size` that begin every `every` microseconds. With `begin` the windows of each `size` that begins so
    far behind its multiples: all of them begin there, and each ends `every` behind the one before.
    """

    size: int
    every: int
    begin: int | None = None

    @property
    def grow(self) -> bool:
        """Whether a window holds all that the one before it has, unless it is the first from its start."""
        return self.begin is not None

    def window(self, end: int) -> WindowTimes:
        """The one window that ends there."""
        if self.begin is None:
            return end - self.size, end
        last = end - 1
        return last - (last - self.begin) % self.size, end

    def kept_from(self, end: int) -> int:
        """The start of the first slice of the window with that end which the next window has, too."""
        start, _ = self.window(end)
        return start + self.every if self.begin is None else start if end < start + self.size else end

    def windows_of(self, pane: WindowTimes) -> Iterator[WindowTimes]:
        """The windows of a slice, from that of its pane on."""
        start, end = pane
        while True:
            window = self.window(end)
            if window[0] > start:
                return
            yield window
            end += self.every
