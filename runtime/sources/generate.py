"""The source that counts: numbered records with times at even steps, at a rate or as fast as they are taken."""

from __future__ import annotations

import time
from collections.abc import Callable

import polars as pl

from ghcm.errors import GhcmError
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sources.source import Letters
from ghcm.spg.ops import Generate
from ghcm.types import INT_MAX, INT_MIN, Struct

_COLUMNAR_FROM = 256
_LONGEST_BURST_S = 1.0


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
        """The one partition, until it has ended."""
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
        """Whether the last number was given."""
        return self._connector.rows is not None and self._next >= self._connector.rows

    @property
    def due(self) -> float | None:
        """When the next number is due, where there is a rate."""
        if self._connector.rate is None:
            return None
        since, number = self._base
        return since + (self._next - number) / self._connector.rate

    def position(self) -> object:
        """The next number."""
        return self._next

    def close(self) -> None:
        """Nothing to give back."""
