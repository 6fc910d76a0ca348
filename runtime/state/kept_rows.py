"""Rows by name, for operators that keep many of which few change between two commits.

A snapshot holds parts, of which the later ones say what has changed since: a commit holds the loop for what has
happened since the last one. The parts are put together, and written as a whole, beside it; where they are more than
twice what is kept they are made anew.
"""

from collections.abc import Callable, Iterator, Mapping

from ghcm.runtime.data.columns import Row
from ghcm.runtime.state.packing import LazyState, pack, unpack

_FEW = 1024
"""Rows that may be saved more than twice as often as needed."""


class KeptRows:
    """`name` gives what tells a row from others, `group` its key group."""

    def __init__(self, name: Callable[[Row], object], group: Callable[[Row], int]) -> None:
        self._name = name
        self._group = group
        self._rows: dict[object, Row] = {}
        self._unsaved: dict[object, tuple[Row, bool]] = {}
        """What has come or, where it says no, gone since the last snapshot."""
        self._parts: dict[int, list[bytes]] = {}
        self._parted = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def get(self, name: object) -> Row | None:
        """The row of that name."""
        return self._rows.get(name)

    def put(self, name: object, row: Row) -> None:
        """Keep a row, in place of the one of its name."""
        self._rows[name] = row
        self._unsaved[name] = row, True

    def drop(self, name: object) -> None:
        """Forget the row of that name, if there is one."""
        row = self._rows.pop(name, None)
        if row is not None:
            self._unsaved[name] = row, False

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`."""
        if self._parted > 2 * len(self._rows) + _FEW:
            self._parts, self._parted = {}, 0
            self._unsaved = {name: (row, True) for name, row in self._rows.items()}
        groups: dict[int, list[tuple[Row, bool]]] = {}
        for entry in self._unsaved.values():
            groups.setdefault(self._group(entry[0]), []).append(entry)
        for group, entries in groups.items():
            self._parts.setdefault(group, []).append(pack(entries))
        self._parted += len(self._unsaved)
        self._unsaved = {}
        now = {group: list(parts) for group, parts in self._parts.items()}
        return LazyState(lambda: {group: pack(parts) for group, parts in now.items()})

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        for group, data in state.items():
            parts: list[bytes] = unpack(data)
            self._parts[group] = parts
            for part in parts:
                entries: list[tuple[Row, bool]] = unpack(part)
                self._parted += len(entries)
                for row, kept in entries:
                    if kept:
                        self._rows[self._name(row)] = row
                    else:
                        self._rows.pop(self._name(row), None)
