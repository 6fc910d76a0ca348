"""What a user might write for whole batches."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tests.conformance import row_functions


def doubled(table: pa.Table) -> pa.Table:
    """In columns: the size doubled; the whole batch fails where a name is "bad"."""
    if "bad" in table["name"].to_pylist():
        raise ValueError("a bad name")
    size = pc.multiply(table["size"], 2)
    return pa.Table.from_arrays([pc.utf8_upper(table["name"]), size], names=["name", "size"])


def described(table: pa.Table) -> list[object]:
    """As a list of records, with moments; a negative size gives text where a number is asked for."""
    assert table.schema.types[2] == pa.timestamp("us", "UTC")
    found: list[object] = []
    for row in table.to_pylist():
        size: Any = "negative" if (row["size"] or 0) < 0 else row["size"]
        found.append({"at": row["at"], "size": size, "tags": [row["name"], "x"]})
    return found


async def awaited(row: Any) -> object:
    """The same of one record, which the event loop comes back to; fails where a name is "bad"."""
    await asyncio.sleep(0)
    if row.name == "bad":
        raise ValueError("a bad name")
    return {"at": row.at, "size": "negative" if (row.size or 0) < 0 else row.size, "tags": (row.name, "x")}


async def later(row: Any) -> Any:
    """The name, of those that are long sooner than of others; no name is no text."""
    for _ in range(10 - len(row.name)):
        await asyncio.sleep(0)
    return row.name or await _nothing()


async def _nothing() -> Any:
    return None


def cents(table: pa.Table) -> list[object]:
    """As the function by row."""
    return [row_functions.cents(SimpleNamespace(**row)) for row in table.to_pylist()]


def lengths(table: pa.Table) -> pa.Array[Any]:
    """Of scalars; forgets a record where a text is empty."""
    texts = [text for text in table["value"].to_pylist() if text != ""]
    return pa.array([None if text is None else len(text) for text in texts], pa.int32())
