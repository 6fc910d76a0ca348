"""Snapshots of sinks: the latest version and the newest rows, kept so that the next one reads only what is new.

A sink may hold more than anybody wants to see at once: a snapshot says whether its rows are all. Blocks; to be used in
threads.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.backend import Commit, SinkSnapshot
from ghcm.runtime.sinks.sink import is_readable, view
from ghcm.spg.graph import Sink
from ghcm.supervisor.problems import Problem

MOST_ROWS = 100_000
"""Rows of a sink that are kept."""


class SinkWatch:
    """One sink, of which snapshots are taken again and again, one at a time. Problem 404 where it cannot be read."""

    def __init__(self, sink: Sink, connections: Connections) -> None:
        if not is_readable(sink):
            message = f'sink "{sink.name}" cannot be looked at: it is a place of {sink.connector.word}'
            raise Problem(404, "GHCM-341", message)
        self._view = view(sink, connections)
        self._lock = threading.Lock()

    def latest(self) -> Commit | None:
        """The latest commit, without its rows."""
        with self._lock:
            return self._view.latest()

    def snapshot(self) -> SinkSnapshot:
        """The sink as it is now."""
        with self._lock:
            return self._view.snapshot(MOST_ROWS)


@dataclass(slots=True)
class SinkWatches:
    """The watches of all sinks that somebody has asked for."""

    _watches: dict[tuple[str, str], tuple[Sink, Connections, SinkWatch]] = field(
        default_factory=dict[tuple[str, str], tuple[Sink, Connections, SinkWatch]]
    )

    def at(self, program: str, sink: Sink, connections: Connections) -> SinkWatch:
        """The watch of a sink; a new one where a program was submitted again with another sink of that name."""
        key = (program, sink.name)
        known = self._watches.get(key)
        if known is None or known[0] != sink or known[1] is not connections:
            known = self._watches[key] = (sink, connections, SinkWatch(sink, connections))
        return known[2]
