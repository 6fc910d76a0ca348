"""Record batches are cut into messages by whole columns: where each record begins is found for all of them at once,
with nothing that Python does for each. What they hold stays where it was unpacked.

It knows nothing of how messages are decoded, so that a process which does nothing else soon starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ghcm.runtime.data.arrays import Marks, Octets, Words
from ghcm.runtime.sources.kafka.record_batches import RecordBatch, Unread
from ghcm.runtime.sources.kafka.record_places import MARGIN, WORD, Columns, Numbers, numbers_at, objects, records_in

_CODEC, _APPENDED = 0x07, 0x08
_PLAIN, _SNAPPY, _STREAMS = 0, 2, {1: "gzip", 3: "lz4", 4: "zstd"}
_SNAPPY_BLOCKS, _SNAPPY_HEAD = b"\x82SNAPPY\0", 16
_FIRST_ROOM, _MOST_ROOM = 1 << 22, 1 << 30
_AT_ONCE = 1 << 19
"""Bytes that are cut at once, unless one batch has more: so few are still near the processor when they are."""
_NEWLINE, _BLANKS, _BLANK = b"\n"[0], 0x20202020, 4
_FARTHEST = 64
"""Bytes between two values that are made blank at most. Where keys are longer, it is faster to copy the values."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Where something stands in each record; one that ends before it begins is null."""

    starts: Numbers
    ends: Numbers

    def chosen(self, marks: Marks) -> Spans:
        """Those that are marked; nothing if nothing is known."""
        return Spans(self.starts[marks], self.ends[marks]) if len(self.starts) else self

    @property
    def any_null(self) -> bool:
        """Whether one of them is null."""
        return bool((self.ends < self.starts).any())


_NO_NUMBERS: Numbers = np.empty(0, np.int64)
_UNKNOWN = Spans(_NO_NUMBERS, _NO_NUMBERS)


@dataclass(frozen=True, slots=True)
class Records:
    """Records with their offsets, and with times (milliseconds) and keys unless nobody asks for them. What their spans
    lie in is overwritten by the next ones that are cut. `as_lines`: behind each value stands a line end, then blanks up
    to the next one.
    """

    data: Octets
    offsets: Numbers
    times: Numbers
    keys: Spans
    values: Spans
    as_lines: bool

    def between(self, first: int, behind: int | None) -> Records:
        """Those from one offset up to another."""
        marks: Marks = self.offsets >= first
        if behind is not None:
            marks &= self.offsets < behind
        if marks.all():
            return self
        times = self.times[marks] if len(self.times) else self.times
        keys, values = self.keys.chosen(marks), self.values.chosen(marks)
        return Records(self.data, self.offsets[marks], times, keys, values, self.as_lines)

    def order(self) -> Sequence[int]:
        """The offsets; those of topics that nobody has thinned out follow one another."""
        if len(self.offsets) and self.offsets[-1] - self.offsets[0] == len(self.offsets) - 1:
            return range(int(self.offsets[0]), int(self.offsets[-1]) + 1)
        offsets: list[int] = self.offsets.tolist()
        return offsets


class Memory(Protocol):
    """What is unpacked into."""

    def of(self, size: int) -> Octets:
        """All of it, which is at least so large; what has been laid there stays."""
        ...


class Heap:
    """Memory of this process."""

    def __init__(self) -> None:
        self._all: Octets = np.empty(_FIRST_ROOM, np.uint8)

    def of(self, size: int) -> Octets:
        """As `Memory.of`."""
        if size > len(self._all):
            larger = np.empty(2 * size, np.uint8)
            larger[: len(self._all)] = self._all
            self._all = larger
        return self._all


