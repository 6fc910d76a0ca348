"""Rows by name, for operators that keep many of which few change between two commits.

A snapshot holds parts, of which the later ones say what has changed since. A commit notes in the loop what has changed
since the last one; key groups are found, and parts packed and put together, beside it. Where the parts hold more than
twice what is kept they are made anew.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ghcm.runtime.data.columns import Row
from ghcm.runtime.state.packing import LazyState, pack, unpack

_FEW = 1024
"""Rows that may be saved more than twice as often as needed."""


class _Part(Mapping[int, Sequence[bytes]]):
    """What has changed until a commit, packed by key group when somebody asks; then nothing else is kept of it."""

    def __init__(self, entries: list[tuple[Row, bool]], group: Callable[[Row], int]) -> None:
        self._entries = entries
        self._group = group
        self._packed: dict[int, Sequence[bytes]] | None = None

    def _by_group(self) -> dict[int, Sequence[bytes]]:
        packed = self._packed
        if packed is None:
            groups: dict[int, list[tuple[Row, bool]]] = {}
            for entry in self._entries:
                groups.setdefault(self._group(entry[0]), []).append(entry)
            packed = self._packed = {group: (pack(entries),) for group, entries in groups.items()}
            self._entries = []
        return packed

    def __getitem__(self, group: int) -> Sequence[bytes]:
        return self._by_group()[group]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_group())

    def __len__(self) -> int:
        return len(self._by_group())


class KeptRows:
    """`name` gives what tells a row from others, `group` its key group."""

    def __init__(self, name: Callable[[Row], object], group: Callable[[Row], int]) -> None:
        self._name = name
        self._group = group
        self._rows: dict[object, Row] = {}
        self._unsaved: dict[object, tuple[Row, bool]] = {}
        """What has come or, where it says no, gone since the last snapshot."""
        self._parts: list[Mapping[int, Sequence[bytes]]] = []
        """By key group what each commit has packed, later ones behind."""
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
            self._parts, self._parted = [], 0
            self._unsaved = {name: (row, True) for name, row in self._rows.items()}
        if self._unsaved:
            self._parts.append(_Part(list(self._unsaved.values()), self._group))
        self._parted += len(self._unsaved)
        self._unsaved = {}
        parts = list(self._parts)

        def together() -> Mapping[int, bytes]:
            groups: dict[int, list[bytes]] = {}
            for part in parts:
                for group, packed in part.items():
                    groups.setdefault(group, []).extend(packed)
            return {group: pack(packed) for group, packed in groups.items()}

        return LazyState(together)

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        for group, data in state.items():
            parts: list[bytes] = unpack(data)
            self._parts.append({group: parts})
            for part in parts:
                entries: list[tuple[Row, bool]] = unpack(part)
                self._parted += len(entries)
                for row, kept in entries:
                    if kept:
                        self._rows[self._name(row)] = row
                    else:
                        self._rows.pop(self._name(row), None)
