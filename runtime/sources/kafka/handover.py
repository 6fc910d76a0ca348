"""Objects from one process to another: the arrays of each are laid into one of a few rooms of memory that both share,
and the rest goes through a pipe. Whoever takes an object says when its room is free again; until then the giver waits.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
from collections import deque
from collections.abc import Sequence
from select import select
from struct import Struct
from threading import Event
from typing import Any, cast

ROOMS = 5
"""One that is filled, and those of objects that are taken and not yet done with."""
_ALIGNED = 64
_LENGTH = Struct("<I")
_LOOK_S = 0.1


class Over(Exception):
    """The other process has ended."""


class _Room:
    """Memory behind a descriptor of a file; it grows."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._map: mmap.mmap | None = None

    def of(self, size: int) -> memoryview:
        """All of it, which is at least so large."""
        if self._map is None or len(self._map) < size:
            if os.fstat(self._descriptor).st_size < size:
                os.ftruncate(self._descriptor, 1 << size.bit_length())  # what is not used is not there
            self._map = mmap.mmap(self._descriptor, 0)
        return memoryview(self._map)


class Giver:
    """Gives objects away; `rooms` are descriptors of memory, `pipe` and `freed` the ends of pipes."""

    def __init__(self, rooms: Sequence[int], pipe: int, freed: int) -> None:
        self._rooms = list(map(_Room, rooms))
        self._free = deque(range(len(rooms)))
        self._pipe = pipe
        self._freed = freed

    def give(self, thing: object) -> None:
        """Wait for room and give this away. Raises `Over`."""
        buffers: list[pickle.PickleBuffer] = []
        rest = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
        arrays, places, size = [each.raw() for each in buffers], list[tuple[int, int]](), 0
        for array in arrays:
            places.append((size, size + array.nbytes))
            size += -(-array.nbytes // _ALIGNED) * _ALIGNED
        number = self._next_room() if size else None
        if number is not None:
            room = self._rooms[number].of(size)
            for (start, end), array in zip(places, arrays, strict=True):
                room[start:end] = array
        said = pickle.dumps((number, places, rest))
        try:
            _write(self._pipe, _LENGTH.pack(len(said)) + said)
        except BrokenPipeError as error:
            raise Over from error

    def _next_room(self) -> int:
        if not self._free:
            self._free.extend(os.read(self._freed, ROOMS))
        if not self._free:
            raise Over
        return self._free.popleft()


class Taker:
    """Takes the objects of a `Giver`; `pipe` and `freed` are the other ends."""

    def __init__(self, rooms: Sequence[int], pipe: int, freed: int) -> None:
        self._rooms = list(map(_Room, rooms))
        self._pipe = pipe
        self._freed = freed

    def tell(self, data: bytes) -> None:
        """Say something while no room is taken; if nobody hears it, who takes learns so."""
        with contextlib.suppress(BrokenPipeError):
            _write(self._freed, data)

    def has_come(self, seconds: float) -> bool:
        """Whether there is something to take, or nothing will ever come; waits for it so long."""
        return bool(select([self._pipe], [], [], seconds)[0])

    def take(self, closed: Event) -> tuple[Any, int | None] | None:
        """The next object and its room, whose memory the object's arrays are; None soon after `closed` is set. Raises
        `Over`.
        """
        while not self.has_come(_LOOK_S):
            if closed.is_set():
                return None
        (length,) = _LENGTH.unpack(_read(self._pipe, _LENGTH.size))
        said = pickle.loads(_read(self._pipe, length))  # by a process of ours
        number, places, rest = cast("tuple[int | None, list[tuple[int, int]], bytes]", said)
        if number is None:
            return pickle.loads(rest, buffers=[b""] * len(places)), None
        room = self._rooms[number].of(places[-1][1])
        return pickle.loads(rest, buffers=[room[start:end] for start, end in places]), number

    def free(self, number: int) -> None:
        """The object in this room is no longer needed. Any thread may say so."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._freed, bytes([number]))


def _write(pipe: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(pipe, left) :]


def _read(pipe: int, size: int) -> bytes:
    parts, left = list[bytes](), size
    while left:
        part = os.read(pipe, left)
        if not part:
            raise Over
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
