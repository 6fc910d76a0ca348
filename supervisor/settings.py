"""The limits that the Supervisor keeps, so that no caller can take what belongs to all."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a caller may ask for. Seconds, bytes and numbers of calls."""

    open_calls: int = 1000
    """Calls of one unit that wait or run; further ones are answered with 429."""
    body: int = 64 * 1024
    """Bytes of a request, as much as an instruction may have."""
    wait: float = 60.0
    """How long `?wait=` may block."""
    deadline: float = 24 * 3600.0
    """The longest time that a call may be given."""
    deadline_of_stream: float = 60.0
    """The time that a call of a stream unit has unless it says otherwise."""
    deadline_of_batch: float = 3600.0
    """The time that a call of a batch unit has unless it says otherwise."""
    rows: int = 10_000
    """Rows in one answer of `/data`."""
    send: float = 5.0
    """How long a msg cache that is away is waited for before the caller is told."""
