"""Record batches as brokers keep them, cut into messages by whole columns: where each record begins is found for all of
them at once, with nothing that Python does for each.

This is version 2 of Kafka's format, which every broker since 0.11 writes. Batches of older versions, and records that
are not written as all clients write them, raise `Unread`: Kafka's own client reads those. As there, checksums are not
looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from heapq import heapify, heappop
from struct import Struct
from typing import Any, TypeAlias, overload

import numpy as np
import polars as pl
import pyarrow as pa

from ghcm.runtime.formats.chunks import bytes_of

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Words: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
Octets: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
Marks: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Columns: TypeAlias = tuple[Numbers, ...]

_HEAD, _BEHIND_LENGTH = Struct(">qiiBIhiqqqhii"), 12
_CODEC, _APPENDED, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_PLAIN, _SNAPPY, _STREAMS = 0, 2, {1: "gzip", 3: "lz4", 4: "zstd"}
_SNAPPY_BLOCKS, _SNAPPY_HEAD = b"\x82SNAPPY\0", 16
_FIRST_ROOM, _MOST_ROOM = 1 << 22, 1 << 30
_AT_ONCE = 1 << 19
"""Bytes that are cut at once, unless one batch has more: so few are still near the processor when they are."""
_WORD = 8
_MARGIN = 2 * _WORD
_LEAST = 6
"""Bytes of the shortest record: attributes, two deltas, a key and a value without bytes, no headers."""
_LONGEST_SIZE = 4
"""Bytes in which the size of a record stands: 128 MiB."""
_NEWLINE = b"\n"[0]
_HIGH_BITS = np.uint64(0x8080808080808080)
_ONE = np.uint64(1)
_MORE, _LOW_BITS = 0x80, 0x7F
_SQUEEZES = tuple(
    (np.uint64(low), np.uint64(high), np.uint64(shift))
    for low, high, shift in (
        (0x007F007F007F007F, 0x3F803F803F803F80, 1),
        (0x00003FFF00003FFF, 0x0FFFC0000FFFC000, 2),
        (0x000000000FFFFFFF, 0x00FFFFFFF0000000, 4),
    )
)
"""From sevens to fourteens, ..., bits that stand together."""


class Unread(Exception):
    """These are no records that are read here."""


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Some records of a partition, as they came. `behind`: the offset behind the batch; times are milliseconds."""

    offset: int
    behind: int
    attributes: int
    first_ms: int
    last_ms: int
    producer: int
    count: int
    records: memoryview


def batches_of(data: memoryview) -> Iterator[RecordBatch]:
    """The batches that came whole; brokers cut the last one off where an answer is full."""
    at = 0
    while at + _HEAD.size <= len(data):
        offset, length, _, magic, _, attributes, last, first_ms, last_ms, producer, _, _, count = _HEAD.unpack_from(
            data, at
        )
        if magic != 2:
            raise Unread(f"batches of version {magic}")
        start, at = at + _HEAD.size, at + _BEHIND_LENGTH + length
        if at > len(data):
            return
        yield RecordBatch(offset, offset + last + 1, attributes, first_ms, last_ms, producer, count, data[start:at])


def committed(batches: Iterable[RecordBatch], aborted: Iterable[tuple[int, int]]) -> Iterator[RecordBatch]:
    """Those that hold messages, and none of a transaction that was aborted. `aborted`: of each such transaction the
    producer and its first offset, as the broker said with these batches.
    """
    begins, open_ = [(offset, producer) for producer, offset in aborted], set[int]()
    heapify(begins)
    for batch in batches:
        while begins and begins[0][0] < batch.behind:
            open_.add(heappop(begins)[1])
        if batch.attributes & _CONTROL:  # the mark with which a transaction of the producer ends
            open_.discard(batch.producer)
        elif batch.count and not (batch.attributes & _TRANSACTIONAL and batch.producer in open_):
            yield batch


@dataclass(frozen=True, slots=True)
class Spans:
    """Where something stands in each record; one that ends before it begins is null."""

    starts: Numbers
    ends: Numbers

    def chosen(self, marks: Marks) -> Spans:
        """Those that are marked."""
        return Spans(self.starts[marks], self.ends[marks])


@dataclass(frozen=True, slots=True)
class Records:
    """Records with their offsets and times (milliseconds). What their spans lie in is overwritten by the next ones that
    are cut.
    """

    data: Octets
    offsets: Numbers
    times: Numbers
    keys: Spans
    values: Spans

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
        starts, ends = self.values.starts, self.values.ends
        if bool((ends < starts).any()):
            return None
        self.data[ends] = _NEWLINE  # the number of headers has stood there
        content = _copied(self.data, starts, ends + 1).buffers()[2]
        return memoryview(b"" if content is None else content).cast("B")

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
    """Cuts batches into records, in room that is used again. For one thread."""

    def __init__(self) -> None:
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
        return Records(self._room[: size + _MARGIN], offsets, times, Spans(*places[:2]), Spans(*places[2:]))

    def _columns(self, group: Sequence[tuple[RecordBatch, int]], begin: int, end: int) -> Columns:
        """Offsets, times, and the places of keys and values of what batches that begin at these places hold, the first
        at `begin`.
        """
        self._room[end : end + _MARGIN] = 0
        size, data = end - begin, self._room[begin : end + _MARGIN]
        words: Words = np.ndarray((size + _WORD,), np.dtype("<u8"), data.data, strides=(1,))
        counts = np.array([batch.count for batch, _ in group])
        begins, starts, ends = _records(data, words, size, int(counts.sum()))
        if begins[np.cumsum(counts) - counts].tolist() != [at - begin for _, at in group]:
            raise Unread("records of one batch that begin in another")
        at = starts + 1  # behind the attributes
        since, at = _number(data, words, at)
        delta, at = _number(data, words, at)
        size_of_key, key = _number(data, words, at)
        size_of_value, value = _number(data, words, np.minimum(key + np.maximum(size_of_key, 0), size))
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
        if at + size + _MARGIN > len(self._room):
            if at + size > _MOST_ROOM:
                raise Unread("batches of more than a gigabyte")
            larger = np.empty(2 * (at + size + _MARGIN), np.uint8)
            larger[:at] = self._room[:at]
            self._room = larger
        return self._room[at : len(self._room) - _MARGIN]


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


