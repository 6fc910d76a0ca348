"""Memory of Arrow, and plain bytes, as columns of Polars without a copy.

It knows nothing of the language's types, so that a process which cuts bytes needs none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import polars as pl
import pyarrow as pa


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
