"""The CRC-32 of many texts at once, as `zlib.crc32` gives it for each.

The checksum of bytes is that of as many zeros, and by each byte what it changes, which its distance from the end says:
so the bytes at one distance are looked up for all texts together.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any, TypeAlias, cast

import numpy as np
import polars as pl

Sums: TypeAlias = np.ndarray[Any, np.dtype[np.uint32]]

_LONGEST = 48
"""Bytes of texts that are done together; longer ones take less of their time one by one."""
_WORD = 8
_POLYNOMIAL = 0xEDB88320


def crc32_of(texts: pl.Series) -> Sums:
    """The checksums of a column of bytes without nulls."""
    if not len(texts):
        return np.empty(0, np.uint32)
    array = cast("Any", texts).to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, content = array.buffers()
    begins = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(texts) + 1]
    sizes = np.diff(begins)
    longest = int(sizes.max())
    if longest > _LONGEST:
        return np.fromiter(map(zlib.crc32, texts.to_list()), np.uint32, len(texts))
    found = _of_zeros()[sizes]
    if longest:
        # what stands before the first text is read with it, and masked
        data = bytes(_WORD * -(-longest // _WORD)) + bytes(content)
        _change(found, data, begins[1:] + (len(data) - len(content)), sizes, longest)
    return found


def _change(found: Sums, data: bytes, ends: Any, sizes: Any, longest: int) -> None:
    """Take the bytes before these ends into checksums of zeros, eight at a time."""
    words: Any = np.ndarray((len(data) - _WORD + 1,), np.dtype("<u8"), data, strides=(1,))
    for first in range(0, longest, _WORD):
        word = words[ends - (first + _WORD)] & _kept()[(sizes - first).clip(0, _WORD)]
        for distance in range(first, min(first + _WORD, longest)):
            shift = np.uint64(8 * (_WORD - 1 - (distance - first)))
            found ^= _changes()[distance][((word >> shift) & np.uint64(255)).view(np.int64)]


@cache
def _of_zeros() -> Sums:
    """The checksums of so many zeros."""
    return np.array([zlib.crc32(bytes(size)) for size in range(_LONGEST + 1)], np.uint32)


@cache
def _kept() -> Any:
    """What keeps the last bytes of eight, by how many they are."""
    return np.array([2**64 - 2 ** (64 - 8 * size) for size in range(_WORD + 1)], np.uint64)


@cache
def _changes() -> list[Sums]:
    """By its distance from the end, what each byte changes."""
    table = list(range(256))
    for _ in range(8):
        table = [each >> 1 ^ (_POLYNOMIAL if each & 1 else 0) for each in table]
    changes = [table]
    for _ in range(_LONGEST - 1):
        changes.append([table[last & 255] ^ last >> 8 for last in changes[-1]])
    return [np.array(each, np.uint32) for each in changes]