class Cutter:
    """Cuts batches into records, in memory that is used again. For one thread. `times`: whether those are asked for;
    `lines`: whether values are wanted as lines, and keys are not.
    """

    def __init__(self, *, times: bool = True, lines: bool = False) -> None:
        self._times = times
        self._lines = lines
        self._heap = Heap()
        self._memory: Memory = self._heap
        self._room = self._heap.of(0)

    def cut(self, batches: Sequence[RecordBatch], memory: Memory | None = None) -> Records:
        """The records of these batches, of which there is at least one, in this memory if not in its own. Raises
        `Unread`.
        """
        self._memory = memory or self._heap
        self._room = self._memory.of(_FIRST_ROOM)
        found, group = list[Columns](), list[tuple[RecordBatch, int]]()
        begin = size = MARGIN
        as_lines = self._lines
        for batch in batches:
            group.append((batch, size))
            size = self._unpack(batch, size)
            if size - begin >= _AT_ONCE or batch is batches[-1]:
                found.append(self._columns(group, begin, size))
                as_lines = as_lines and _made_lines(self._room, Spans(*found[-1][4:]), begin, size)
                begin, group = size, []
        offsets, times, *places = found[0] if len(found) == 1 else map(np.concatenate, zip(*found, strict=True))
        data, times = self._room[: size + MARGIN], times if self._times else _NO_NUMBERS
        keys = _UNKNOWN if self._lines else Spans(*places[:2])
        return Records(data, offsets, times, keys, Spans(*places[2:]), as_lines)

    def _columns(self, group: Sequence[tuple[RecordBatch, int]], begin: int, end: int) -> Columns:
        """Offsets, times, and the places of keys and values of what batches that begin at these places hold, the first
        at `begin`.
        """
        self._room[end : end + MARGIN] = 0
        size, data = end - begin, self._room[begin : end + MARGIN]
        found = None if self._times else objects(data, size, [(batch, at - begin) for batch, at in group])
        if found is not None:
            offsets, starts, ends = found
            return offsets, np.zeros_like(offsets), starts + begin, starts + (begin - 1), starts + begin, ends + begin
        words: Words = np.ndarray((size + WORD,), np.dtype("<u8"), data.data, strides=(1,))
        counts = np.array([batch.count for batch, _ in group])
        begins, starts, ends = records_in(data, words, size, int(counts.sum()))
        if begins[np.cumsum(counts) - counts].tolist() != [at - begin for _, at in group]:
            raise Unread("records of one batch that begin in another")
        at = starts + 1  # behind the attributes
        since, at = numbers_at(data, words, at)
        delta, at = numbers_at(data, words, at)
        size_of_key, key = numbers_at(data, words, at)
        size_of_value, value = numbers_at(data, words, np.minimum(key + np.maximum(size_of_key, 0), size))
        behind = value + size_of_value
        if bool(((size_of_key < -1) | (size_of_value < -1) | (behind >= ends)).any()):
            raise Unread("records that are shorter than what stands in them")
        offsets = np.repeat([batch.offset for batch, _ in group], counts) + delta
        times = np.repeat([batch.first_ms for batch, _ in group], counts) + since
        appended = np.array([bool(batch.attributes & _APPENDED) for batch, _ in group])
        if appended.any():
            last = np.repeat([batch.last_ms for batch, _ in group], counts)
            times = np.where(np.repeat(appended, counts), last, times)
        return offsets, times, key + begin, key + size_of_key + begin, value + begin, behind + begin

    def _unpack(self, batch: RecordBatch, at: int) -> int:
        """Lay what stands in the batch at this place; the place behind it."""
        codec = batch.attributes & _CODEC
        if codec == _PLAIN:
            return self._lay(batch.records, at)
        try:
            if codec == _SNAPPY:
                for block in _snappy_blocks(batch.records):
                    at = self._lay(block, at)
                return at
            arrow: Any = pa
            stream = arrow.CompressedInputStream(arrow.BufferReader(batch.records), _STREAMS[codec])
            while (read := stream.readinto(self._free(at, 1))) > 0:
                at += read
            return at
        except (KeyError, OSError, pa.ArrowException) as error:
            raise Unread(f"batches that are compressed by codec {codec}: {error}") from None

    def _lay(self, data: Any, at: int) -> int:
        self._free(at, len(data))[: len(data)] = np.frombuffer(data, np.uint8)
        return at + len(data)

    def _free(self, at: int, size: int) -> Octets:
        """The room behind this place, which is at least so large."""
        if at + size + MARGIN > len(self._room):
            if at + size > _MOST_ROOM:
                raise Unread("batches of more than a gigabyte")
            self._room = self._memory.of(at + size + MARGIN)
        return self._room[at : len(self._room) - MARGIN]


def _made_lines(room: Octets, values: Spans, begin: int, end: int) -> bool:
    """Put a line end behind each value, and blanks from there to the next one, between these two places of the room.
    False, with nothing changed, if a value is null or far from the next.
    """
    lefts, rights = np.append(begin, values.ends), np.append(values.starts, end)
    farthest = (rights - lefts).max()
    if farthest > _FARTHEST or values.any_null:
        return False
    fours: Any = np.ndarray((len(room) - _BLANK + 1,), np.dtype("<u4"), room.data, strides=(1,))
    for away in range(_BLANK, farthest + _BLANK, _BLANK):
        fours[np.maximum(rights - away, lefts)] = _BLANKS  # up to three bytes behind `end`, where nothing stands yet
    room[values.ends] = _NEWLINE
    return True


def _snappy_blocks(data: memoryview) -> Iterator[Any]:
    """The contents of the blocks that Java's clients write, or of the one that others do."""
    codec, blocks = pa.Codec("snappy"), [data]
    if bytes(data[: len(_SNAPPY_BLOCKS)]) == _SNAPPY_BLOCKS:
        blocks, at = list[memoryview](), _SNAPPY_HEAD
        while at < len(data):
            end = at + 4 + int.from_bytes(data[at : at + 4], "big")
            blocks.append(data[at + 4 : end])
            at = end
    for block in blocks:
        size = shift = 0
        for byte in block:
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        yield codec.decompress(block, decompressed_size=min(size, _MOST_ROOM))
