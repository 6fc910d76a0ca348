"""The state of operators as bytes: plain Python values and decimals, nothing that could run code when it is read.

What takes long is made when somebody takes the bytes. To find the key groups of many entries takes ten times as long as
to put down what they are, so the loop does the latter, and the thread that writes a snapshot the former
(`key_groups`). Frames never change, so that thread writes them as Arrow while the loop goes on with others
(`with_frames`).
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar, cast

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


class LazyState(Mapping[int, bytes]):
    """Bytes by key group, made by `make` when somebody takes them."""

    def __init__(self, make: Callable[[], Mapping[int, bytes]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[int, bytes]:
        return self._make()

    def __getitem__(self, group: int) -> bytes:
        return self._made[group]

    def __iter__(self) -> Iterator[int]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


E = TypeVar("E")

_PIECE = 1024


def key_groups(entries: Iterator[E], group: Callable[[E], int], *, change: bool) -> Mapping[int, bytes]:
    """By key group the entries of it, packed as a list in the order in which they were given. `change`: whether entries
    may change from now on, so that they are put down at once.
    """
    pieces: list[bytes | Sequence[E]] = []
    while piece := list(islice(entries, _PIECE)):
        pieces.append(pack(piece) if change else piece)

    def packed() -> Mapping[int, bytes]:
        groups: dict[int, list[E]] = {}
        for piece in pieces:
            held: Any = unpack(piece) if isinstance(piece, bytes) else piece
            for entry in cast("Sequence[E]", held):
                groups.setdefault(group(entry), []).append(entry)
        pieces.clear()
        return {group: pack(of_group) for group, of_group in groups.items()}

    return LazyState(packed)


_FRAMES_GROUP = 0


def with_frames(packed: Mapping[int, bytes], frames: Sequence[pl.DataFrame]) -> Mapping[int, bytes]:
    """By key group the groups that are single states (`packed`), and those that are rows of frames.

    All rows of frames lie in key group 0, together with the single states of that group: to find the key groups of
    hundreds of thousands of keys with each snapshot would cost more than all the rest of it, and nobody asks for them
    before a task is divided.
    """

    def whole() -> Mapping[int, bytes]:
        return {**packed, _FRAMES_GROUP: pack((packed.get(_FRAMES_GROUP), _bytes(pl.concat(frames))))}

    return LazyState(whole)


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
