"""Objects go from one process to another as they are, and wait for room; here both are threads of this one."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from ghcm.runtime.sources.kafka.handover import ROOMS, Giver, Over, Taker


@dataclass
class Ends:
    """Both sides, and the ends of the pipes that each has."""

    giver: Giver
    taker: Taker
    given: int
    freed: int


@pytest.fixture
def ends() -> Generator[Ends]:
    with ExitStack() as opened:
        rooms = [os.memfd_create("test") for _ in range(ROOMS)]
        (taken, given), (heard, freed) = os.pipe(), os.pipe()
        for each in (*rooms, taken, heard):
            opened.callback(os.close, each)
        both = Ends(Giver(rooms, given, heard), Taker(rooms, taken, freed), given, freed)
        yield both
        for end in (both.given, both.freed):
            if end >= 0:
                os.close(end)


def things(count: int) -> list[tuple[str, Any, Any]]:
    """The later, the larger; the last arrays are empty."""
    return [(f"{at}", np.arange(7 * at), np.full(50_000 * at, at, np.uint8)) for at in reversed(range(count))][::-1]


def test_things_come_as_they_were_and_wait_for_room(ends: Ends) -> None:
    closed, sent, given = Event(), things(3 * ROOMS), list[str]()

    def give() -> None:
        for each in sent:
            ends.giver.give(each)
            given.append(each[0])
        ends.giver.give("the last" * 100_000)  # more than a pipe holds, and nothing for a room

    giving = Thread(target=give)
    giving.start()
    held: list[tuple[int, Any]] = []
    for name, numbers, octets in sent:
        taken = ends.taker.take(closed)
        assert taken is not None
        thing, room = taken
        assert (thing[0], thing[1].tolist()) == (name, numbers.tolist())
        assert np.array_equal(thing[2], octets)
        if room is not None:
            held.append((room, thing[2]))
        if len(held) == ROOMS:
            assert len(given) <= int(name) + 1  # there is no room for what comes next
            assert len({int(each[0]) for _, each in held}) == ROOMS  # which has not been overwritten
            for each, _ in held:
                ends.taker.free(each)
            held.clear()
    assert ends.taker.take(closed) == ("the last" * 100_000, None)
    giving.join()


def test_what_lies_in_a_room_stays_there_and_other_arrays_are_laid_behind_it(ends: Ends) -> None:
    for round_ in range(ROOMS + 1):
        room, numbers = ends.giver.room(), np.arange(round_, 3000)
        room.of(100)[:] = 7
        lain = room.of(5000)[20:5000]  # what was there stays where it grows
        lain[80:] = round_
        ends.giver.give((numbers, lain, lain[:0]), room)
        taken = ends.taker.take(Event())
        assert taken is not None
        (found, octets, nothing), number = taken
        assert (found.tolist(), len(nothing)) == (numbers.tolist(), 0)
        assert octets.tolist() == [7] * 80 + [round_] * 4900
        lain[0] = 8
        assert octets[0] == 8  # it is the same memory
        assert number is not None
        ends.taker.free(number)
    for _ in range(2 * ROOMS):
        ends.giver.give("nothing for the room", ends.giver.room())  # which is free at once
        assert ends.taker.take(Event()) == ("nothing for the room", None)


def test_each_hears_that_the_other_is_gone(ends: Ends) -> None:
    closed = Event()
    closed.set()
    assert ends.taker.take(closed) is None
    os.close(ends.freed)
    ends.freed = -1
    for _ in range(ROOMS):
        ends.giver.give(np.arange(3))
    with pytest.raises(Over):
        ends.giver.give(np.arange(3))
    os.close(ends.given)
    ends.given = -1
    for _ in range(ROOMS):
        assert ends.taker.take(Event()) is not None
    with pytest.raises(Over):
        ends.taker.take(Event())
