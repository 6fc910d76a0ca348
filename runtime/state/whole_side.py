"""One side of a join whose records are kept as they come until both have ended. A snapshot has them as runs, so that
each is written once.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.state.runs import GroupsOf, Run
from ghcm.runtime.state.waiting import together
from ghcm.types import Collection

_SIDE = "@side"


class WholeSide:
    """The batches of a side (0 or 1) in the order in which they came. `groups`: the key groups of its records."""

    def __init__(self, side: int, takes: Collection, groups: GroupsOf) -> None:
        self._side = side
        self._takes = takes
        self._groups = groups
        self._saved: list[tuple[Batch, Run]] = []
        self._fresh: list[Batch] = []

    def add(self, batch: Batch) -> None:
        """Keep one more."""
        self._fresh.append(batch)

    def take(self) -> list[Batch]:
        """Give out all."""
        batches = [*(batch for batch, _ in self._saved), *self._fresh]
        self._saved, self._fresh = [], []
        return batches

    def save(self) -> list[Run]:
        """All of them; those of the last time are the same runs."""
        for batch in together(self._fresh):
            marked = batch.frame().with_columns(pl.lit(self._side, pl.UInt8).alias(_SIDE))
            self._saved.append((batch, Run(marked, self._groups)))
        self._fresh = []
        return [run for _, run in self._saved]

    def restore(self, runs: Iterable[Run]) -> None:
        """Take those of these runs that are of this side."""
        schema, timed = self._takes.columns, self._takes.timed
        for run in runs:
            if run.frame.height and run.frame.item(0, _SIDE) == self._side:
                own = run.put_back(self._groups)
                self._saved.append((Batch.from_frame(schema, own.frame.drop(_SIDE), timed=timed), own))
