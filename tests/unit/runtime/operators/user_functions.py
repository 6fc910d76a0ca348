"""What a user might write."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any


def sized(flow: Any) -> object:
    """Doubles the size; raises for names with a quote, gives nonsense for empty ones."""
    assert isinstance(flow.at, datetime)
    if '"' in flow.name:
        raise ValueError(f"cannot size {flow.name}")
    if not flow.name:
        return (flow.name, flow.at, "many")
    at = flow.at + timedelta(seconds=1)
    return {"name": flow.name.title(), "at": at, "size": flow.size * 2}
