"""The tasklets at the end of a graph. That of a sink hands batches to a writer's thread and takes part in the two-phase
commit of its unit; that of a reply keeps the rows that answer a call.

Between a barrier and the commit that it begins, a sink takes nothing: what comes belongs to the next version and
waits on the edges.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from ghcm.errors import GhcmError
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.engine.edge import Barrier, Edge, End, Partitions, Watermark
from ghcm.runtime.engine.host import Host, Saved
from ghcm.runtime.engine.inlets import Inlets
from ghcm.runtime.engine.instances import Instance
from ghcm.runtime.engine.scheduler import Progress
from ghcm.runtime.engine.tasklet import UnitTasklet
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.worker import Worker
from ghcm.spg.graph import Task
from ghcm.spg.ops import To

_ROWS_IN_FLIGHT, _BYTES_IN_FLIGHT = 131_072, 32 << 20
_ROWS_AT_ONCE, _FEW = 65_536, 4096
"""Rows of a batch at most, and of batches that are written as one where they wait for the writer."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A batch that the writer has not taken yet."""

    content: pl.DataFrame | list[Row]
    size: int
    arrived: float
    taken_back: bool

    def goes_with(self, other: _Waiting) -> bool:
        """Whether both can be written as one."""
        return (type(self.content), self.taken_back) == (type(other.content), other.taken_back)


class SinkTasklet(UnitTasklet):
    """Writes what the instances before it give to one sink. `version` gives the name of the version that it commits
    with a snapshot.

    `call`: it is part of a call, so that there is a version at the end even if it has no rows.
    """

    def __init__(
        self,
        task: Task,
        open_writer: Callable[[], SinkWriter],
        worker: Worker,
        edges: Sequence[Edge],
        host: Host,
        version: Callable[[int, str], str],
        *,
        call: bool,
        urgent: bool = False,
    ) -> None:
        super().__init__(Instance(task.id), host, edges, urgent=urgent)
        assert isinstance(task.op, To)
        self.sink = task.op.sink
        self.worker = worker
        self._due = call
        self._open_writer = open_writer
        self._writer: SinkWriter | None = None  # the worker's, but for the question whether there is one
        self._open = False
        self._inlets = Inlets(edges)
        self._version = version
        self._flight = self._flight_size = 0
        self._uncommitted = 0
        self._waiting = deque[_Waiting]()
        """What belongs to the next version."""
        self._passed = -1
        """The number of the snapshot that was prepared last."""
        self._ended = False

    def open(self, committed: str | None, done: Callable[[], None]) -> None:
        """Open the writer, drop what a dead one has left and commit again what the snapshot says is committed."""

        def opened(_: None) -> None:
            self._open = True
            self._host.scheduler.wake(self)
            done()

        def open_() -> None:
            if self._writer is None:
                self._writer = self._open_writer()
            self._writer.recover([committed] if committed else [])
            if committed:
                self._writer.commit(committed)

        self.worker.submit(open_, opened, self.fail)

    @property
    def _opened(self) -> SinkWriter:
        assert self._writer is not None, "a sink takes nothing before it is open"
        return self._writer

    @property
    def _is_full(self) -> bool:
        """Whether the writer has enough to do."""
        return self._flight >= _ROWS_IN_FLIGHT or self._flight_size >= _BYTES_IN_FLIGHT

    def backlog(self) -> int:
        """Records that wait to be written."""
        return super().backlog() + self._flight

    @property
    def ended(self) -> bool:
        """Whether its inputs have ended."""
        return self._ended

    def step(self) -> Progress:
        """Hand on one item."""
        if self._done:
            return Progress.DONE
        if not self._open or self._is_full:
            return Progress.WAITING
        found = self._inlets.take(_ROWS_AT_ONCE)
        if found is None:
            return Progress.WAITING
        place, item = found
        match item:
            case Batch() as batch:
                self.counters.took(batch)
                content = batch.frame().select(batch.schema.names) if batch.columnar else _bare(batch)
                self._write(content, batch.size, self.edges[place].arrived, taken_back=batch.taken_back)
            case Barrier(snapshot=snapshot):
                self._inlets.wait(place, snapshot)
                self._align()
            case End():
                self._inlets.ended[place] = True
                self._align()
                if all(self._inlets.ended):
                    self._ended = True
                    self._host.finished(self.name, Saved(finished=True))
            case Watermark() | Partitions():
                pass
        return Progress.WORKED

    def _align(self) -> None:
        if self._inlets.aligned():
            self.prepare(self._inlets.barrier)

    def prepare(self, snapshot: int) -> None:
        """Prepare what was written as the version of this snapshot and acknowledge it; nothing new means no version.
        What comes from now on belongs to the next one, and need not wait for the commit.
        """
        if snapshot <= self._passed:  # its inputs have ended behind the barrier, before this was acknowledged
            return
        self._passed = snapshot
        due = self._due and self._ended
        if not self._uncommitted and not due:
            self._host.acknowledge(self.name, snapshot, Saved(finished=self._ended))
            return
        version, ended = self._version(snapshot, self.name), self._ended
        self._uncommitted, self._waiting = 0, deque[_Waiting]()

        def prepared(rows: int) -> None:
            self._due &= not due
            self._host.acknowledge(self.name, snapshot, Saved(version=version, rows=rows, finished=ended))

        self.worker.submit(lambda: self._opened.prepare(version), prepared, self.fail)

    def commit(self, version: str | None, done: Callable[[], None]) -> None:
        """Make a prepared version visible, then call `done`."""
        if version is None:
            done()
            return
        self.worker.submit(lambda: self._opened.commit(version), lambda _: done(), self.fail)

    def close(self) -> None:
        """As `UnitTasklet.close`: drops what is not prepared and ends the thread."""
        super().close()

        def close() -> None:
            if self._writer is not None:
                self._writer.close()

        self.worker.close(close)

    def _write(self, content: pl.DataFrame | list[Row], size: int, arrived: float, *, taken_back: bool) -> None:
        rows = len(content)
        self._flight, self._flight_size = self._flight + rows, self._flight_size + size
        self._uncommitted += rows
        waiting, taken = self._waiting, list[_Waiting]()
        waiting.append(_Waiting(content, size, arrived, taken_back))

        def write() -> None:
            """Nothing, where what came before has taken this with it."""
            if not taken:  # else it is tried again
                taken.extend(_few(waiting))
            if taken:
                writer = self._opened
                (writer.remove if taken[0].taken_back else writer.write)(_as_one([each.content for each in taken]))

        def written(_: None) -> None:
            full = self._is_full
            for each in taken:
                self._flight, self._flight_size = self._flight - len(each.content), self._flight_size - each.size
                self.counters.done(each.arrived)
            if full:
                self._host.scheduler.wake(self)

        self.worker.submit(write, written, self.fail)


