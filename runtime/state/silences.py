"""When keys that are kept were heard of last, and which of them are silent."""

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count

from ghcm.runtime.contract import INFINITY


class Silences:
    """Keys by their names. Each waits once for when it would be silent for `ttl_us`, again if it was heard of then."""

    def __init__(self, ttl_us: int) -> None:
        self._ttl = ttl_us
        self._waiting: list[tuple[int, int, object]] = []
        """A heap: when a key would be silent, a number of its own, and the name of the key."""
        self._numbers = count()
        self._waits = set[object]()

    def silent(self, heard: int, watermark: int) -> bool:
        """Whether a key that was heard of last then is forgotten at a watermark."""
        return heard + self._ttl <= watermark

    def wait(self, name: object, heard: int) -> None:
        """Expect the key to fall silent."""
        if name not in self._waits:
            self._waits.add(name)
            heappush(self._waiting, (heard + self._ttl, next(self._numbers), name))

    def due(self, watermark: int) -> Iterator[object]:
        """The names of the keys that may be silent by then, each once; the end of the input leaves all as they are."""
        while watermark < INFINITY and self._waiting and self._waiting[0][0] <= watermark:
            *_, name = heappop(self._waiting)
            self._waits.discard(name)
            yield name
