"""Record batches as brokers keep them.

This is version 2 of Kafka's format, which every broker since 0.11 writes. Batches of older versions, and records that
are not written as all clients write them, raise `Unread`: Kafka's own client reads those. As there, checksums are not
looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop
from struct import Struct

_HEAD, _BEHIND_LENGTH = Struct(">qiiBIhiqqqhii"), 12
_TRANSACTIONAL, _CONTROL = 0x10, 0x20


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
