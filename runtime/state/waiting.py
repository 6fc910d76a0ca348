"""Batches that wait until an operator may take them. A snapshot has those in columns as runs, so that each is written
once however long it waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import polars as pl

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.state.runs import Run
from ghcm.types import Collection

Entry: TypeAlias = tuple[str, str | list[Row]]
"""The partition of a batch, and the name of its run or its rows."""

_ROWS = 131_072
"""Records that are put together: what is done per batch costs less of each where batches are large."""


class Waiting:
    """Batches of a collection in the order in which they came."""

    def __init__(self, takes: Collection) -> None:
        self._takes = takes
        self._saved: list[tuple[Batch, Run | None]] = []
        self._fresh: list[Batch] = []

    def __bool__(self) -> bool:
        return bool(self._saved or self._fresh)

    def add(self, batch: Batch) -> None:
        """Keep one more."""
        self._fresh.append(batch)

    def take(self) -> list[Batch]:
        """Give out all; those of one partition that follow each other as fewer ones."""
        batches = [*(batch for batch, _ in self._saved), *self._fresh]
        self._saved, self._fresh = [], []
        return list(together(batches))

    def save(self) -> tuple[list[Entry], list[Run]]:
        """What a snapshot has of each, in order, and the runs."""
        for batch in together(self._fresh):
            self._saved.append((batch, Run(batch.frame(), one_group) if batch.columnar else None))
        self._fresh = []
        entries: list[Entry] = [
            (batch.partition, list(batch.rows()) if run is None else run.name) for batch, run in self._saved
        ]
        return entries, [run for _, run in self._saved if run is not None]

    def restore(self, entries: Sequence[Entry], runs: Mapping[str, Run]) -> None:
        """Take what a snapshot has behind what is there."""
        schema, timed = self._takes.columns, self._takes.timed
        for partition, held in entries:
            if isinstance(held, str):
                run = runs[held].put_back(one_group)
                self._saved.append((Batch.from_frame(schema, run.frame, timed=timed, partition=partition), run))
            else:
                self._saved.append((Batch.from_rows(schema, held, timed=timed, partition=partition), None))


def one_group(frame: pl.DataFrame) -> pl.Series:
    """All rows belong to whoever has the first key group."""
    return pl.repeat(0, frame.height, dtype=pl.UInt8, eager=True)


def together(batches: Iterable[Batch]) -> Iterator[Batch]:
    """The batches in order, those in columns of one partition that follow each other as fewer ones."""
    some: list[Batch] = []
    count = 0
    for batch in batches:
        alike = some and batch.partition == some[0].partition and batch.columnar and some[0].columnar
        if some and not (alike and count + len(batch) <= _ROWS):
            yield Batch.concat(some)
            some, count = [], 0
        some.append(batch)
        count += len(batch)
    if some:
        yield Batch.concat(some)
