"""Writers of what changes: of the rows that come and go within a version only what is left of them is written."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from ghcm.runtime.data.columns import Row, rows_of
from ghcm.runtime.data.keys import naming_of
from ghcm.runtime.sinks.backend import KeyOf
from ghcm.runtime.sinks.passing import PassingWriter
from ghcm.spg.graph import Sink


@dataclass
class RevisingWriter(PassingWriter):
    """A `SinkWriter` that hands on each key once a version. A row that is taken back makes its key go, unless another
    row has its key by then: rows come from several instances, and the order in which two of them come says nothing.
    """

    sink: Sink
    key: KeyOf
    _come: dict[object, Row] = field(default_factory=dict[object, Row])
    _gone: dict[object, Row] = field(default_factory=dict[object, Row])

    def __post_init__(self) -> None:
        assert self.sink.key is not None, "what is upserted has a key"
        self._identity = naming_of(self.sink.key.body.type)
        self._same = naming_of(self.sink.columns)

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        for row in self._rows(rows):
            name = self._name(row)
            self._gone.pop(name, None)
            self._come[name] = row

    def remove(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """As `SinkWriter.remove`, of any keys."""
        for row in self._rows(rows):
            name = self._name(row)
            if name not in self._come:
                self._gone[name] = row
            elif self._same(self._come[name]) == self._same(row):
                self._gone[name] = self._come.pop(name)

    def _rows(self, rows: Sequence[Row] | pl.DataFrame) -> Sequence[Row]:
        columns = [(each.name, each.type) for each in self.sink.columns.fields]
        return rows_of(rows, columns) if isinstance(rows, pl.DataFrame) else rows

    def _name(self, row: Row) -> object:
        return self._identity(self.key(row))

    @property
    def pending(self) -> int:
        return len(self._come) + len(self._gone)

    def prepare(self, version: str) -> int:
        """As `SinkWriter.prepare`; what is prepared again after a failure is written again, each key once."""
        come, gone = self._come, self._gone
        if gone:
            self.writer.remove(list(gone.values()))
            self._gone = {}
        if come:
            self.writer.write(list(come.values()))
            self._come = {}
        return super().prepare(version)

    def close(self) -> None:
        self._come, self._gone = {}, {}
        super().close()
