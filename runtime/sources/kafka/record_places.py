"""Where records stand in the bytes of record batches, and numbers in these, found for all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ghcm.runtime.data.arrays import Marks, Octets, Words
from ghcm.runtime.sources.kafka.record_batches import RecordBatch, Unread

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Columns: TypeAlias = tuple[Numbers, ...]

WORD = 8
MARGIN = 6 * WORD
"""Bytes in front of all and behind all that may be looked at; those behind all are zeros."""
_LEAST = 6
"""Bytes of the shortest record: attributes, two deltas, a key and a value without bytes, no headers."""
_LONGEST_SIZE = 4
"""Bytes in which the size of a record stands: 128 MiB."""
_OPEN, _CLOSE, _NULL = b"{}\1"
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


def objects(data: Octets, size: int, batches: Sequence[tuple[RecordBatch, int]]) -> Columns | None:
    """Offsets, and where values begin and end, of batches that begin at these places; None where not all values are
    objects of JSON without a key and headers, or a record is missing. It is faster than to find records in general.

    A value begins with a brace behind its size and a key that is null, and ends with a brace in front of no headers;
    sizes of records have to lead from one to the next.
    """
    if any(batch.behind - batch.offset != batch.count for batch, _ in batches):
        return None
    starts = _places(data[:size], _OPEN)
    starts = starts[np.searchsorted(starts, _LEAST) :]
    last, long = data[starts - 1], data[starts - 2] >> 7
    sizes = np.where(long, (data[starts - 2] & _LOW_BITS) | (last.astype(np.int64) << 7), last)
    ends = starts + (sizes >> 1)
    good: Marks = (sizes & 1 == 0) & (last < _MORE) & (data[starts - long - 2] == _NULL) & (ends < size)
    near = np.minimum(ends, size)
    good &= (data[near] == 0) & (data[near - 1] == _CLOSE)
    starts, ends = starts.compress(good), ends.compress(good)
    if len(starts) != sum(batch.count for batch, _ in batches) or ends[-1] + 1 != size:
        return None
    begins = np.append(0, ends[:-1] + 1)
    first, second = data[begins], data[begins + 1]
    long = first >> 7
    sizes = np.where(long, (first & _LOW_BITS) | (second.astype(np.int64) << 7), first)
    attributes = begins + long + 1
    if not bool(((attributes + (sizes >> 1) == ends + 1) & (sizes & 1 == 0) & (data[attributes] == 0)).all()):
        return None
    firsts = np.cumsum([0, *(batch.count for batch, _ in batches[:-1])])
    if begins[firsts].tolist() != [at for _, at in batches]:
        return None
    return np.concatenate([np.arange(batch.offset, batch.behind) for batch, _ in batches]), starts, ends


def records_in(data: Octets, words: Words, size: int, count: int) -> tuple[Numbers, Numbers, Numbers]:
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
    at = _places(data[:size], 0)
    at = at.compress(data[at - 1] < _MORE)  # what is in front of the first one is behind the last one: a zero
    found: list[tuple[Numbers, Numbers, Numbers]] = []
    for width in range(1, _LONGEST_SIZE + 1):
        at = at.compress(at >= width)
        starts = at.compress(data[at - width] & 1 == 0)  # the others would be sizes below zero
        begins = starts - width
        length, _ = numbers_at(data, words, begins)
        ends = starts + length
        fits: Marks = (length >= _LEAST) & (ends <= size)
        found.append((begins.compress(fits), starts.compress(fits), ends.compress(fits)))
        at = at.compress(data[at - width - 1] >= _MORE)
        if not len(at):
            break
    begins, starts, ends = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(begins, kind="stable")
    return begins[order], starts[order], ends[order]


def _places(data: Octets, octet: int) -> Numbers:
    """Where this one stands."""
    return np.flatnonzero(data == octet)


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


def numbers_at(data: Octets, words: Words, at: Numbers) -> tuple[Numbers, Numbers]:
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
