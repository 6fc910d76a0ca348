"""What a user might write."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, cast


def sized(flow: Any) -> object:
    """Doubles the size; raises for names with a quote, gives nonsense for empty ones."""
    assert isinstance(flow.at, datetime)
    if '"' in flow.name:
        raise ValueError(f"cannot size {flow.name}")
    if not flow.name:
        return (flow.name, flow.at, "many")
    at = flow.at + timedelta(seconds=1)
    return {"name": flow.name.title(), "at": at, "size": flow.size * 2}


def sized_batch(flows: Any) -> object:
    """The same for whole batches: a list, or a table where every size is known."""
    rows = cast("list[dict[str, Any]]", flows.to_pylist())
    if any('"' in row["name"] for row in rows):
        raise ValueError("cannot size it")
    if all(row["name"] and row["size"] is not None and abs(row["size"]) < 2**62 for row in rows):
        return flows.select(["name", "at"]).append_column("size", [[row["size"] * 2 for row in rows]])
    return [(row["name"], row["at"], row["size"] * 2 if row["name"] else "many") for row in rows]