def _records(data: Octets, words: Words, size: int, count: int) -> tuple[Numbers, Numbers, Numbers]:
    """Where so many records, which fill the data, begin, where each goes on behind its size, and where it ends.

    A record may begin wherever a zero, its attributes, stands behind a number; those that do are the ones to which
    sizes lead from the first.
    """
    begins, starts, ends = _candidates(data, words, size)
    if len(begins) == count and _is_chain(begins, ends, size):  # as nearly always
        return begins, starts, ends
    following = np.searchsorted(begins, ends)
    known: Marks = begins[np.minimum(following, len(begins) - 1)] == ends if len(begins) else np.zeros(0, bool)
    reached: Marks = np.zeros(len(begins), bool)
    reached[following[known]] = True
    reached[:1] = True
    chosen = np.flatnonzero(reached)
    if len(chosen) != count or not _is_chain(begins[chosen], ends[chosen], size):
        chosen = _chain(np.where(known, following, len(begins)), count)
        if len(chosen) != count or not _is_chain(begins[chosen], ends[chosen], size):
            raise Unread("records whose sizes do not lead from one to the next")
    return begins[chosen], starts[chosen], ends[chosen]


def _candidates(data: Octets, words: Words, size: int) -> tuple[Numbers, Numbers, Numbers]:
    """Where records may begin, where their attributes then stand, and where they would end, in order."""
    at = _zeros(data[:size])
    at = at.compress(data[at - 1] < _MORE)  # what is in front of the first one is behind the last one: a zero
    found: list[tuple[Numbers, Numbers, Numbers]] = []
    for width in range(1, _LONGEST_SIZE + 1):
        at = at.compress(at >= width)
        starts = at.compress(data[at - width] & 1 == 0)  # the others would be sizes below zero
        begins = starts - width
        length, _ = _number(data, words, begins)
        ends = starts + length
        fits: Marks = (length >= _LEAST) & (ends <= size)
        found.append((begins.compress(fits), starts.compress(fits), ends.compress(fits)))
        at = at.compress(data[at - width - 1] >= _MORE)
        if not len(at):
            break
    begins, starts, ends = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(begins, kind="stable")
    return begins[order], starts[order], ends[order]


def _zeros(data: Octets) -> Numbers:
    """Where zeros stand. Polars finds them in half of the time that NumPy takes."""
    places = _count(1 << len(data).bit_length()).head(len(data)).filter(bytes_of(data.data) == 0)
    found: Numbers = places.to_numpy().astype(np.int64)
    return found


@cache
def _count(size: int) -> pl.Series:
    return pl.int_range(size, dtype=pl.UInt32, eager=True)


def _is_chain(begins: Numbers, ends: Numbers, size: int) -> bool:
    """Whether each begins where the one before ends, the first at the beginning and the last up to the end."""
    return bool(begins[0] == 0 and ends[-1] == size and (begins[1:] == ends[:-1]).all())


def _chain(following: Numbers, count: int) -> Numbers:
    """At most so many, from the first one on, each of which follows the one before; by steps of 1, 2, 4, ..."""
    nowhere = len(following)
    step, chain = np.append(following, nowhere), np.zeros(1, np.int64)
    while len(chain) < count:
        chain, step = np.concatenate([chain, step[chain]]), step[step]
    chain = chain[:count]
    there: Numbers = chain[chain != nowhere]
    return there


def _number(data: Octets, words: Words, at: Numbers) -> tuple[Numbers, Numbers]:
    """The numbers that stand at these places, seven bits a byte and its sign last, and the places behind them. Raises
    `Unread` where one has more than eight bytes.
    """
    near = np.minimum(at, len(words) - 1)
    first, second = data[near], data[near + 1]
    more = first >> 7
    if not (more & (second >> 7)).any():  # none has more than two bytes, which is so for most of a batch
        short = (first & _LOW_BITS).astype(np.int64) | ((second.astype(np.int64) << 7) * more)
        return (short >> 1) ^ -(short & 1), at + (more + 1)
    word = words[near]
    stops = ~word & _HIGH_BITS
    last = stops & (~stops + _ONE)
    if not last.all():
        raise Unread("numbers of more than eight bytes")
    below = last - _ONE
    bits = word & below
    for low, high, shift in _SQUEEZES:
        bits = (bits & low) | ((bits >> shift) & high)
    value = (bits >> _ONE).astype(np.int64) ^ -(bits & _ONE).astype(np.int64)
    return value, at + ((np.bitwise_count(below) + 1) >> 3)
