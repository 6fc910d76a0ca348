"""What stands in records: as bytes of each, and as lines of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np
import polars as pl

from ghcm.runtime.data.arrays import Octets
from ghcm.runtime.data.arrow import cut_out
from ghcm.runtime.formats.placed_lines import PlacedLines
from ghcm.runtime.sources.kafka.cutting import Records, Spans

_NEWLINE = b"\n"[0]


class Texts(Sequence[bytes | None]):
    """Bytes, or null, of each record. They are made when the first one is asked for, which is seldom."""

    def __init__(self, data: Octets, spans: Spans) -> None:
        self._data = data
        self._spans = spans

    @cached_property
    def _all(self) -> list[bytes | None]:
        starts, ends = self._spans.starts, self._spans.ends
        found: list[bytes | None] = pl.Series(cut_out(self._data, starts, np.maximum(starts, ends))).to_list()
        for index in np.flatnonzero(ends < starts).tolist():
            found[index] = None
        return found

    def __len__(self) -> int:
        return len(self._spans.starts)

    @overload
    def __getitem__(self, index: int) -> bytes | None: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes | None]: ...

    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes | None] | None:
        return self._all[index]

    def __iter__(self) -> Iterator[bytes | None]:
        return iter(self._all)


def lines_of(records: Records) -> PlacedLines | None:
    """The values as lines; None if one of them is null. Where they are not lines yet, a byte behind each is lost."""
    starts, ends = records.values.starts, records.values.ends
    if records.values.any_null:
        return None
    lines = PlacedLines(records.data, starts, ends)
    if records.as_lines:
        return lines
    records.data[ends] = _NEWLINE  # the number of headers has stood there
    return lines.packed()
