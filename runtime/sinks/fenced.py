"""Writers of sinks that go on only while their daemon has the lease of the program, whatever the sink is.

Between this check and the write the process may stand still; what a place itself can see is checked there, in the step
that makes rows visible.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import polars as pl

from ghcm.fence import Fence
from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.backend import Commit, SinkWriter


def fenced(writer: SinkWriter, connections: Connections) -> SinkWriter:
    """The writer, behind the fence where there is one."""
    return writer if connections.fence is None else _FencedWriter(writer, connections.fence)


@dataclass(frozen=True, slots=True)
class _FencedWriter:
    """A `SinkWriter` that asks before whatever others may see. Most stage rows as they come; one that shows them then
    asks by itself.
    """

    writer: SinkWriter
    fence: Fence

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self.writer.write(rows)

    def remove(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self.writer.remove(rows)

    @property
    def pending(self) -> int:
        return self.writer.pending

    def prepare(self, version: str) -> int:
        self.fence.held()
        return self.writer.prepare(version)

    def commit(self, version: str) -> Commit:
        self.fence.held()
        return self.writer.commit(version)

    def abort(self, version: str) -> None:
        self.fence.held()
        self.writer.abort(version)

    def recover(self, keep: Collection[str] = ()) -> None:
        self.fence.held()
        self.writer.recover(keep)

    def close(self) -> None:
        self.writer.close()
