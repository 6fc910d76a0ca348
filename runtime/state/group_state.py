"""The state of an aggregation: its groups as columns wherever that is possible, and as Python states by key.

Most groups are never looked at one by one: they come from columns, and their results leave as columns when their
window closes (`GroupFrames`). Others are single states by window and identity of the key. A group may stand in both;
whoever reads it merges them. When groups are due is the operator's business, and so are results.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

import polars as pl

from ghcm.runtime.contract import INFINITY, NEVER, Context, Upkeep
from ghcm.runtime.data.columns import in_columns, series, values
from ghcm.runtime.data.key_groups import grouping, groups_of
from ghcm.runtime.data.keys import identity_of, value_of
from ghcm.runtime.native.code import GroupCode
from ghcm.runtime.state.packing import key_groups, unpack
from ghcm.runtime.state.runs import GroupsOf, Run, RunState, bounds_of, runs_of
from ghcm.spg.graph import Task
from ghcm.types import Collection, Null, Shape, Type


@dataclass(frozen=True, slots=True)
class GroupLayout:
    """Where key, value and window stand in the input rows (None: nowhere), and the columns of the output."""

    key: int | None
    value: int | None
    window: int | None
    key_type: Type
    names: tuple[str, ...]


def layout_of(takes: Collection, task: Task) -> GroupLayout:
    """The layout of a task that takes such a collection."""
    columns = takes.columns
    key = columns.get("key") if takes.shape is not Shape.STREAM else None
    return GroupLayout(
        None if key is None else columns.index("key"),
        columns.index("value") if "value" in columns.names else None,
        columns.index("window") if takes.windowed else None,
        Null() if key is None else key.type,
        task.schema.names,
    )


WindowTimes: TypeAlias = tuple[int, int]
UNWINDOWED: WindowTimes = (NEVER, INFINITY)


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

    def slide(self, until: int, size: int, every: int) -> Iterator[tuple[WindowTimes, pl.DataFrame]]:
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
        return self._of(keys, self.held()) if keys.width else self.whole()

    def one(self, key: pl.DataFrame, group: int) -> list[pl.DataFrame]:
        """As `of`, for a single key of this key group."""
        return self._of(key, [part.bucket(group) for part in self._parts])

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


class GroupState:
    """`windows` holds the single states by window and identity of the key; unwindowed ones stand under `UNWINDOWED`.
    `frames` are None where columns cannot be merged. `told`: whether it is kept which unwindowed groups have changed
    since `renewed` was asked last.
    """

    def __init__(self, code: GroupCode, layout: GroupLayout, context: Context, *, told: bool) -> None:
        self.windows: dict[WindowTimes, dict[object, object]] = {}
        self.identity = None if layout.key is None else identity_of(layout.key_type)
        """What makes an identity of a key; None where the key itself is one."""
        self.frames = None if code.merged is None else GroupFrames(code.merged, context.unmerged)
        self.changed: set[object] = set()
        """The identities of single states that have changed."""
        self.fresh: list[pl.DataFrame] = []
        """The keys of columns that came."""
        self._value = None if layout.key is None else value_of(layout.key_type)
        self._told = told
        self._code = code
        self._layout = layout
        self._context = context

    def of(self, window: WindowTimes) -> dict[object, object]:
        """The single states of a window, to be changed."""
        return self.windows.setdefault(window, {})

    def unwindowed(self) -> dict[object, object]:
        """The single states without a window, to be read."""
        return self.windows.get(UNWINDOWED, {})

    def add(self, groups: dict[object, object], identities: Iterable[object], states: Iterable[object]) -> None:
        """Merge states into single ones of a window."""
        merge, parameters = self._code.merge, self._context.parameters
        for key, state in zip(identities, states, strict=True):
            groups[key] = merge(groups[key], state, parameters) if key in groups else state

    def spill(self, frames: list[pl.DataFrame]) -> None:
        """Keep these groups as single states from now on."""
        for frame in frames:
            keys, states = self.keys_of(frame), self._states_of(frame)
            identities = keys if self.identity is None else list(map(self.identity, keys))
            if "end" in frame.columns:
                windows = zip(frame["start"].to_list(), frame["end"].to_list(), strict=True)
                for window, key, state in zip(windows, identities, states, strict=True):
                    self.add(self.of(window), (key,), (state,))
            else:
                self.add(self.of(UNWINDOWED), identities, states)
            if self._told:
                self.changed.update(identities)

    def spill_all(self) -> None:
        """Keep all groups as single states from now on."""
        if self.frames is not None:
            self.spill(self.frames.take(INFINITY))

    def renewed(self) -> tuple[set[object], list[pl.DataFrame]]:
        """What has changed since this was asked last: the identities of single states, and what columns hold of these
        and of those that came in columns.
        """
        changed, self.changed = self.changed, set()
        fresh, self.fresh = self.fresh, []
        if self.frames is None or not len(self.frames) or not (fresh or changed):
            return changed, []
        keys = [*fresh, *([self._named(changed)] if changed else [])]
        return changed, self.frames.of(pl.concat(keys) if self._layout.key is not None else pl.DataFrame())

    def apart(self, frame: pl.DataFrame) -> bool:
        """Whether none of these groups has a single state, too."""
        keyed = self.unwindowed()
        return not keyed or keyed.keys().isdisjoint(self.keys_of(frame))

    def keys_of(self, frame: pl.DataFrame) -> Sequence[object]:
        """The keys of groups in columns as canonical values."""
        return values(frame["key"], self._layout.key_type) if self._layout.key is not None else [()] * frame.height

    def _states_of(self, frame: pl.DataFrame) -> list[object]:
        assert self._code.states is not None, "whatever makes frames makes states of them"
        return self._code.states(frame)

    def _named(self, keys: Iterable[object]) -> pl.DataFrame:
        return pl.DataFrame([series("key", list(keys), self._layout.key_type)])

    def together(self, frames: Iterable[pl.DataFrame]) -> dict[object, object]:
        """The single states of unwindowed groups in columns."""
        states: dict[object, object] = {}
        for frame in frames:
            self.add(states, self.keys_of(frame), self._states_of(frame))
        return states

    def both(self, states: Mapping[object, object], others: Mapping[object, object]) -> dict[object, object]:
        """States that nobody else holds, with what others have of their keys."""
        merge, parameters = self._code.merge, self._context.parameters
        return {key: merge(state, others[key], parameters) if key in others else state for key, state in states.items()}

    def copied(self, key: object) -> list[Mapping[object, object]]:
        """The states of all groups, or at least those of one key; windows stand apart."""
        if self.frames is None or not len(self.frames):
            return list(self.windows.values())
        keyed = self.unwindowed()
        if key is None or self._layout.key is None:
            return [keyed | self.both(self.together(self.frames.whole()), keyed)]
        kept = {key: keyed[key]} if key in keyed else {}
        group = grouping(self._layout.key_type, self._context.groups)(key)
        return [kept | self.both(self.together(self.frames.one(self._named([key]), group)), kept)]

    def upkeep(self) -> Upkeep | None:
        """As `Keeper.upkeep`; windows close soon, and nobody looks for a key in them."""
        if self.frames is None or self._layout.key is None or self._layout.window is not None:
            return None
        return self.frames.upkeep(self._groups_of)

    def save(self) -> Mapping[int, bytes]:
        """All groups, as `Operator.save`: single states as they are, and runs of frames."""
        keyed, group_of = self._layout.key is not None, grouping(self._layout.key_type, self._context.groups)
        single = key_groups(self._entries(), lambda entry: group_of(entry[1]) if keyed else 0, change=True)
        return RunState(single, self.frames.save(self._groups_of) if self.frames is not None else ())

    def _groups_of(self, frame: pl.DataFrame) -> pl.Series:
        if self._layout.key is None:
            return pl.repeat(0, frame.height, dtype=pl.UInt8, eager=True)
        return groups_of(frame["key"], self._layout.key_type, self._context.groups)

    def _entries(self) -> Iterator[tuple[object, ...]]:
        for window, states in self.windows.items():
            for identity, state in states.items():
                yield window, identity if self._value is None else self._value(identity), state

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        for data in state.values():
            for window, key, kept in unpack(data):
                self.of(window)[self.identity(key) if self.identity is not None else key] = kept
        for run in runs_of(state):
            assert self.frames is not None, "what has made frames takes them back"
            keyed = self._layout.key is not None and self._layout.window is None
            self.frames.restore(run.put_back(self._groups_of), run.bounds() if keyed else ())
