"""Objects from one process to another: the arrays of each lie, or are laid, in one of a few rooms of memory that both
share, and the rest goes through a pipe. Whoever takes an object says when its room is free again; until then the giver
waits.
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

import numpy as np

from ghcm.runtime.data.arrays import Octets

ROOMS = 5
"""One that is filled, and those of objects that are taken and not yet done with."""
_ALIGNED = 64
_LENGTH = Struct("<I")
_LOOK_S = 0.1


class Over(Exception):
    """The other process has ended."""


class Room:
    """Memory behind a descriptor of a file; it grows."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._all: Octets = np.empty(0, np.uint8)

    def of(self, size: int) -> Octets:
        """All of it, which is at least so large; what has been laid there stays."""
        if len(self._all) < size:
            if os.fstat(self._descriptor).st_size < size:
                os.ftruncate(self._descriptor, 1 << size.bit_length())  # what is not used is not there
            self._all = np.frombuffer(mmap.mmap(self._descriptor, 0), np.uint8)
        return self._all

    def place_of(self, array: memoryview) -> int | None:
        """Where in it these bytes are; None if they are elsewhere."""
        place = _address(np.frombuffer(array, np.uint8)) - _address(self._all) if array.nbytes else -1
        return place if 0 <= place < len(self._all) else None


def _address(array: Octets) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


class Giver:
    """Gives objects away; `rooms` are descriptors of memory, `pipe` and `freed` the ends of pipes."""

    def __init__(self, rooms: Sequence[int], pipe: int, freed: int) -> None:
        self._rooms = list(map(Room, rooms))
        self._free = deque(self._rooms)
        self._pipe = pipe
        self._freed = freed

    def room(self) -> Room:
        """Wait for one, which is to be given with what lies in it. Raises `Over`."""
        if not self._free:
            self._free.extend(self._rooms[number] for number in os.read(self._freed, ROOMS))
        if not self._free:
            raise Over
        return self._free.popleft()

    def give(self, thing: object, room: Room | None = None) -> None:
        """Give this away; arrays that are not in the room yet are laid behind those that are. Raises `Over`."""
        buffers: list[pickle.PickleBuffer] = []
        rest = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
        arrays = [each.raw() for each in buffers]
        if room is None and any(each.nbytes for each in arrays):
            room = self.room()
        places = [] if room is None else _laid(arrays, room)
        number = None
        if room is not None and any(start < end for start, end in places):
            number = self._rooms.index(room)
        elif room is not None:
            self._free.append(room)
        said = pickle.dumps((number, places or [(0, 0)] * len(arrays), rest))
        try:
            _write(self._pipe, _LENGTH.pack(len(said)) + said)
        except BrokenPipeError as error:
            raise Over from error


def _laid(arrays: Sequence[memoryview], room: Room) -> list[tuple[int, int]]:
    """Where these are in the room, in which they then lie."""
    there = [(room.place_of(each), each) for each in arrays]
    size = max((start + each.nbytes for start, each in there if start is not None), default=0)
    places: list[tuple[int, int]] = []
    for start, array in there:
        begin = -(-size // _ALIGNED) * _ALIGNED if start is None else start
        end = begin + array.nbytes
        if start is None:
            room.of(end)[begin:end] = np.frombuffer(array, np.uint8)
            size = end
        places.append((begin, end))
    return places


class Taker:
    """Takes the objects of a `Giver`; `pipe` and `freed` are the other ends."""

    def __init__(self, rooms: Sequence[int], pipe: int, freed: int) -> None:
        self._rooms = list(map(Room, rooms))
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
        room = self._rooms[number].of(max(end for _, end in places)).data
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
