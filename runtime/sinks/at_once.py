"""Writers of sinks whose readers see rows as they come: at least once, since after a crash rows come again that were
seen. What is seen with a snapshot alone goes by `SinkWriter`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from ghcm.runtime.data.columns import Row
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.sinks.passing import PassingWriter


class ShowingWriter(SinkWriter, Protocol):
    """A `SinkWriter` that can also do without versions; it asks by itself whether it may write."""

    def show(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """Have readers see these rows now."""
        ...

    def hide(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """Have readers no longer see the rows with the keys of these."""
        ...


@dataclass
class AtOnceWriter(PassingWriter):
    """A `SinkWriter` that shows what it is handed; the versions that it is asked to prepare have nothing left to show,
    but see to it that what was shown stays.
    """

    showing: ShowingWriter
    written: int = 0

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self.showing.show(rows)
        self.written += len(rows)

    def remove(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self.showing.hide(rows)
        self.written += len(rows)

    @property
    def pending(self) -> int:
        return self.written

    def prepare(self, version: str) -> int:
        rows, self.written = self.written, 0
        self.writer.prepare(version)
        return rows
