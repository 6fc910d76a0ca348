"""What a user might write for records that may be null, and for results that may be."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

__all__ = ["of_number", "place", "same", "same_batch"]


def same(edge: Any) -> object:
    """The record itself, or None; fails at 2."""
    if edge is not None and edge.at == 2:
        raise ValueError("two")
    return edge


def same_batch(table: pa.Table) -> object:
    """The same of many; fails where any of them is at 2."""
    values: Any = table.column("value").to_pylist()
    if any(each is not None and each["at"] == 2 for each in values):
        raise ValueError("two")
    return values


def place(edge: Any) -> object:
    """None for null, a number, and at 4 a text, which is none."""
    return None if edge is None else "four" if edge.at == 4 else edge.at


def of_number(table: pa.Table) -> object:
    """Numbers and nulls as they are."""
    return table.column("value")
