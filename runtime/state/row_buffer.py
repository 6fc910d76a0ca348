"""Small batches that wait in front of an aggregation until they are enough for columns."""

from typing import cast

import polars as pl

from ghcm.runtime.contract import INFINITY, Outbox
from ghcm.runtime.data.batch import Batch


class RowBuffer:
    """Records that came in small batches and wait until they are enough for columns, or until what becomes of them is
    due; and where their dead letters go. A frame of few rows costs as much to aggregate as one of hundreds; and done
    one by one they would be single states, which have to be saved and closed one by one.
    """

    def __init__(self, window: int | None) -> None:
        self.rows = 0
        self.least_end = INFINITY
        """The end of the first window that has a record here."""
        self._window = window
        self._batches: list[Batch] = []
        self._outbox: Outbox | None = None

    def add(self, batch: Batch, outbox: Outbox) -> None:
        """Take one more."""
        if not len(batch):
            return
        self._batches.append(batch)
        self._outbox = outbox
        self.rows += len(batch)
        if self._window is not None:
            self.least_end = min(self.least_end, _least_end(batch, self._window))

    def take(self) -> tuple[Batch, Outbox] | None:
        """Give out all in one, in the order in which they came; None if there are none."""
        if self._outbox is None or not self._batches:
            return None
        batches, self._batches = self._batches, []
        self.rows, self.least_end = 0, INFINITY
        return Batch.concat(batches), self._outbox


def _least_end(batch: Batch, window: int) -> int:
    if batch.columnar:
        ends = batch.frame().to_series(window).struct.field("end").cast(pl.Int64)
        return cast("int", ends.min())
    windows = [cast("tuple[int, int]", row[window]) for row in batch.rows()]
    return min(end for _, end in windows)
