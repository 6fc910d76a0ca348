"""What an engine gives back while nothing comes to it: memory that its allocators keep for the next block, and pages of
libraries, most of which loading has touched and nothing since. What it needs of them again comes back page by page,
without the disk where the machine has room for it.

Linux with the C library of GNU; elsewhere nothing is given back.
"""

import ctypes
import re
import sys
import time
from pathlib import Path

_RESTS_S = 10.0
_DONT_NEED = 4
_RANGE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r-[-x]p [0-9a-f]+ \S+ [1-9]\d* .*\.so\b")
_MAPS, _SMAPS = Path("/proc/self/maps"), Path("/proc/self/smaps")


class Rest:
    """Made while no other thread loads libraries: only of those that are there then does it give pages back, since the
    parts of one that is being loaded may still be written to.
    """

    def __init__(self) -> None:
        maps = _MAPS.read_text("utf-8", "surrogateescape") if sys.platform == "linux" else ""
        self._loaded = frozenset(_ranges(maps))
        self._moved = time.monotonic()
        self._resting = False

    def look(self, *, moves: bool) -> None:
        """To be called every second or so, with whether anything has happened since; gives back once it rests."""
        now = time.monotonic()
        if moves:
            self._moved, self._resting = now, False
        elif not self._resting and now - self._moved > _RESTS_S:
            self._resting = True
            self.give_back()

    def give_back(self) -> None:
        """Give back free memory of the C library, and pages that are as they are in their files."""
        if not self._loaded:
            return
        libc = ctypes.CDLL(None)
        if hasattr(libc, "malloc_trim"):
            libc.malloc_trim(0)
        libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for each in as_in_files(_SMAPS.read_text("utf-8", "surrogateescape")) & self._loaded:
            start, end = (int(bound, 16) for bound in each.split("-"))
            libc.madvise(start, end - start, _DONT_NEED)


def _ranges(maps: str) -> list[str]:
    """Where libraries lie that cannot be written to."""
    return [f"{found[1]}-{found[2]}" for line in maps.splitlines() if (found := _RANGE.match(line))]


def as_in_files(smaps: str) -> set[str]:
    """The libraries in such a text of which no page is a copy, in memory or swapped out. The tables of addresses that
    loading has written are copies.
    """
    found, last = dict[str, int](), ""
    for line in smaps.splitlines():
        name, _, rest = line.partition(" ")
        if name in ("Anonymous:", "Swap:"):
            found[last] = found.get(last, 0) + int(rest.split()[0])
        elif "-" in name:
            last = next(iter(_ranges(line)), "")
    return {each for each, copies in found.items() if each and not copies}
