"""Groups as columns: frames of partial aggregates, merged when somebody reads them, when there are too many, or beside
the loop; a snapshot has them as runs.

Which groups are due, and those that are single states, are the business of `GroupState`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import cast

import numpy as np
import polars as pl

from ghcm.runtime.contract import INFINITY, Upkeep
from ghcm.runtime.data.columns import in_columns
from ghcm.runtime.state.runs import GroupsOf, Run, bounds_of
from ghcm.runtime.state.slices import Slices, WindowTimes

_FRAMES, _SMALL = 64, 8
"""So many frames may wait unmerged; then those with less than an eighth of all rows are merged."""
_BEHIND = 4
"""So many times as many rows as else wait unmerged where others merge them."""


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Groups, and the ends of the windows of theirs that close first and last (0 without windows). `run`: as which a
    snapshot has them. `bounds`: where each key group begins and the last one ends, if they lie in their order.
    """

    frame: pl.DataFrame
    first: int
    last: int
    run: Run | None = None
    bounds: Sequence[int] = ()

    def bucket(self, group: int) -> pl.DataFrame:
        """The rows in which a key of this group may be."""
        if not self.bounds:
            return self.frame
        return self.frame.slice(self.bounds[group], self.bounds[group + 1] - self.bounds[group])


class GroupFrames:
    """Frames of `GroupCode.partial`. A group may stand in several of them until they are merged. `merged`: as in
    `GroupCode`; `unmerged`: as in `Context`.
    """

    def __init__(self, merged: Callable[[pl.DataFrame], pl.DataFrame | None], unmerged: int) -> None:
        self._merged = merged
        self._parts: list[_Part] = []
        self._rows = 0
        self._repeats = False
        """Whether a group may stand in one frame several times."""
        self._unmerged = self._limit = unmerged
        self._most = _FRAMES
        self._slid: pl.DataFrame | None = None
        """What went on to the next sliding window: all that is new is merged before it joins it."""
        self._kept_up = self._merging = False

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
        if self._rows > self._limit * (_BEHIND if self._kept_up else 1):
            self._limit = self._unmerged + 2 * sum(each.height for each in self.whole())

    def crowded(self, rows: int) -> bool:
        """Whether a frame of so many groups would have those that are here merged."""
        return len(self._parts) >= self._most or self._rows + rows > self._limit

    def upkeep(self, groups: GroupsOf) -> Upkeep | None:
        """Merge what has come with those of the older frames that are not much larger, and lay it down in the order of
        the key groups, so that each row is merged a few times in all and a key is found in its group.
        """
        self._kept_up = True
        chosen = [] if self._merging else self._to_merge()
        if not chosen:
            return None
        self._merging = True
        frames = [part.frame for part in chosen]

        def work() -> Callable[[], None]:
            made = [_arranged(frame, groups) for frame in self.merge(frames)]
            return lambda: self._replace(frames, made)

        return work

    def _to_merge(self) -> list[_Part]:
        chosen = [part for part in self._parts if not part.bounds]
        rows = sum(part.frame.height for part in chosen)
        if rows <= self._unmerged:
            return []
        for part in sorted((part for part in self._parts if part.bounds), key=lambda part: part.frame.height):
            if part.frame.height > 2 * rows:
                break
            chosen.append(part)
            rows += part.frame.height
        return chosen

    def _replace(self, frames: Sequence[pl.DataFrame], made: list[_Part]) -> None:
        """Put what was merged in the place of these frames, if they are still there."""
        self._merging = False
        old = {id(frame) for frame in frames}
        rest = [part for part in self._parts if id(part.frame) not in old]
        if len(self._parts) - len(rest) == len(frames):
            self._keep([*made, *rest])
            self._limit = self._unmerged + 2 * self._rows

    def save(self, groups: GroupsOf) -> list[Run]:
        """All groups as runs: those of the last time that are still there, and one of what has come since."""
        fresh = [part for part in self._parts if not (part.run or part.bounds or part.frame is self._slid)]
        if len(fresh) > 1 and not self._merging:  # what is being merged has to be found again
            kept = [part for part in self._parts if part not in fresh]
            self._keep([*kept, _part(pl.concat([part.frame for part in fresh]))])
            self._repeats = True
        self._parts = [part if part.run else replace(part, run=Run(part.frame, groups)) for part in self._parts]
        return [part.run for part in self._parts if part.run is not None]

    def restore(self, run: Run, bounds: Sequence[int]) -> None:
        """Take the groups of a run that `save` gave before, in the order of their key groups if these have bounds."""
        self._repeats = True
        if run.frame.height:
            self._keep([*self._parts, replace(_part(run.frame), run=run, bounds=bounds)])
            self._limit = self._unmerged + 2 * self._rows

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

    def slide(self, until: int, slices: Slices) -> Iterator[tuple[WindowTimes, pl.DataFrame]]:
        """The groups of the windows that end by then, in order. Rows stand under panes; those of a closed window go on
        to the pane of the next window that has their slice. Ends early where columns cannot merge.
        """
        while self._rows and (end := self.least_end) <= until:
            taken = self._out(end)
            fresh = self.merge([pane for pane in taken if pane is not self._slid])
            panes = pl.concat([*(pane for pane in taken if pane is self._slid), *fresh])
            window, kept_from = slices.window(end), slices.kept_from(end)
            begin = pl.lit(window[0], pl.Int64).alias("start")
            merged = in_columns(lambda: self._merged(panes.with_columns(begin)))  # noqa: B023
            if merged is None:
                self.add(panes)
                return
            kept = (merged if slices.grow else panes).filter(pl.col("start") >= kept_from)
            self._slid = kept.with_columns(pl.col("end") + slices.every)
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
        return self._of(keys, self.held()) if keys.width else self.whole()

    def one(self, key: pl.DataFrame, group: int) -> list[pl.DataFrame]:
        """The groups of a single key of this key group, not merged; they stay. A call waits for them, so they are found
        without the threads of Polars, which may be busy with much more.
        """
        wanted, held = key.to_series(), [part.bucket(group) for part in self._parts]
        if wanted.dtype.is_nested() or wanted.null_count():
            return self._of(key, held)
        found: list[pl.DataFrame] = []
        for frame in held:
            for row in np.flatnonzero((frame["key"] == wanted).to_numpy()) if frame.height else ():
                found.append(frame.slice(int(row), 1))  # few: a part has a key once, or as often as it was not merged
        return [reduce(pl.DataFrame.vstack, found)] if found else []

    def _of(self, keys: pl.DataFrame, held: list[pl.DataFrame]) -> list[pl.DataFrame]:
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


def by_window(frame: pl.DataFrame) -> Iterator[tuple[WindowTimes, pl.DataFrame]]:
    """The groups of each window."""
    yield from frame.partition_by("start", "end", as_dict=True).items()


def _arranged(frame: pl.DataFrame, groups: GroupsOf) -> _Part:
    """Groups without windows in the order of their key groups."""
    ordered = frame.with_columns(groups(frame).cast(pl.UInt8).alias("@group")).sort("@group")
    return _Part(ordered.drop("@group"), 0, 0, bounds=bounds_of(ordered["@group"]))


def _part(frame: pl.DataFrame) -> _Part:
    if "end" not in frame.columns or not frame.height:
        return _Part(frame, 0, 0)
    ends = frame["end"]
    return _Part(frame, cast("int", ends.min()), cast("int", ends.max()))
