"""Memory of Arrow, and plain bytes, as columns of Polars without a copy.

It knows nothing of the language's types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl
import pyarrow as pa

from ghcm.runtime.data.arrays import Octets, Places


@dataclass(frozen=True, slots=True)
class _Exported:
    """An Arrow array by its C interface."""

    array: Any

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self.array.__arrow_c_array__(requested_schema)


def of_arrow(array: Any, name: str = "") -> pl.Series:
    """An Arrow array as a column; nothing is copied. Polars by itself loads `pyarrow.compute` for it, which takes as
    long as an engine to start.
    """
    return pl.Series(cast("Any", _Exported(array))).alias(name)


def bytes_of(data: bytes | memoryview) -> pl.Series:
    """The bytes as numbers; nothing is copied. Polars compares them, and counts marks, faster than NumPy does."""
    arrow: Any = pa
    return of_arrow(arrow.Array.from_buffers(arrow.uint8(), len(data), [None, arrow.py_buffer(data)]))


def cut_out(data: Octets, starts: Places, ends: Places) -> Any:
    """The bytes between these places, which are in order, as an array of Arrow whose bytes lie one behind the other."""
    arrow: Any = pa
    places = np.append(np.stack((starts, ends), axis=1), len(data))  # of what is asked for and what is not, in turn
    buffers = [None, arrow.py_buffer(places), arrow.py_buffer(data)]
    array = arrow.Array.from_buffers(arrow.large_binary(), len(places) - 1, buffers)
    # `arrow.array` would look whether this is something of pandas, and so import it
    asked = [None, arrow.py_buffer(np.arange(0, len(places) - 1, 2))]
    return array.take(arrow.Array.from_buffers(arrow.int64(), len(starts), asked))
