"""Edges: the bounded queues between tasklets, and what travels on them.

An edge in one slot hands objects over without a copy. It knows nothing of tasks; it tells its ends when there is
something to take or room to give.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ghcm.runtime.data.batch import Batch


@dataclass(frozen=True, slots=True)
class Watermark:
    """No record of the sender will close a window that ends at or before this time (microseconds)."""

    time: int


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partitions of the sender's sources that have not ended, each to be waited for by event time."""

    open: frozenset[str]


@dataclass(frozen=True, slots=True)
class Barrier:
    """What comes before belongs to this snapshot, what comes after to later ones."""

    snapshot: int


@dataclass(frozen=True, slots=True)
class End:
    """Nothing comes after it."""


Item: TypeAlias = Batch | Watermark | Partitions | Barrier | End


def _nothing() -> None: ...


class Edge:
    """A queue bounded by records and bytes; a batch larger than the bounds is taken when the queue holds no other.

    `wake_receiver` is called when an item arrives in an empty queue, `wake_sender` when a full one has room again (it
    has room when half of what fills it has left). `shared`: another input of its receiver has its records from where
    this one has them, too, so that what waits here for that one to end may be what it waits for.
    """

    def __init__(self, rows: int = 131_072, size: int = 16 << 20, *, shared: bool = False) -> None:
        self.wake_receiver: Callable[[], None] = _nothing
        self.wake_sender: Callable[[], None] = _nothing
        self.shared = shared
        self._limits = (rows, size)
        self._items: deque[Item] = deque()
        self._arrivals: deque[float] = deque()
        """When each batch that waits has come."""
        self.rows = 0
        """Records that wait."""
        self.bytes_taken = 0
        self.arrived = 0.0
        """When the oldest records of the batch that was taken last have come (`time.perf_counter`)."""
        self._size = 0
        self._refused = False

    def close(self) -> None:
        """Wake nobody any more. An edge knows its ends and they know it: this is where the circle is cut."""
        self.wake_receiver = self.wake_sender = _nothing

    def has_room(self) -> bool:
        """Whether a batch would be taken now; if not, the sender is woken once there is room."""
        room = self.rows < self._limits[0] and self._size < self._limits[1]
        if not room and not self._refused:
            self._refused = True
            if self.shared:
                self.wake_receiver()
        return room

    @property
    def stuck(self) -> bool:
        """Whether a sender waits for room."""
        return self._refused

    def offer(self, item: Item) -> bool:
        """Take the item, or refuse a batch when full."""
        if isinstance(item, Batch):
            if not len(item):
                return True
            if not self.has_room():
                return False
            self.rows += len(item)
            self._size += item.size
            self._arrivals.append(time.perf_counter())
        elif isinstance(item, Watermark) and self._items and isinstance(self._items[-1], Watermark):
            self._items.pop()
        self._items.append(item)
        if len(self._items) == 1:
            self.wake_receiver()
        return True

    def take(self, rows: int) -> Item | None:
        """The next item; waiting batches of one partition come as one, a longer batch in parts."""
        if not self._items:
            return None
        item = self._items.popleft()
        if not isinstance(item, Batch):
            return item
        self.arrived = self._arrivals.popleft()
        taken, count, size = [item], len(item), item.size
        while count < rows and self._items and _joins(item, self._items[0], rows - count):
            other = self._items.popleft()
            assert isinstance(other, Batch)
            self._arrivals.popleft()
            taken.append(other)
            count, size = count + len(other), size + other.size
        batch = Batch.concat(taken)
        if count > rows:
            rest = batch.slice(rows, count)
            self._items.appendleft(rest)
            self._arrivals.appendleft(self.arrived)
            batch, count, size = batch.slice(0, rows), rows, size - rest.size
        self._left(count, size)
        return batch

    def _left(self, rows: int, size: int) -> None:
        self.rows -= rows
        self.bytes_taken += size
        self._size = self._size - size if self.rows else 0
        if self._refused and self.rows * 2 <= self._limits[0] and self._size * 2 <= self._limits[1]:
            self._refused = False
            self.wake_sender()


def _joins(first: Batch, other: Item, rows: int) -> bool:
    return (
        isinstance(other, Batch)
        and other.partition == first.partition
        and len(other) <= rows
        and other.columnar == first.columnar
        and other.schema == first.schema
    )
