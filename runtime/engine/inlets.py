"""What leads to a tasklet and away from it: its edges, taken from in turns, their barriers lined up, which of them have
ended; and its routes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ghcm.runtime.engine.edge import Edge, Item
from ghcm.runtime.engine.routes import Route


@dataclass(slots=True)
class Ends:
    """The edges that lead to an instance, with the ordinal of the input that each is of, and the routes that lead away
    from it.
    """

    edges: list[Edge] = field(default_factory=list[Edge])
    ordinals: list[int] = field(default_factory=list[int])
    routes: list[Route] = field(default_factory=list[Route])


def _never(place: int) -> bool:
    del place
    return False


class Inlets:
    """The edges that lead to a tasklet, by place. An edge whose barrier has come waits until it has come on all that
    have not ended; then `aligned` says so once.
    """

    def __init__(self, edges: Sequence[Edge]) -> None:
        self.edges = edges
        self.ended = [False] * len(edges)
        self.barrier = 0
        """The number of the snapshot whose barrier came last."""
        self._waiting: set[int] = set()
        self._turn = 0

    def take(self, rows: int, held: Callable[[int], bool] = _never) -> tuple[int, Item] | None:
        """The next item and where it came, not from edges that wait, have ended or are held."""
        for offset in range(len(self.edges)):
            place = (self._turn + offset) % len(self.edges)
            if place in self._waiting or self.ended[place] or held(place):
                continue
            item = self.edges[place].take(rows)
            if item is not None:
                self._turn = place + 1
                return place, item
        return None

    @property
    def aligning(self) -> bool:
        """Whether an edge waits for others."""
        return bool(self._waiting)

    def wait(self, place: int, snapshot: int) -> None:
        """The barrier of this snapshot has come here."""
        self.barrier = snapshot
        self._waiting.add(place)

    def aligned(self) -> bool:
        """Whether the barrier has come on all edges that have not ended, since this was true last."""
        if not self._waiting or any(n not in self._waiting and not ended for n, ended in enumerate(self.ended)):
            return False
        self._waiting.clear()
        return True
