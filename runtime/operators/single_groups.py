"""The groups of an aggregation that are Python states, one by one: by window, then by identity of the key.

What becomes of them is decided in `groups`; groups that are columns stand in `group_frames`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from ghcm.runtime.contract import INFINITY, NEVER, Context
from ghcm.runtime.data.keys import grouping, identity_of, value_of
from ghcm.runtime.native.code import GroupCode
from ghcm.runtime.operators.group_layout import GroupLayout
from ghcm.runtime.operators.grouped_later import GroupedLater

WindowTimes: TypeAlias = tuple[int, int]
UNWINDOWED: WindowTimes = (NEVER, INFINITY)


class SingleGroups:
    """`windows` holds the states; unwindowed ones stand under `UNWINDOWED`."""

    def __init__(self, code: GroupCode, layout: GroupLayout, context: Context) -> None:
        self.windows: dict[WindowTimes, dict[object, object]] = {}
        self.identity = None if layout.key is None else identity_of(layout.key_type)
        """What makes an identity of a key; None where the key itself is one."""
        self._value = None if layout.key is None else value_of(layout.key_type)
        self._code = code
        self._layout = layout
        self._context = context

    def of(self, window: WindowTimes) -> dict[object, object]:
        """The states of a window, to be changed."""
        groups = self.windows.get(window)
        if groups is None:
            groups = self.windows[window] = {}
        return groups

    def unwindowed(self) -> dict[object, object]:
        """The states without a window, to be read."""
        return self.windows.get(UNWINDOWED, {})

    def add(self, groups: dict[object, object], identities: Sequence[object], states: Sequence[object]) -> None:
        """Merge states into those of a window."""
        merge, parameters = self._code.merge, self._context.parameters
        for key, state in zip(identities, states, strict=True):
            groups[key] = merge(groups[key], state, parameters) if key in groups else state

    def merge(
        self, keys: Sequence[object], windows: Iterable[WindowTimes] | None, states: Sequence[object]
    ) -> Sequence[object]:
        """Merge states of these keys and windows (None: of none); the identities of the keys."""
        identities = keys if self.identity is None else list(map(self.identity, keys))
        if windows is None:
            self.add(self.of(UNWINDOWED), identities, states)
        else:
            for window, key, state in zip(windows, identities, states, strict=True):
                self.add(self.of(window), (key,), (state,))
        return identities

    def packed(self) -> Mapping[int, bytes]:
        """All states by key group, as bytes."""
        keyed, group_of = self._layout.key is not None, grouping(self._layout.key_type, self._context.groups)
        return GroupedLater(self._entries(), lambda entry: group_of(entry[1]) if keyed else 0, change=True)

    def _entries(self) -> Iterator[tuple[object, ...]]:
        for window, states in self.windows.items():
            for identity, state in states.items():
                yield window, identity if self._value is None else self._value(identity), state

    def restore(self, entries: Iterable[tuple[object, ...]]) -> None:
        """Take what was packed of a key group."""
        for window, key, kept in entries:
            self.of(cast("WindowTimes", window))[self.identity(key) if self.identity is not None else key] = kept
