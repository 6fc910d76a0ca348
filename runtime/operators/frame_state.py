"""The state of groups that are columns: their frames as Arrow, made when somebody takes the bytes.

Frames never change. So the thread that writes a snapshot makes the bytes of it, while the loop goes on with other
frames. All rows of frames lie in key group 0, together with the single states of that group: to find the key groups of
hundreds of thousands of keys with each snapshot would cost more than all the rest of it, and nobody asks for them
before a task is divided.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import polars as pl

from ghcm.runtime.state.packing import pack, unpack

_PLACE = 0


class FrameState(Mapping[int, bytes]):
    """By key group the groups that are single states (`packed`), and those that are rows of frames."""

    def __init__(self, packed: Mapping[int, bytes], frames: Sequence[pl.DataFrame]) -> None:
        self._packed = packed
        self._frames = frames

    def __getitem__(self, group: int) -> bytes:
        if group != _PLACE:
            return self._packed[group]
        return pack((self._packed.get(_PLACE), _bytes(pl.concat(self._frames))))

    def __iter__(self) -> Iterator[int]:
        yield from {_PLACE, *self._packed}

    def __len__(self) -> int:
        return len({_PLACE, *self._packed})


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
