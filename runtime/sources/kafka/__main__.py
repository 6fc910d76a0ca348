"""The process that `beside` starts:

    python -m ghcm.runtime.sources.kafka ROOM...

It hears on standard input what to fetch, cuts that into records, gives them away by way of standard output and the
rooms (descriptors of memory that is shared), and ends with whoever started it.
"""

import contextlib
import logging
import os
import pickle
import sys
from contextlib import closing
from typing import cast

from kafka.errors import KafkaError

from ghcm.runtime.parent_death import end_with_parent
from ghcm.runtime.sources.kafka.beside import Ended, Order, Ready
from ghcm.runtime.sources.kafka.cutting import Cutter
from ghcm.runtime.sources.kafka.fetching import Fetching
from ghcm.runtime.sources.kafka.handover import Giver, Over
from ghcm.runtime.sources.kafka.parts import divided
from ghcm.runtime.sources.kafka.record_batches import Unread

_NICE = 10
"""It is ahead of the thread that decodes, which everything else waits for and which is not to wait for a core."""


def main(rooms: list[int]) -> None:
    """Fetch, cut and give away what is asked for."""
    end_with_parent()
    os.nice(_NICE)
    logging.disable()  # what is wrong is told to whoever started it
    giver = Giver(rooms, sys.stdout.fileno(), sys.stdin.fileno())
    with contextlib.suppress(Over, EOFError):
        giver.give(Ready())
        order = cast("Order", pickle.load(sys.stdin.buffer))  # of a process of ours
        cutter, why = Cutter(times=order.times, lines=order.lines), ""
        fetching = Fetching(order.options, order.offsets, order.ends)
        try:
            with closing(fetching.fetched(lambda: True)) as fetched:
                for each in fetched:
                    for uncut in divided(each, order.ends.get(each.partition)):
                        room = giver.room()
                        giver.give(uncut.cut(cutter, room), room)
        except (KafkaError, OSError, Unread) as error:
            why = repr(error)
        giver.give(Ended(why))


if __name__ == "__main__":
    main(list(map(int, sys.argv[1:])))
