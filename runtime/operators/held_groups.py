"""The groups of an aggregation, in both forms: columns as long as that goes, and single states.

A group may stand in both; whoever reads it merges them. When groups are due is decided in `groups`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from ghcm.runtime.contract import INFINITY, Context
from ghcm.runtime.data.columns import series, values
from ghcm.runtime.native.code import GroupCode
from ghcm.runtime.operators.frame_state import FrameState, unpack_groups
from ghcm.runtime.operators.group_frames import GroupFrames
from ghcm.runtime.operators.group_layout import GroupLayout
from ghcm.runtime.operators.single_groups import SingleGroups, WindowTimes


class HeldGroups:
    """`frames` are None where columns cannot be merged. `told`: whether it is kept which unwindowed groups have changed
    since `renewed` was asked last.
    """

    def __init__(self, code: GroupCode, layout: GroupLayout, context: Context, *, told: bool) -> None:
        self.singles = SingleGroups(code, layout, context)
        merges = code.merged is not None
        self.frames = GroupFrames(code, layout.key_type, context.unmerged) if merges else None
        self.changed: set[object] = set()
        """The identities of single states that have changed."""
        self.fresh: list[pl.DataFrame] = []
        """The keys of columns that came."""
        self._told = told
        self._code = code
        self._layout = layout
        self._context = context

    def merge(self, keys: Sequence[object], windows: Iterable[WindowTimes] | None, states: list[object]) -> None:
        """Merge states of these keys and windows (None: of none) into the single ones."""
        identities = self.singles.merge(keys, windows, states)
        if self._told:
            self.changed.update(identities)

    def spill(self, frames: list[pl.DataFrame]) -> None:
        """Keep these groups as single states from now on."""
        assert self.frames is not None or not frames
        for frame in frames:
            assert self.frames is not None
            self.merge(*self.frames.read(frame))

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
        return changed, self.frames.of(self._keys([*fresh, *([self._named(changed)] if changed else [])]))

    def apart(self, frame: pl.DataFrame) -> bool:
        """Whether none of these groups has a single state, too."""
        singles = self.singles.unwindowed()
        return not singles or singles.keys().isdisjoint(self.keys_of(frame))

    def keys_of(self, frame: pl.DataFrame) -> Sequence[object]:
        """The keys of groups in columns as canonical values."""
        return values(frame["key"], self._layout.key_type) if self._layout.key is not None else [()]

    def _keys(self, frames: list[pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(frames) if frames and self._layout.key is not None else pl.DataFrame()

    def _named(self, keys: Iterable[object]) -> pl.DataFrame:
        return pl.DataFrame([series("key", list(keys), self._layout.key_type)])

    def together(self, frames: Iterable[pl.DataFrame]) -> dict[object, object]:
        """The single states of unwindowed groups in columns."""
        states: dict[object, object] = {}
        for frame in frames:
            assert self.frames is not None
            keys, _, found = self.frames.read(frame)
            self.singles.add(states, keys, found)
        return states

    def both(self, states: Mapping[object, object], others: Mapping[object, object]) -> dict[object, object]:
        """States that nobody else holds, with what others have of their keys."""
        merge, parameters = self._code.merge, self._context.parameters
        return {key: merge(state, others[key], parameters) if key in others else state for key, state in states.items()}

    def copied(self, key: object) -> list[Mapping[object, object]]:
        """The states of all groups, or at least those of one key; windows stand apart."""
        if self.frames is None or not len(self.frames):
            return list(self.singles.windows.values())
        singles = self.singles.unwindowed()
        if key is None or self._layout.key is None:
            return [singles | self.both(self.together(self.frames.whole()), singles)]
        kept = {key: singles[key]} if key in singles else {}
        return [kept | self.both(self.together(self.frames.of(self._named([key]))), kept)]

    def save(self) -> Mapping[int, bytes]:
        """All groups, as `Operator.save`."""
        packed = self.singles.packed()
        held = self.frames.held() if self.frames is not None else []
        return FrameState(packed, held) if held else packed

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        for data in state.values():
            singles, frame = unpack_groups(data)
            self.singles.restore(singles)
            if frame is not None:
                assert self.frames is not None
                self.frames.restore(frame)
