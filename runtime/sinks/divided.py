"""Rows on their way into a table whose files are divided by columns, until they are many or a version is complete."""

from collections.abc import Iterator, Sequence

import polars as pl

from ghcm.runtime.data.columns import Row, columns_of
from ghcm.tables.partitions import folder_of
from ghcm.types import Struct

_BYTES = 64 * 1024 * 1024
_ROWS = 16 * 1024


class DividedRows:
    """Rows that wait. `columns`: those that the files hold, without the ones `by` which they are divided."""

    def __init__(self, columns: Struct, by: Sequence[str]) -> None:
        self.columns = Struct(tuple(field for field in columns.fields if field.name not in by))
        self._types = [(field.name, field.type) for field in columns.fields]
        self._by = list(by)
        self._rows: list[Row] = []
        self._frames: list[pl.DataFrame] = []
        self._held = 0

    def add(self, rows: Sequence[Row] | pl.DataFrame) -> bool:
        """Take rows; whether so many wait now that they are to be written."""
        if isinstance(rows, pl.DataFrame):
            self._pack()
            self._hold(rows)
        else:
            self._rows.extend(rows)
            if len(self._rows) >= _ROWS:
                self._pack()
        return self._held >= _BYTES

    def take(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """Give up what waits: for each combination of the values its folder and rows, in the order in which they came.
        GhcmError for a value that gives no name of a folder.
        """
        self._pack()
        frames = self._frames
        self.clear()
        if frames:
            for values, rows in pl.concat(frames).partition_by(self._by, as_dict=True, include_key=False).items():
                yield folder_of(dict(zip(self._by, values, strict=True))), rows

    def check(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """GhcmError for a value that gives no name of a folder."""
        frame = rows if isinstance(rows, pl.DataFrame) else columns_of(rows, self._types)
        for values in frame.select(self._by).unique().iter_rows(named=True):
            folder_of(values)

    def clear(self) -> None:
        """Forget what waits."""
        self._rows, self._frames, self._held = [], [], 0

    def _pack(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            self._hold(columns_of(rows, self._types))

    def _hold(self, rows: pl.DataFrame) -> None:
        self._frames.append(rows.select(name for name, _ in self._types))
        self._held += int(rows.estimated_size())
