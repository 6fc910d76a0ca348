"""The groups of an aggregation as long as they are columns: pre-aggregated batches, merged when they have to be.

Most groups are never looked at one by one: they come from columns, and their results leave as columns when their
window closes. Here stands no result and no Python state but in `read`, for those that have to go the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import polars as pl

from ghcm.runtime.contract import INFINITY
from ghcm.runtime.data.columns import values
from ghcm.runtime.native.code import GroupCode
from ghcm.runtime.operators.chain import in_columns
from ghcm.types import Type

WindowPlace: TypeAlias = tuple[int, int]
_FRAMES, _SMALL = 64, 8
"""So many frames may wait unmerged; then those with less than an eighth of all rows are merged."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Groups, and the ends of the windows of theirs that close first and last (0 without windows)."""

    frame: pl.DataFrame
    first: int
    last: int


class GroupFrames:
    """Frames of `GroupCode.partial`. A group may stand in several of them until they are merged. `unmerged`: as in
    `Context`.
    """

    def __init__(self, code: GroupCode, key_type: Type, unmerged: int) -> None:
        assert code.states is not None and code.merged is not None
        self._states: Callable[[pl.DataFrame], list[object]] = code.states
        self._merged: Callable[[pl.DataFrame], pl.DataFrame | None] = code.merged
        self._key_type = key_type
        self._parts: list[_Part] = []
        self._rows = 0
        self._repeats = False
        """Whether a group may stand in one frame several times."""
        self._unmerged = self._limit = unmerged
        self._most = _FRAMES
        self._slid: pl.DataFrame | None = None
        """What went on to the next sliding window: all that is new is merged before it joins it."""

    def __len__(self) -> int:
        return self._rows

    @property
    def least_end(self) -> int:
        """The end of the window that closes first."""
        return min((part.first for part in self._parts), default=INFINITY)

    def add(self, frame: pl.DataFrame) -> None:
        """Take the groups of one more batch."""
        if not frame.height:
            return
        self._parts.append(_part(frame))
        self._rows += frame.height
        if len(self._parts) > self._most:
            small = [each for each in self._parts if each.frame.height * _SMALL < self._rows]
            large = [each for each in self._parts if each.frame.height * _SMALL >= self._rows]
            self._keep([*large, *map(_part, self.merge([each.frame for each in small]))])
            self._most = _FRAMES + len(self._parts)
        if self._rows > self._limit:
            self._limit = self._unmerged + 2 * sum(each.height for each in self.whole())

    def restore(self, frame: pl.DataFrame) -> None:
        """Take groups that `held` gave before, of all frames in one."""
        self._repeats = True
        self.add(frame)

    def take(self, until: int) -> list[pl.DataFrame]:
        """Give out the groups whose windows end by then: one frame with a row for each, or several where they could
        not be merged.
        """
        return self.merge(self._out(until))

    def _out(self, until: int) -> list[pl.DataFrame]:
        """Give out the groups whose windows end by then as they are."""
        taken: list[pl.DataFrame] = []
        left: list[_Part] = []
        for part in self._parts:
            if part.first > until:
                left.append(part)
            elif part.last <= until:
                taken.append(part.frame)
            else:
                closed = part.frame["end"] <= until
                taken.append(part.frame.filter(closed))
                left.append(_part(part.frame.filter(~closed)))
        if taken:
            self._keep(left)
            self._limit, self._most = self._unmerged + 2 * self._rows, _FRAMES + len(left)
        return taken

    def _keep(self, parts: list[_Part]) -> None:
        self._parts, self._rows = parts, sum(part.frame.height for part in parts)

    def slide(self, until: int, size: int, every: int) -> Iterator[tuple[WindowPlace, pl.DataFrame]]:
        """The groups of the sliding windows that end by then, in order. Rows stand under panes; those of a closed
        window go on to the pane of the next window that has their slice. Ends early where columns cannot merge.
        """
        while self._rows and (end := self.least_end) <= until:
            taken = self._out(end)
            fresh = self.merge([pane for pane in taken if pane is not self._slid])
            panes = pl.concat([*(pane for pane in taken if pane is self._slid), *fresh])
            window = (end - size, end)
            begin = pl.lit(window[0], pl.Int64).alias("start")
            merged = in_columns(lambda: self._merged(panes.with_columns(begin)))  # noqa: B023
            if merged is None:
                self.add(panes)
                return
            self._slid = panes.filter(pl.col("start") >= window[0] + every).with_columns(pl.col("end") + every)
            self._repeats = True
            self._keep([*self._parts, *([_part(self._slid)] if self._slid.height else [])])
            self._limit = self._unmerged + 2 * self._rows
            yield window, merged

    def held(self) -> list[pl.DataFrame]:
        """All groups as they are; they stay."""
        return [part.frame for part in self._parts]

    def whole(self) -> list[pl.DataFrame]:
        """All groups, merged where that can be; they stay."""
        held = self.held()
        merged = self.merge(held)
        self._repeats &= len(merged) > 1 or merged is held
        if merged is not held:
            self._keep(list(map(_part, merged)))
        return merged

    def of(self, keys: pl.DataFrame) -> list[pl.DataFrame]:
        """The groups of these keys (the column `key`; without a column: all), merged where that can be; they stay."""
        if not keys.width:
            return self.whole()
        held = self.held()
        if not held:
            return []
        found = pl.concat(held).join(keys, on="key", how="semi", nulls_equal=True)  # far cheaper than one by one
        if found.height < 2 or (len(held) < 2 and not self._repeats):
            return [found] if found.height else []
        return self._one(found)

    def merge(self, frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
        """One frame of several, or several where columns cannot: then a group may stand in one of them twice."""
        if not frames or (len(frames) < 2 and not self._repeats):
            return frames
        merged = self._one(pl.concat(frames))
        return merged if len(merged) < 2 or len(frames) < 2 else frames

    def _one(self, frame: pl.DataFrame) -> list[pl.DataFrame]:
        """A row for each group in one frame, or two frames where columns cannot merge."""
        merged = in_columns(lambda: self._merged(frame))
        return [merged] if merged is not None else [frame.head(1), frame.slice(1)]

    def read(self, frame: pl.DataFrame) -> tuple[Sequence[object], Iterator[WindowPlace] | None, list[object]]:
        """As `read_groups`."""
        return read_groups(frame, self._key_type, self._states)


def read_groups(
    frame: pl.DataFrame, key_type: Type, states: Callable[[pl.DataFrame], list[object]]
) -> tuple[Sequence[object], Iterator[WindowPlace] | None, list[object]]:
    """The keys of the groups as canonical values, their windows (None: none) and their states."""
    keyed = "key" in frame.columns
    keys: Sequence[object] = values(frame["key"], key_type) if keyed else [()] * frame.height
    if "end" not in frame.columns:
        return keys, None, states(frame)
    return keys, zip(frame["start"].to_list(), frame["end"].to_list(), strict=True), states(frame)


def by_window(frame: pl.DataFrame) -> Iterator[tuple[WindowPlace, pl.DataFrame]]:
    """The groups of each window."""
    yield from frame.partition_by("start", "end", as_dict=True).items()


def _part(frame: pl.DataFrame) -> _Part:
    if "end" not in frame.columns or not frame.height:
        return _Part(frame, 0, 0)
    ends = frame["end"]
    return _Part(frame, cast("int", ends.min()), cast("int", ends.max()))
