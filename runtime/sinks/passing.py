"""Writers that stand before another one: they hand on what they are told, but for what each does in its own way."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import polars as pl

from ghcm.runtime.data.columns import Row
from ghcm.runtime.sinks.backend import Commit, SinkWriter


@dataclass
class PassingWriter:
    """A `SinkWriter` that has another one do all of it."""

    writer: SinkWriter

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self.writer.write(rows)

    def remove(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self.writer.remove(rows)

    @property
    def pending(self) -> int:
        return self.writer.pending

    def prepare(self, version: str) -> int:
        return self.writer.prepare(version)

    def commit(self, version: str) -> Commit:
        return self.writer.commit(version)

    def abort(self, version: str) -> None:
        self.writer.abort(version)

    def recover(self, keep: Collection[str] = ()) -> None:
        self.writer.recover(keep)

    def close(self) -> None:
        self.writer.close()
