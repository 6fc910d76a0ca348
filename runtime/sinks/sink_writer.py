"""What every sink offers to its writers: versions in two phases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import polars as pl

Row: TypeAlias = tuple[object, ...]
KeyOf: TypeAlias = Callable[[Row], object]
"""The canonical key of a row; its type is that of the body of the sink's key."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A version of a sink that readers see: how many rows it added, and when (microseconds since 1970 UTC)."""

    version: str
    rows: int
    time: int


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the rows of a call, and how many it has in all."""

    rows: Sequence[Row]
    total: int


class SinkWriter(Protocol):
    """Writes one sink, from one thread. Two phases, so that a snapshot can stand between them.

    Nothing is visible before `commit`. `prepare` and `commit` may be repeated, and `commit` and `abort` of a prepared
    version may be called on a new writer after the old one has died. Versions are unique per sink for ever: made from
    job and snapshot, or the call's id.
    """

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """Take rows into the version that is being written. Memory is bounded: rows are spilled to staging. GhcmError
        when there is no room.
        """
        ...

    @property
    def pending(self) -> int:
        """Rows written since the last `prepare`."""
        ...

    def prepare(self, version: str) -> int:
        """Make the rows written so far durable as this version, still invisible; the number of rows."""
        ...

    def commit(self, version: str) -> Commit:
        """Make a prepared version visible as a whole. A version that is committed already is left as it is."""
        ...

    def abort(self, version: str) -> None:
        """Drop a prepared version that was not committed; nothing happens if there is none."""
        ...

    def recover(self, keep: Collection[str] = ()) -> None:
        """Drop what dead writers of this name have left in staging, but for the versions that are going to be
        committed.
        """
        ...

    def close(self) -> None:
        """Drop rows that are not prepared and give back files and connections."""
        ...
