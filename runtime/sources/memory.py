"""The sources that read nothing outside: rows at hand (of the program, of a table), and a clock that counts."""

import time
from collections.abc import Callable, Sequence

import polars as pl

from ghcm.errors import GhcmError
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.chunks import Letters
from ghcm.spg.connectors import Generate
from ghcm.types import INT_MAX, INT_MIN, Struct

_COLUMNAR_FROM = 256
_LONGEST_BURST_S = 1.0


class RowsSource:
    """One partition of rows that `take` gives when the source is opened; it runs in the loop, between two steps.

    `replayable`: they are the same every time, and the position is how many were given; else they are taken anew.
    """

    due: float | None = None

    def __init__(
        self, take: Callable[[], Sequence[Row]], schema: Struct, partition: str, *, replayable: bool = True
    ) -> None:
        self.replayable = replayable
        self._take = take
        self._schema = schema
        self._partition = partition
        self._rows: Sequence[Row] = take() if replayable else ()
        self._next = 0

    def open(self, position: object, wake: Callable[[], None]) -> None:
        self._rows = self._rows if self.replayable else self._take()
        self._next = position if isinstance(position, int) else 0

    def partitions(self) -> frozenset[str]:
        return frozenset() if self.ended else frozenset({self._partition})

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        if self.ended:
            return None
        part = self._rows[self._next : self._next + rows]
        self._next += len(part)
        return Batch.from_rows(self._schema, part, partition=self._partition)

    @property
    def ended(self) -> bool:
        return self._next >= len(self._rows)

    def position(self) -> object:
        """How many rows were given, where that says which."""
        return self._next if self.replayable else None

    def close(self) -> None:
        """Nothing to give back."""


class GenerateSource:
    """One partition; the position is the next number. With a rate, records that the engine was too slow for are made
    up within a second.
    """

    replayable = True

    def __init__(
        self, connector: Generate, schema: Struct, partition: str, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._connector = connector
        self._schema = schema
        self._partition = partition
        self._now = now
        self._next = 0
        self._base = (0.0, 0)

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Begin with number `position`; a rate counts from now."""
        self._next = position if isinstance(position, int) else 0
        self._base = (self._now(), self._next)

    def partitions(self) -> frozenset[str]:
        return frozenset() if self.ended else frozenset({self._partition})

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        """The numbers that are due."""
        count = min(rows, self._owed())
        if count <= 0:
            return None
        first, self._next = self._next, self._next + count
        start, step = self._connector.start_us, self._connector.step_us
        if not INT_MIN <= start + (self._next - 1) * step <= INT_MAX:
            raise GhcmError(
                f"cannot generate record {self._next - 1}: its time does not fit into a timestamp",
                code="GHCM-737",
                hint="give the source fewer rows or a smaller step",
            )
        if count < _COLUMNAR_FROM:
            made: list[Row] = [(number, start + number * step) for number in range(first, self._next)]
            return Batch.from_rows(self._schema, made, partition=self._partition)
        numbers = pl.int_range(first, self._next, dtype=pl.Int64, eager=True)
        names = self._schema.names
        times = (numbers * step + start).cast(pl.Datetime("us", "UTC"))
        frame = pl.DataFrame([numbers.alias(names[0]), times.alias(names[1])])
        return Batch.from_frame(self._schema, frame, partition=self._partition)

    def _owed(self) -> int:
        """How many records are due now."""
        left = self._connector.rows - self._next if self._connector.rows is not None else INT_MAX
        rate = self._connector.rate
        if rate is None:
            return left
        since, number = self._base
        now = self._now()
        owed = int((now - since) * rate) + 1 - (self._next - number)
        if owed > rate * _LONGEST_BURST_S + 1:
            self._base = (now - _LONGEST_BURST_S, self._next)
            owed = int(rate * _LONGEST_BURST_S) + 1
        return min(left, owed)

    @property
    def ended(self) -> bool:
        return self._connector.rows is not None and self._next >= self._connector.rows

    @property
    def due(self) -> float | None:
        """When the next number is due, where there is a rate."""
        if self._connector.rate is None:
            return None
        since, number = self._base
        return since + (self._next - number) / self._connector.rate

    def position(self) -> object:
        return self._next

    def close(self) -> None:
        """Nothing to give back."""
