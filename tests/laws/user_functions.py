"""What generated programs call by `python`: records that pass, that fail, and that come back as something else."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

__all__ = ["by_batch", "by_row"]


def by_row(record: Any) -> object:
    """The record itself; 1 fails, a text with an "a" comes back as a number."""
    if record.number == 1:
        raise ValueError("one")
    return 7 if "a" in (record.text or "") else record


def by_batch(table: pa.Table) -> list[object]:
    """The same of many."""
    found: list[object] = []
    for row in table.to_pylist():
        if row["number"] == 1:
            raise ValueError("one")
        found.append(7 if "a" in (row["text"] or "") else row)
    return found
