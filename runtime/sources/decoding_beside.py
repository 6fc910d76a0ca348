"""A process beside this one that decodes blocks of JSON whose lines are spelt alike. That is done in many short steps,
each of which waits for the interpreter, so that two threads of one process take hardly less time for it than one.

    python -m ghcm.runtime.sources.decoding_beside ROOM ROOM

A block goes over in one room of memory that both share, and its records come back in the other. Lines that are spelt
otherwise are left to whoever asks, and so is everything where the process has ended.
"""

from __future__ import annotations

import io
import logging
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable
from select import select
from struct import Struct
from threading import Lock

import numpy as np
import polars as pl

from ghcm import types
from ghcm.runtime.formats.json_lines import JsonLines
from ghcm.runtime.parent_death import end_with_parent
from ghcm.runtime.sources.kafka.handover import Room, alone

_log = logging.getLogger(__name__)

_SIZE = Struct("<Q")
_READY = b"\n"
_LEAST = 1 << 20
"""Bytes of a block for which asking is worth while."""


class DecodingBeside:
    """The process, as who started it has it: `decode` may be called from any thread, the rest from one."""

    def __init__(self, schema: types.Struct, rooms: list[int]) -> None:
        line = [sys.executable, "-m", "ghcm.runtime.sources.decoding_beside", *map(str, rooms)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(line, bufsize=0, stdin=pipe, stdout=pipe, pass_fds=rooms, process_group=0)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._asks, self._answers = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._descriptors = rooms
        self._blocks, self._records = map(Room, rooms)
        self._idle = Lock()
        self._ready, self._over = False, False
        os.write(self._asks, pickle.dumps(schema))

    @classmethod
    def started(cls, schema: types.Struct) -> DecodingBeside | None:
        """For records of this schema. None where it could not decode any, where a process works for this one already,
        or where there is neither a core nor memory for it.
        """
        if sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2 or not JsonLines(schema).columnar:
            return None
        if not alone.acquire(blocking=False):
            return None
        rooms = list[int]()
        try:
            rooms += (os.memfd_create("ghcm-decode") for _ in range(2))
            return cls(schema, rooms)
        except OSError as error:
            _log.debug("files are decoded without a process beside: %s", error)
            _left(rooms)
            return None

    def is_ready(self, seconds: float = 0.0) -> bool:
        """Whether it decodes what it is given; waits so long for that."""
        if not self._ready and not self._over and select([self._answers], [], [], seconds)[0]:
            self._ready = os.read(self._answers, 1) == _READY
            self._over = not self._ready
        return self._ready and not self._over

    def decode(self, data: bytes) -> pl.DataFrame | None:
        """The records of whole lines. None where it is at work for somebody else or they are not spelt alike: then it
        is of no use for what comes either, and ends.
        """
        if len(data) < _LEAST or not data.endswith(b"\n") or not self._idle.acquire(blocking=False):
            return None
        try:
            return self._decoded(data) if self._ready and not self._over else None
        finally:
            self._idle.release()

    def close(self) -> None:
        """End it; what it was asked for comes to nothing."""
        self._process.kill()
        with self._idle, self._process:
            self._over = True
        _left(self._descriptors)

    def _decoded(self, data: bytes) -> pl.DataFrame | None:
        self._blocks.of(len(data))[: len(data)] = np.frombuffer(data, np.uint8)
        try:
            os.write(self._asks, _SIZE.pack(len(data)))
        except BrokenPipeError:
            answer = b""
        else:
            answer = os.read(self._answers, _SIZE.size)
        size = _SIZE.unpack(answer)[0] if answer else 0
        if not size:
            self._over = True
            self._process.kill()
            return None
        return pl.read_ipc_stream(self._records.of(size)[:size].tobytes())


def _left(rooms: Iterable[int]) -> None:
    """Give back what the process had."""
    for room in rooms:
        os.close(room)
    alone.release()


def _main(blocks: Room, records: Room) -> None:
    """Decode what comes, until nobody asks any more."""
    end_with_parent()
    asked = sys.stdin.buffer
    decoder = JsonLines(pickle.load(asked))  # by a process of ours
    os.write(sys.stdout.fileno(), _READY)
    while said := asked.read(_SIZE.size):
        (size,) = _SIZE.unpack(said)
        written = io.BytesIO()
        found = decoder.block(blocks.of(size)[:size].data)
        if found is not None:
            found.write_ipc_stream(written, compat_level=pl.CompatLevel.newest())
        content = np.frombuffer(written.getbuffer(), np.uint8)
        records.of(len(content))[: len(content)] = content
        os.write(sys.stdout.fileno(), _SIZE.pack(len(content)))


if __name__ == "__main__":
    _main(*(Room(int(each)) for each in sys.argv[1:]))
