"""What all tasklets have: the edges that lead to them, what they have counted, and the outbox through which they give
batches and steering items to consumers, state, failed records and publications to snapshots.

What a tasklet does stands with its kind: `source_tasklet`, `operator_tasklet`, `sink_tasklet`.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ghcm.runtime.contract import Publication
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.engine.edge import Edge, Item
from ghcm.runtime.engine.host import Host, Saved
from ghcm.runtime.engine.instances import Instance
from ghcm.runtime.engine.routes import Route
from ghcm.runtime.histogram import Histogram


@dataclass(slots=True)
class Counters:
    """What has happened at a tasklet since it was made: records that went in and out of it, and records that failed
    there; records in each batch that it took; how long a batch was there, from the arrival of its oldest record until
    the tasklet was done with it, how long steps have held the loop, and others worked for it (seconds).
    """

    taken: int = 0
    given: int = 0
    dead: int = 0
    given_bytes: int = 0
    batches: Histogram = field(default_factory=Histogram)
    latency: Histogram = field(default_factory=Histogram)
    steps: Histogram = field(default_factory=Histogram)
    beside_s: float = 0.0

    def took(self, batch: Batch) -> None:
        """A batch has come."""
        self.taken += len(batch)
        self.batches.note(len(batch))

    def done(self, arrived: float) -> None:
        """The tasklet is done with a batch that came then (`time.perf_counter`)."""
        self.latency.note(time.perf_counter() - arrived)


class UnitTasklet:
    """A tasklet of a unit or call, with the edges that lead to it."""

    def __init__(self, instance: Instance, host: Host, edges: Sequence[Edge] = (), *, urgent: bool = False) -> None:
        self.instance = instance
        self.name = instance.name
        self.urgent = urgent
        self.edges = edges
        self.counters = Counters()
        self._host = host
        self._done = False

    @property
    def ended(self) -> bool:
        """Whether it gives nothing any more."""
        return self._done

    def backlog(self) -> int:
        """Records that wait at its inputs; what waits outside is not known."""
        return sum(edge.rows for edge in self.edges)

    def bytes_taken(self) -> int:
        """About how many bytes of memory the records took that it has taken."""
        return sum(edge.bytes_taken for edge in self.edges)

    def stepped(self, seconds: float) -> None:
        """A step has held the loop so long."""
        self.counters.steps.note(seconds)

    def fail(self, error: Exception) -> None:
        """A step raised this."""
        self._done = True
        self._host.failed(self.instance.task, error)

    def close(self) -> None:
        """Never step again, and give back what it holds."""
        self._done = True
        for edge in self.edges:
            edge.close()


class Outputs:
    """The outbox of a tasklet of the task of this name: all consumers take a batch, or none does. Keeps failed records
    and publications until the next barrier.

    A step that has given something and lasts too long is refused, too, so that others have their turn before it goes
    on.
    """

    def __init__(self, name: str, routes: Sequence[Route], counters: Counters, host: Host) -> None:
        self._name = name
        self._host = host
        self.routes = list(routes)
        """One for each task that reads it."""
        self._counters = counters
        self._letters: list[DeadLetter] = []
        self._publications: list[tuple[str, Publication]] = []
        self.cut_short = False
        """Whether the last refusal was for the time alone."""
        self._until = math.inf
        self._gave = False
        self._left: Iterator[Batch] | None = None
        self._next: Batch | None = None

    def begin(self, until: float) -> None:
        """A step begins, which should end by then (`time.perf_counter`)."""
        self._until, self._gave, self.cut_short = until, False, False

    def has_room(self) -> bool:
        """Whether a batch would be taken."""
        rooms = [edge.has_room() for route in self.routes for edge in route.edges]  # each full one is to wake somebody
        return all(rooms)

    def offer(self, batch: Batch) -> bool:
        """Give the batch to all consumers, or refuse."""
        if not len(batch):
            return True
        if self._gave and time.perf_counter() > self._until:
            self.cut_short = True
            return False
        if not self.has_room():
            return False
        self._gave = True
        for route in self.routes:
            route.give(batch)
        self._counters.given += len(batch)
        self._counters.given_bytes += batch.size
        return True

    def give(self, make: Callable[[], Iterable[Batch]]) -> bool:
        """Offer the batches of one call of an operator; `False` where one was refused: then nothing else may be given
        before this was called again with the same. `make` is called once.
        """
        left = self._left
        if left is None:
            left = self._left = iter(make())
            self._next = next(left, None)
        while self._next is not None:
            if not self.offer(self._next):
                return False
            self._next = next(left, None)
        self._left = None
        return True

    @property
    def giving(self) -> bool:
        """Whether batches of a call are left, of which one was refused."""
        return self._left is not None

    def close(self) -> None:
        """Forget what was refused: what an operator has begun to give knows this outbox."""
        self._left = self._next = None

    def send(self, item: Item) -> bool:
        """Give a steering item to all consumers."""
        for route in self.routes:
            for edge in route.edges:
                edge.offer(item)
        return True

    def dead(self, letter: DeadLetter) -> None:
        """Keep a failed record."""
        self._counters.dead += 1
        self._letters.append(letter)
        self._host.dead(letter)

    def publish(self, publication: Publication) -> None:
        """Keep an instruction until the commit."""
        self._publications.append((self._name, publication))

    def saved(self, state: Mapping[int, bytes], *, position: object = None, finished: bool = False) -> Saved:
        """What belongs to the snapshot whose barrier passes now."""
        letters, publications = tuple(self._letters), tuple(self._publications)
        self._letters.clear()
        self._publications.clear()
        return Saved(state, position=position, finished=finished, letters=letters, publications=publications)
