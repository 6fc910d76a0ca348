"""Connections: what the names in a program stand for in this process: directory, Redis, memory.

A program names places; this says where they are. Holds no password beyond the URL it was given and prints none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import redis

__all__ = ["Connections"]


@dataclass(slots=True)
class Connections:
    """`base` is the directory that relative paths start from; `url` the Redis (`unix:///path` or
    `redis://host:port/db`), None: places in the memory of this process, for tests and the embedded engine.
    """

    base: Path
    url: str | None = None
    _client: redis.Redis | None = field(default=None, repr=False)

    def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            self._client.close()
