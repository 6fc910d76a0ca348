"""Checksums of many texts at once are those of each."""

from __future__ import annotations

import zlib
from random import Random

import polars as pl

from ghcm.runtime.data.checksums import crc32_of


def test_checksums_of_many_are_those_of_each() -> None:
    random = Random(1)
    for longest in (0, 1, 7, 8, 9, 15, 16, 17, 47, 48, 49, 300):
        texts = [random.randbytes(random.randint(0, longest)) for _ in range(300)] + [random.randbytes(longest)]
        column = pl.Series(texts, dtype=pl.Binary)
        assert crc32_of(column).tolist() == list(map(zlib.crc32, texts))
        assert crc32_of(column.slice(100, 50)).tolist() == list(map(zlib.crc32, texts[100:150]))
    assert crc32_of(pl.Series([], dtype=pl.Binary)).tolist() == []
