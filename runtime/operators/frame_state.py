"""The state of groups that are columns: the frames of each key group as Arrow, made when somebody takes the bytes.

Frames never change. So the thread that writes a snapshot makes the bytes of it, while the loop goes on with other
frames.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import polars as pl

from ghcm.runtime.columns import values
from ghcm.runtime.keys import grouping, identity_of
from ghcm.runtime.operators.state import pack, unpack
from ghcm.types import Type

__all__ = ["FrameState", "Places", "unpack_groups"]


class Places:
    """The key groups of keys; remembers them until the turn after the next, for it is dear to find them."""

    def __init__(self, key_type: Type, groups: int) -> None:
        self._key_type = key_type
        self._identity = identity_of(key_type)
        self._group = grouping(key_type, groups)
        self._before: dict[object, int] = {}
        self._known: dict[object, int] = {}

    def turn(self) -> None:
        """Another snapshot begins."""
        self._before, self._known = self._known, {}

    def of(self, frame: pl.DataFrame) -> pl.Series:
        """By the column `key`; 0 where there is none."""
        if "key" not in frame.columns:
            return pl.Series([0] * frame.height, dtype=pl.UInt16)
        return pl.Series(self.of_keys(values(frame["key"], self._key_type)), dtype=pl.UInt16)

    def of_keys(self, keys: Sequence[object]) -> list[int]:
        """Of canonical values."""
        before, group, identity = self._before, self._group, self._identity
        same = keys if identity is None else list(map(identity, keys))
        found = [before[each] if each in before else group(key) for each, key in zip(same, keys, strict=True)]
        self._known.update(zip(same, found, strict=True))
        return found


class FrameState(Mapping[int, bytes]):
    """By key group the groups that are single states (`packed`), and those that are rows of frames."""

    def __init__(self, packed: Mapping[int, bytes], frames: Sequence[pl.DataFrame], places: Places) -> None:
        self._packed = packed
        self._frames: Sequence[pl.DataFrame] = frames
        self._places = places
        self._made: dict[int, bytes] | None = None

    def __getitem__(self, group: int) -> bytes:
        return self._all()[group]

    def __iter__(self) -> Iterator[int]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[int, bytes]:
        if self._made is None:
            whole = pl.concat(self._frames)
            parts = whole.with_columns(self._places.of(whole).alias("@group")).partition_by(
                "@group", as_dict=True, include_key=False
            )
            made = dict(self._packed)
            for (group,), part in parts.items():
                place = cast("int", group)
                made[place] = pack((self._packed.get(place), _bytes(part)))
            self._made, self._frames = made, ()
        return self._made


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
