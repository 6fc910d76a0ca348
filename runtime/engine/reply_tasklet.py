"""The tasklet of a reply: it keeps the rows that answer a call."""

from __future__ import annotations

from ghcm.errors import GhcmError
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.engine.edge import Barrier, Edge, End, Partitions, Watermark
from ghcm.runtime.engine.host import Counters, Host, Saved
from ghcm.runtime.engine.scheduler import Progress

_MOST_ROWS = 1_000_000


class ReplyTasklet:
    """Keeps rows until the call is answered."""

    def __init__(self, name: str, edge: Edge, host: Host, *, urgent: bool = True) -> None:
        self.name = name
        self.urgent = urgent
        self.counters = Counters()
        self.rows: list[Row] = []
        self._edge = edge
        self._host = host
        self._done = False

    def backlog(self) -> int:
        """Records that wait at its input."""
        return self._edge.rows

    def step(self) -> Progress:
        """Keep one batch."""
        if self._done:
            return Progress.DONE
        match self._edge.take(_MOST_ROWS):
            case None:
                return Progress.WAITING
            case Batch() as batch:
                rows = batch.rows()
                self.counters.taken += len(rows)
                self.rows.extend([row[:-2] for row in rows] if batch.timed else rows)
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

    def fail(self, error: Exception) -> None:
        """A step raised this."""
        self._done = True
        self._host.failed(self.name, error)
