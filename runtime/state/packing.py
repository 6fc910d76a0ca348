"""The state of operators as bytes: plain Python values and decimals, nothing that could run code when it is read.

What takes long is made when somebody takes the bytes. To find the key groups of many entries takes ten times as long as
to put down what they are, so the loop does the latter, and the thread that writes a snapshot the former
(`LazyKeyGroups`). Frames never change, so that thread writes them as Arrow while the loop goes on with others
(`FrameState`).
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Generic, TypeVar, cast

import polars as pl

_ALLOWED = {("decimal", "Decimal")}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ALLOWED:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f'a state holds "{module}.{name}"')


def pack(value: object) -> bytes:
    """The bytes of nested tuples, lists, dicts and canonical values."""
    return pickle.dumps(value, protocol=5)


def unpack(data: bytes) -> Any:
    """The inverse of `pack`; `pickle.UnpicklingError` for anything else."""
    return _Reader(io.BytesIO(data)).load()


E = TypeVar("E")

_PIECE = 1024


class LazyKeyGroups(Mapping[int, bytes], Generic[E]):
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


_FRAMES_GROUP = 0


class FrameState(Mapping[int, bytes]):
    """By key group the groups that are single states (`packed`), and those that are rows of frames.

    All rows of frames lie in key group 0, together with the single states of that group: to find the key groups of
    hundreds of thousands of keys with each snapshot would cost more than all the rest of it, and nobody asks for them
    before a task is divided.
    """

    def __init__(self, packed: Mapping[int, bytes], frames: Sequence[pl.DataFrame]) -> None:
        self._packed = packed
        self._frames = frames

    def __getitem__(self, group: int) -> bytes:
        if group != _FRAMES_GROUP:
            return self._packed[group]
        return pack((self._packed.get(_FRAMES_GROUP), _bytes(pl.concat(self._frames))))

    def __iter__(self) -> Iterator[int]:
        yield from {_FRAMES_GROUP, *self._packed}

    def __len__(self) -> int:
        return len({_FRAMES_GROUP, *self._packed})


def _bytes(frame: pl.DataFrame) -> bytes:
    written = io.BytesIO()
    frame.write_ipc(written)
    return written.getvalue()


def unpack_groups(data: bytes) -> tuple[list[tuple[object, ...]], pl.DataFrame | None]:
    """What a key group holds: single states as they were packed, and rows of a frame."""
    found = unpack(data)
    if isinstance(found, list):
        return cast("list[tuple[object, ...]]", found), None
    packed, written = cast("tuple[bytes | None, bytes]", found)
    return ([] if packed is None else unpack(packed)), pl.read_ipc(io.BytesIO(written))