def _few(waiting: deque[_Waiting]) -> Iterator[_Waiting]:
    """Take the first, if there is one, and those behind it that go with it while they are few rows."""
    if not waiting:
        return
    first = waiting.popleft()
    yield first
    rows = len(first.content)
    while waiting and waiting[0].goes_with(first):
        rows += len(waiting[0].content)
        if rows > _FEW:
            return
        yield waiting.popleft()


def _as_one(contents: list[pl.DataFrame | list[Row]]) -> pl.DataFrame | list[Row]:
    if len(contents) == 1:
        return contents[0]
    frames = [each for each in contents if not isinstance(each, list)]
    if frames:
        return pl.concat(frames)
    return [row for each in contents if isinstance(each, list) for row in each]


def _bare(batch: Batch) -> list[Row]:
    """The rows without their hidden columns."""
    rows = batch.rows()
    return [row[:-2] for row in rows] if batch.timed else list(rows)


_MOST_ROWS = 1_000_000


class ReplyTasklet(UnitTasklet):
    """Keeps rows until the call is answered."""

    def __init__(self, task: str, edge: Edge, host: Host) -> None:
        super().__init__(Instance(task), host, [edge], urgent=True)
        self.rows: list[Row] = []
        self._edge = edge

    def step(self) -> Progress:
        """Keep one batch."""
        if self._done:
            return Progress.DONE
        match self._edge.take(_MOST_ROWS):
            case None:
                return Progress.WAITING
            case Batch() as batch:
                self.counters.took(batch)
                self.rows.extend(_bare(batch))
                if len(self.rows) > _MOST_ROWS:
                    raise GhcmError(
                        f'the reply "{self.name}" has more than {_MOST_ROWS:,} rows',
                        code="GHCM-745",
                        hint="write large results to a sink: .to(sink) in place of .reply()",
                    )
            case Barrier(snapshot=snapshot):
                self._host.acknowledge(self.name, snapshot, Saved())
            case End():
                self._done = True
                self._host.finished(self.name, Saved(finished=True))
            case Watermark() | Partitions():
                pass
        return Progress.WORKED
