"""A batch: records of one partition on their way between two tasks, as rows or as a frame, whichever its reader asks
for.

Immutable: lists and frames that it gives must not be changed. A form is made from the other at the first request and
kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import cast

import polars as pl

from ghcm.runtime.data.columns import Row, columns_of, rows_of
from ghcm.types import Int, Struct, Type

TIME, WATERMARK = "@time", "@watermark"
"""The hidden columns of a timed collection: event time, and the watermark of its partition just before the record
(microseconds, `Int64`).
"""

TAKEN_BACK = "@taken back"
"""The partition of records that are taken back: of a collection that changes, those that count no longer."""


class Batch:
    """Records of one partition in order. `schema` are the visible columns; rows of a `timed` batch end with `time`
    and `watermark`.
    """

    def __init__(
        self,
        schema: Struct,
        timed: bool,
        partition: str,
        *,
        rows: Sequence[Row] | None = None,
        frame: pl.DataFrame | None = None,
    ) -> None:
        self.schema = schema
        self.timed = timed
        self.partition = partition
        self._rows = rows
        self._frame = frame
        self._length = len(rows) if rows is not None else (0 if frame is None else frame.height)

    @classmethod
    def from_rows(cls, schema: Struct, rows: Sequence[Row], *, timed: bool = False, partition: str = "") -> Batch:
        """A batch of tuples of canonical values in the order of the schema (and `time`, `watermark` where timed)."""
        return cls(schema, timed, partition, rows=rows)

    @classmethod
    def from_frame(cls, schema: Struct, frame: pl.DataFrame, *, timed: bool = False, partition: str = "") -> Batch:
        """A batch of a frame that has at least the columns of the schema (and `@time`, `@watermark` where timed)."""
        names = [*schema.names, *((TIME, WATERMARK) if timed else ())]
        return cls(schema, timed, partition, frame=frame if frame.columns == names else frame.select(names))

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"Batch({self.schema}, {self._length} rows, partition={self.partition!r})"

    @property
    def taken_back(self) -> bool:
        """Whether its records, which were given before, count no longer."""
        return self.partition == TAKEN_BACK

    @property
    def columnar(self) -> bool:
        """Whether the frame is there already, so that `frame()` costs nothing."""
        return self._frame is not None

    @property
    def types(self) -> list[tuple[str, Type]]:
        """The names and types of the columns, hidden ones included."""
        hidden = [(TIME, Int()), (WATERMARK, Int())] if self.timed else []
        return [*((field.name, field.type) for field in self.schema.fields), *hidden]

    def rows(self) -> Sequence[Row]:
        """The records as tuples."""
        if self._rows is None:
            assert self._frame is not None
            self._rows = rows_of(self._frame, self.types) if self.types else [()] * self._length
        return self._rows

    def frame(self) -> pl.DataFrame:
        """The records as columns."""
        if self._frame is None:
            assert self._rows is not None
            self._frame = columns_of(self._rows, self.types)
        return self._frame

    @cached_property
    def size(self) -> int:
        """About how many bytes it takes: exact for frames, sampled for rows."""
        if self._frame is not None:
            return int(self._frame.estimated_size())
        rows = self._rows or ()
        sample = rows[:: max(1, len(rows) // 16)]
        return (sum(map(_weight, sample)) * len(rows)) // max(1, len(sample))

    def with_rows(self, schema: Struct, rows: Sequence[Row]) -> Batch:
        """A batch of other rows in place of these: same partition, timed if this is."""
        return Batch(schema, self.timed, self.partition, rows=rows)

    def with_frame(self, schema: Struct, frame: pl.DataFrame) -> Batch:
        """A batch of another frame in place of this: same partition, timed if this is."""
        return Batch.from_frame(schema, frame, timed=self.timed, partition=self.partition)

    def slice(self, start: int, stop: int) -> Batch:
        """The records from `start` up to `stop`; the batch itself where that is all."""
        if start <= 0 and stop >= self._length:
            return self
        rows = None if self._rows is None else self._rows[start:stop]
        frame = None if self._frame is None else self._frame.slice(start, max(0, stop - start))
        return Batch(self.schema, self.timed, self.partition, rows=rows, frame=frame)

    @staticmethod
    def concat(batches: Sequence[Batch]) -> Batch:
        """One batch of several of the same schema, in order, in the form of most records; its partition is that of the
        first.
        """
        first = batches[0]
        if len(batches) == 1:
            return first
        if 2 * sum(len(batch) for batch in batches if batch.columnar) >= sum(map(len, batches)):
            return first.with_frame(first.schema, pl.concat([batch.frame() for batch in batches]))
        return first.with_rows(first.schema, [row for batch in batches for row in batch.rows()])


def _weight(value: object) -> int:
    match value:
        case str() | bytes():
            return 56 + len(value)
        case tuple() | list():
            parts = cast("Sequence[object]", value)
            return 56 + 8 * len(parts) + sum(map(_weight, parts))
        case dict():
            pairs = cast("dict[object, object]", value)
            return 64 + sum(_weight(key) + _weight(item) + 100 for key, item in pairs.items())
        case _:
            return 32
