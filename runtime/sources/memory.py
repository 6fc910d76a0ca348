"""The source of rows that are written into the program."""

from __future__ import annotations

from collections.abc import Callable

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sources.source import Letters
from ghcm.spg.ops import Memory
from ghcm.types import Struct


class MemorySource:
    """One partition; the position is the number of rows given."""

    replayable = True
    due: float | None = None

    def __init__(self, connector: Memory, schema: Struct, partition: str) -> None:
        self._rows: list[Row] = list(connector.rows)
        self._schema = schema
        self._partition = partition
        self._next = 0

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Begin behind `position` rows."""
        self._next = position if isinstance(position, int) else 0

    def partitions(self) -> frozenset[str]:
        """The one partition, until it has ended."""
        return frozenset() if self.ended else frozenset({self._partition})

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        """The next rows."""
        if self.ended:
            return None
        part = self._rows[self._next : self._next + rows]
        self._next += len(part)
        return Batch.from_rows(self._schema, part, partition=self._partition)

    @property
    def ended(self) -> bool:
        """Whether all rows were given."""
        return self._next >= len(self._rows)

    def position(self) -> object:
        """How many rows were given."""
        return self._next

    def close(self) -> None:
        """Nothing to give back."""
