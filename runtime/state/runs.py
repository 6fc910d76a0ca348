"""Runs: rows of keyed state that never change, so that a snapshot writes each once and later ones name it.

What has changed since lies in newer runs: whoever reads merges what several of them hold of a group. A run is written
with the key group of each row, so that an instance finds those that it goes on with.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import polars as pl

from ghcm.runtime.data.key_groups import GROUPS

_GROUP = "@group"

GroupsOf: TypeAlias = Callable[[pl.DataFrame], pl.Series]
"""The key groups of rows."""


class Run:
    """Rows under a name that no other run has, in this process or another."""

    def __init__(self, frame: pl.DataFrame, groups: GroupsOf, name: str = "") -> None:
        self.frame = frame
        self.name = name or uuid.uuid4().hex
        self._groups = groups

    def packed(self) -> bytes:
        """Its bytes, in the order of the key groups, and in each as they were."""
        written = io.BytesIO()
        grouped = self.frame.with_columns(self._groups(self.frame).cast(pl.UInt8).alias(_GROUP))
        grouped.sort(_GROUP, maintain_order=True).write_ipc(written)
        return written.getvalue()

    @classmethod
    def unpacked(cls, name: str, data: bytes) -> Run:
        """A run as it was packed, with the key group of each row."""
        return cls(pl.read_ipc(io.BytesIO(data)), lambda frame: frame[_GROUP], name)

    def of(self, owns: Callable[[int], bool]) -> Run:
        """An unpacked run of those of its rows whose key groups are these: itself where all are."""
        groups = self.frame[_GROUP]
        mine = groups.is_in([group for group in groups.unique().to_list() if owns(group)])
        return self if mine.all() else Run(self.frame.filter(mine), self._groups)

    def bounds(self) -> Sequence[int]:
        """Where each key group of an unpacked run begins, and the last one ends."""
        return bounds_of(self.frame[_GROUP]) if _GROUP in self.frame.columns else ()

    def put_back(self, groups: GroupsOf) -> Run:
        """An unpacked run as it was before."""
        return Run(self.frame.drop(_GROUP, strict=False), groups, self.name)


def bounds_of(groups: pl.Series) -> Sequence[int]:
    """Where each key group begins in a column that is in their order, and the last one ends."""
    begins = groups.search_sorted(pl.Series(range(GROUPS), dtype=pl.UInt8)).to_list()
    return (*begins, len(groups))


class RunState(Mapping[int, bytes]):
    """The state of an operator: bytes by key group, and runs."""

    def __init__(self, groups: Mapping[int, bytes], runs: Sequence[Run] = ()) -> None:
        self._groups = groups
        self.runs = tuple(runs)

    def __getitem__(self, group: int) -> bytes:
        return self._groups[group]

    def __iter__(self) -> Iterator[int]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)


def runs_of(state: Mapping[int, bytes]) -> Sequence[Run]:
    """The runs of a state; most have none."""
    return state.runs if isinstance(state, RunState) else ()
