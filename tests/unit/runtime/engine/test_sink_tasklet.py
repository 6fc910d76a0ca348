"""The tasklet of a sink, whose writer is slower than what comes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Event

import polars as pl

from ghcm.runtime.data.batch import TAKEN_BACK, Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.engine.edge import Barrier, Edge
from ghcm.runtime.engine.host import Saved
from ghcm.runtime.engine.scheduler import Scheduler
from ghcm.runtime.engine.sink_tasklet import SinkTasklet
from ghcm.runtime.sinks.discard_sink import DiscardWriter
from ghcm.runtime.worker import Worker
from ghcm.types import Field, Int, Struct
from tests.conformance.live_runs import checked

TEXT = """program p
sink none = discard()
stream u { memory([1]).to(none) }
"""


class Slow(DiscardWriter):
    """Waits until it may begin, and once fails to write."""

    def __init__(self, may: Event) -> None:
        super().__init__()
        self._may, self._fails = may, True
        self.done: list[object] = []

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self._may.wait()
        if self._fails:
            self._fails = False
            raise ConnectionError("it is away")
        self.done.append(rows.rows() if isinstance(rows, pl.DataFrame) else list(rows))

    def remove(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self.done.append(("removed", list(rows)))

    def prepare(self, version: str) -> int:
        self.done.append(version)
        return 0


class Unit:
    """The host, which stops the loop with the second snapshot."""

    keeps_state = True

    def __init__(self) -> None:
        self.scheduler = Scheduler()

    def acknowledge(self, name: str, snapshot: int, saved: Saved) -> None:
        if snapshot == 2:
            self.scheduler.stop()

    def finished(self, name: str, saved: Saved) -> None: ...

    def failed(self, task: str, error: Exception) -> None:
        raise error

    def mark_dirty(self) -> None: ...

    def dead(self, letter: object) -> None: ...


def test_what_waits_for_the_writer_is_written_as_one_up_to_a_barrier() -> None:
    task = next(each for each in checked(TEXT).units[0].tasks if each.id.endswith(".to"))
    schema, unit, may, edge = Struct((Field("n", Int()),)), Unit(), Event(), Edge()
    writer, worker = Slow(may), Worker("slow", unit.scheduler.post)
    tasklet = SinkTasklet(task, lambda: writer, worker, [edge], unit, lambda number, _: f"v{number}", call=False)

    def rows(*numbers: int, partition: str = "") -> Batch:
        return Batch.from_rows(schema, [(n,) for n in numbers], partition=partition)

    frame = Batch.from_frame(schema, rows(6, 7).frame())
    items = (rows(1), rows(2, 3), rows(2, partition=TAKEN_BACK), rows(4), Barrier(1), rows(5), frame, frame, Barrier(2))

    def opened() -> None:
        for item in items:
            edge.offer(item)
            tasklet.step()
        may.set()

    tasklet.open(None, opened)
    unit.scheduler.run()
    tasklet.close()
    worker.join(time.monotonic() + 60)
    assert writer.done == [
        [(1,), (2,), (3,)],
        ("removed", [(2,)]),
        [(4,)],
        "v1",
        [(5,)],
        [(6,), (7,), (6,), (7,)],
        "v2",
    ]
