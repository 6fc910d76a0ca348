"""What a user might write for single records."""

from __future__ import annotations

from typing import Any


def told(row: Any) -> object:
    """Fails where the key is "bad"; a missing key gives no record of the type that is asked for."""
    if row.key == "bad":
        raise ValueError("a bad key")
    return {"name": row.key, "n": row.n}
