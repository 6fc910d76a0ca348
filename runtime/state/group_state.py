"""The state of an aggregation: its groups as columns wherever that is possible, and as Python states by key.

Most groups are never looked at one by one: they come from columns, and their results leave as columns when their
window closes (`GroupFrames`). Others are single states by window and identity of the key. A group may stand in both;
whoever reads it merges them. When groups are due is the operator's business, and so are results.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import polars as pl

from ghcm.runtime.contract import INFINITY, NEVER, Context, Upkeep
from ghcm.runtime.data.columns import series, values
from ghcm.runtime.data.key_groups import grouping, groups_of
from ghcm.runtime.data.keys import identity_of, value_of
from ghcm.runtime.native.code import GroupCode
from ghcm.runtime.state.group_frames import GroupFrames
from ghcm.runtime.state.packing import key_groups, unpack
from ghcm.runtime.state.runs import RunState, runs_of
from ghcm.runtime.state.slices import WindowTimes
from ghcm.spg.graph import Task
from ghcm.types import Collection, Null, Shape, Type

_FEW = 512
"""Fewer groups are merged and closed in the time of a short step."""


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


UNWINDOWED: WindowTimes = (NEVER, INFINITY)


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

    def gathers(self, rows: int) -> bool:
        """Whether a batch of so many records, if they become columns, has all groups in columns merged."""
        return self.frames is not None and rows >= self._context.columnar_from and self.frames.crowded(rows)

    def closes(self, until: int, waiting: int, first: int) -> bool:
        """Whether windows close that end by then, and many groups are kept in columns; so many records wait, of windows
        that end at `first` or later.
        """
        if self._layout.window is None or self.frames is None or len(self.frames) + waiting < _FEW:
            return False
        return min(self.frames.least_end, first) <= until

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

    def arrivals(self) -> Iterator[int]:
        """The greatest number in each state by arrival; no state of these is in columns."""
        for states in self.windows.values():
            for state in cast("Iterable[Sequence[Any]]", states.values()):
                yield from (state[index][-1][0] for index in self._code.arrivals if state[index] is not None)
