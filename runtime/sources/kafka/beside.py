"""A process beside this one, which fetches topics and cuts them into records: what threads of one interpreter would do
no sooner, for each of the many short steps waits for it.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, cast

from ghcm.runtime.sources.kafka.handover import ROOMS, Taker
from ghcm.runtime.sources.kafka.parts import Part
from ghcm.runtime.sources.kafka.record_batches import Unread

if TYPE_CHECKING:
    from ghcm.runtime.sources.kafka.progress import Partition

_log = logging.getLogger(__name__)

alone = Lock()
"""Held by the one process that works for this one: another core is all that it is for."""


@dataclass(frozen=True, slots=True)
class Order:
    """Partitions from offsets up to their ends, or near the newest messages of those that have none; `times` and
    `lines` as those of a `Cutter`. `options`: those of a client, as plain values, which take no time to be imported.
    """

    options: Mapping[str, Any]
    offsets: Mapping[Partition, int]
    ends: Mapping[Partition, int]
    times: bool
    lines: bool


@dataclass(frozen=True, slots=True)
class Ready:
    """An order can be given."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing more comes; `why` if something was not plain."""

    why: str = ""


class Beside:
    """The process, as who started it has it. `at_work`: it has an order."""

    def __init__(self, rooms: list[int]) -> None:
        line = [sys.executable, "-m", "ghcm.runtime.sources.kafka", *map(str, rooms)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(line, bufsize=0, stdin=pipe, stdout=pipe, pass_fds=rooms, process_group=0)
        self.at_work = False
        self._rooms = rooms
        self._lock, self._closed = Lock(), False
        assert self.process.stdin is not None and self.process.stdout is not None
        self._taker = Taker(rooms, self.process.stdout.fileno(), self.process.stdin.fileno())

    @classmethod
    def started(cls) -> Beside | None:
        """None where there is one already, or neither a core nor memory for it."""
        if sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2 or not alone.acquire(blocking=False):
            return None
        rooms = list[int]()
        try:
            rooms += (os.memfd_create("ghcm-kafka") for _ in range(ROOMS))
            return cls(rooms)
        except OSError as error:
            _log.debug("topics are read without a process beside: %s", error)
            _left(rooms)
            return None

    def is_ready(self, seconds: float = 0.0) -> bool:
        """Whether it can be given an order, which it has not yet; waits so long for that. Raises `Over`."""
        if self.at_work or not self._taker.has_come(seconds):
            return False
        taken = self._taker.take(Event())
        return taken is not None and isinstance(taken[0], Ready)

    def begin(self, order: Order) -> None:
        """Give it the order."""
        self.at_work = True
        self._taker.tell(pickle.dumps(order))

    def parts(self, closed: Event) -> Generator[tuple[Part, int | None]]:
        """What it has cut, and the room, which is to be freed; until that is all or the source is closed. Raises
        `Unread` where something is not plain, and `Over` where the process has ended.
        """
        while (taken := self._taker.take(closed)) is not None:
            thing, room = taken
            if isinstance(thing, Ended):
                if thing.why:
                    raise Unread(thing.why)
                return
            yield cast("Part", thing), room

    def free(self, room: int | None) -> None:
        """What lies in this room is no longer needed. Any thread may say so."""
        with self._lock:
            if room is not None and not self._closed:
                self._taker.free(room)

    def close(self) -> None:
        """End it: what it has not given away is nobody's."""
        self.process.kill()
        with self._lock, self.process:
            self._closed = True
        _left(self._rooms)


def _left(rooms: Iterable[int]) -> None:
    """Give back what the process had."""
    for room in rooms:
        os.close(room)
    alone.release()
