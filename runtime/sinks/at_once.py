"""Writers of sinks whose readers see rows as they come: at least once, since after a crash rows come again that were
seen. What is seen with a snapshot alone goes by `SinkWriter`.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from ghcm.runtime.data.columns import Row
from ghcm.runtime.sinks.passing import PassingWriter


@dataclass
class AtOnceWriter(PassingWriter):
    """A `SinkWriter` that commits what it is handed, each time as a version of its own; the versions that it is asked
    to prepare have nothing left to show.
    """

    written: int = 0

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self._show(self.writer.write, rows)

    def remove(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self._show(self.writer.remove, rows)

    def _show(self, take: Callable[[Sequence[Row] | pl.DataFrame], None], rows: Sequence[Row] | pl.DataFrame) -> None:
        take(rows)
        version = f"at-once-{uuid.uuid4().hex}"
        self.writer.prepare(version)
        self.writer.commit(version)
        self.written += len(rows)

    @property
    def pending(self) -> int:
        return self.written

    def prepare(self, version: str) -> int:
        rows, self.written = self.written, 0
        self.writer.prepare(version)
        return rows
