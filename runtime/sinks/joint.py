"""One writer for all tasks of a call that write to one sink: what they write is one version, under the call's id.

Each task has a thread of its own and goes through the phases by itself. The last to come to a phase does it for all,
so that nothing is seen before all is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from threading import Lock

import polars as pl

from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.runtime.sinks.backend import Commit, SinkWriter


class JointWriter:
    """The `SinkWriter` of so many `tasks`, each of which opens and closes it once. `prepare` tells the rows of all to
    the last of them, and none to the others.
    """

    def __init__(self, open_writer: Callable[[], SinkWriter], tasks: int) -> None:
        self._open_writer = open_writer
        self._tasks = tasks
        self._writer: SinkWriter | None = None
        self._prepared = 0
        self._committed = 0
        self._closed = 0
        self._lock = Lock()

    def open(self) -> JointWriter:
        """Open what is shared, unless another task has."""
        with self._lock:
            if self._writer is None:
                self._writer = self._open_writer()
                self._writer.recover()
        return self

    @property
    def _opened(self) -> SinkWriter:
        assert self._writer is not None, "a task opens it before it writes"
        return self._writer

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        with self._lock:
            self._opened.write(rows)

    def remove(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        with self._lock:
            self._opened.remove(rows)

    @property
    def pending(self) -> int:
        return self._opened.pending

    def prepare(self, version: str) -> int:
        with self._lock:
            self._prepared += 1
            return self._opened.prepare(version) if self._prepared >= self._tasks else 0

    def commit(self, version: str) -> Commit:
        with self._lock:
            self._committed += 1
            return self._opened.commit(version) if self._committed >= self._tasks else Commit(version, 0, now_us())

    def abort(self, version: str) -> None:
        with self._lock:
            self._opened.abort(version)

    def recover(self, keep: Collection[str] = ()) -> None:
        """Nothing: opening has done it for all."""

    def close(self) -> None:
        with self._lock:
            self._closed += 1
            if self._writer is not None and self._closed >= self._tasks:
                self._writer.close()
