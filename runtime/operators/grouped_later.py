"""State by key group, of which the groups are found out when somebody takes the bytes.

To find the key groups of many entries takes ten times as long as to put down what they are. So the loop does the
latter, and the thread that writes a snapshot the former, piece by piece, so that the loop does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Generic, TypeVar, cast

from ghcm.runtime.state.packing import pack, unpack

E = TypeVar("E")

_PIECE = 1024


class GroupedLater(Mapping[int, bytes], Generic[E]):
    """By key group the entries of it, packed as a list in the order in which they were given. `change`: whether entries
    may change from now on, so that they are put down at once.
    """

    def __init__(self, entries: Iterator[E], group: Callable[[E], int], *, change: bool) -> None:
        self._group = group
        self._pieces: list[bytes | Sequence[E]] = []
        while piece := list(islice(entries, _PIECE)):
            self._pieces.append(pack(piece) if change else piece)

    @cached_property
    def _packed(self) -> Mapping[int, bytes]:
        groups: dict[int, list[E]] = {}
        for piece in self._pieces:
            entries: Any = unpack(piece) if isinstance(piece, bytes) else piece
            for entry in cast("Sequence[E]", entries):
                groups.setdefault(self._group(entry), []).append(entry)
        self._pieces = []
        return {group: pack(of_group) for group, of_group in groups.items()}

    def __getitem__(self, group: int) -> bytes:
        return self._packed[group]

    def __iter__(self) -> Iterator[int]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)
