"""Record batches are cut into messages by whole columns: where each record begins is found for all of them at once,
with nothing that Python does for each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import polars as pl
import pyarrow as pa

from ghcm.runtime.sources.kafka.record_batches import RecordBatch, Unread
from ghcm.runtime.sources.kafka.record_places import (
    MARGIN,
    WORD,
    Columns,
    Marks,
    Numbers,
    Octets,
    Words,
    numbers_at,
    objects,
    records_in,
)

_CODEC, _APPENDED = 0x07, 0x08
_PLAIN, _SNAPPY, _STREAMS = 0, 2, {1: "gzip", 3: "lz4", 4: "zstd"}
_SNAPPY_BLOCKS, _SNAPPY_HEAD = b"\x82SNAPPY\0", 16
_FIRST_ROOM, _MOST_ROOM = 1 << 22, 1 << 30
_AT_ONCE = 1 << 19
"""Bytes that are cut at once, unless one batch has more: so few are still near the processor when they are."""
_NEWLINE = b"\n"[0]


@dataclass(frozen=True, slots=True)
class Spans:
    """Where something stands in each record; one that ends before it begins is null."""

    starts: Numbers
    ends: Numbers

    def chosen(self, marks: Marks) -> Spans:
        """Those that are marked."""
        return Spans(self.starts[marks], self.ends[marks])


_NO_NUMBERS: Numbers = np.empty(0, np.int64)
_NOWHERE = Spans(_NO_NUMBERS, _NO_NUMBERS)


@dataclass(frozen=True, slots=True)
class Records:
    """Records with their offsets and times (milliseconds; 0 where nobody asks for them). What their spans lie in is
    overwritten by the next ones that are cut. `is_packed`: it begins with the values, each with a line end behind it.
    """

    data: Octets
    offsets: Numbers
    times: Numbers
    keys: Spans
    values: Spans
    is_packed: bool = False

    def between(self, first: int, behind: int | None) -> Records:
        """Those from one offset up to another."""
        marks: Marks = self.offsets >= first
        if behind is not None:
            marks &= self.offsets < behind
        if marks.all():
            return self
        keys, values = self.keys.chosen(marks), self.values.chosen(marks)
        return Records(self.data, self.offsets[marks], self.times[marks], keys, values)

    def order(self) -> Sequence[int]:
        """The offsets; those of topics that nobody has thinned out follow one another."""
        if len(self.offsets) and self.offsets[-1] - self.offsets[0] == len(self.offsets) - 1:
            return range(int(self.offsets[0]), int(self.offsets[-1]) + 1)
        offsets: list[int] = self.offsets.tolist()
        return offsets

    def lines(self) -> memoryview | None:
        """The values, each with a line end behind it; None if one of them is null."""
        if bool((self.values.ends < self.values.starts).any()):
            return None
        if self.is_packed:
            return self.data.data[: int(self.values.ends[-1]) + 1]
        return self._values().data

    def packed(self, words: Collection[str]) -> Records:
        """Those in memory that holds nothing but values and what of them is asked for by these words."""
        data, values, keys = self._values(), _behind_one_another(self.values, 1), _NOWHERE
        if "key" in words:
            starts, ends = self.keys.starts, self.keys.ends
            texts, keys = _content(self.data, starts, np.maximum(starts, ends)), _behind_one_another(self.keys, 0)
            keys = Spans(keys.starts + len(data), keys.ends + len(data))
            data = np.concatenate((data, texts))
        times = self.times if "timestamp" in words else _NO_NUMBERS
        return Records(data, self.offsets, times, keys, values, is_packed=True)

    def _values(self) -> Octets:
        starts, ends = self.values.starts, np.maximum(self.values.starts, self.values.ends)
        self.data[ends] = _NEWLINE  # the number of headers has stood there
        return _content(self.data, starts, ends + 1)

    def texts(self, spans: Spans) -> Texts:
        """What stands in these spans."""
        return Texts(self.data, spans)


class Texts(Sequence[bytes | None]):
    """Bytes, or null, of each record. They are made when the first one is asked for, which is seldom."""

    def __init__(self, data: Octets, spans: Spans) -> None:
        self._data = data
        self._spans = spans

    @cached_property
    def _all(self) -> list[bytes | None]:
        starts, ends = self._spans.starts, self._spans.ends
        found: list[bytes | None] = pl.Series(_copied(self._data, starts, np.maximum(starts, ends))).to_list()
        for index in np.flatnonzero(ends < starts).tolist():
            found[index] = None
        return found

    def __len__(self) -> int:
        return len(self._spans.starts)

    @overload
    def __getitem__(self, index: int) -> bytes | None: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes | None]: ...

    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes | None] | None:
        return self._all[index]

    def __iter__(self) -> Iterator[bytes | None]:
        return iter(self._all)


def _behind_one_another(spans: Spans, away: int) -> Spans:
    """Where those stand if nothing is between them, or so many bytes, and null where they are null."""
    sizes = np.maximum(spans.ends - spans.starts, 0) + away
    behind = np.cumsum(sizes)
    starts = behind - sizes
    return Spans(starts, np.where(spans.ends < spans.starts, starts - 1, behind - away))


def _content(data: Octets, starts: Numbers, ends: Numbers) -> Octets:
    """The bytes between these places, one behind the other."""
    content = _copied(data, starts, ends).buffers()[2]
    return np.frombuffer(b"" if content is None else content, np.uint8)


def _copied(data: Octets, starts: Numbers, ends: Numbers) -> Any:
    """The bytes between these places, which are in order, as an array of Arrow that is cut out of nothing else."""
    arrow: Any = pa
    places = np.append(np.stack((starts, ends), axis=1), len(data))  # of what is asked for and what is not, in turn
    buffers = [None, arrow.py_buffer(places), arrow.py_buffer(data)]
    array = arrow.Array.from_buffers(arrow.large_binary(), len(places) - 1, buffers)
    # `arrow.array` would look whether this is something of pandas, and so import it
    asked = [None, arrow.py_buffer(np.arange(0, len(places) - 1, 2))]
    return array.take(arrow.Array.from_buffers(arrow.int64(), len(starts), asked))


class Cutter:
    """Cuts batches into records, in room that is used again. For one thread. `times`: whether those are asked for."""

    def __init__(self, *, times: bool = True) -> None:
        self._times = times
        self._room: Octets = np.empty(_FIRST_ROOM, np.uint8)

    def cut(self, batches: Sequence[RecordBatch]) -> Records:
        """The records of these batches, of which there is at least one. Raises `Unread`."""
        found, group = list[Columns](), list[tuple[RecordBatch, int]]()
        begin = size = 0
        for batch in batches:
            group.append((batch, size))
            size = self._unpack(batch, size)
            if size - begin >= _AT_ONCE or batch is batches[-1]:
                found.append(self._columns(group, begin, size))
                begin, group = size, []
        offsets, times, *places = found[0] if len(found) == 1 else map(np.concatenate, zip(*found, strict=True))
        return Records(self._room[: size + MARGIN], offsets, times, Spans(*places[:2]), Spans(*places[2:]))

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
            larger = np.empty(2 * (at + size + MARGIN), np.uint8)
            larger[:at] = self._room[:at]
            self._room = larger
        return self._room[at : len(self._room) - MARGIN]


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
