"""Writers of sinks that go on only while their daemon has the lease of the program, whatever the sink is.

Between this check and the write the process may stand still; what a place itself can see is checked there, in the step
that makes rows visible.
"""

from collections.abc import Collection
from dataclasses import dataclass

from ghcm.fence import Fence
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.backend import Commit, SinkWriter
from ghcm.runtime.sinks.passing import PassingWriter


def fenced(writer: SinkWriter, connections: Connections) -> SinkWriter:
    """The writer, behind the fence where there is one."""
    return writer if connections.fence is None else _FencedWriter(writer, connections.fence)


@dataclass
class _FencedWriter(PassingWriter):
    """A `SinkWriter` that asks before whatever others may see. Most stage rows as they come; one that shows them then
    asks by itself.
    """

    fence: Fence

    def prepare(self, version: str) -> int:
        self.fence.held()
        return super().prepare(version)

    def commit(self, version: str) -> Commit:
        self.fence.held()
        return super().commit(version)

    def abort(self, version: str) -> None:
        self.fence.held()
        super().abort(version)

    def recover(self, keep: Collection[str] = ()) -> None:
        self.fence.held()
        super().recover(keep)
