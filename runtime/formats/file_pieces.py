"""Files piece by piece, decompressed and decoded as their formats ask.

What can be decoded without what stands before it is decoded by two threads, and comes in order nevertheless.
"""

import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from ghcm.formats.files import UNREADABLE, open_file
from ghcm.formats.tables import read_tables
from ghcm.functions import Failure
from ghcm.places import place
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.chunks import Chunk, Decoder, Lines
from ghcm.runtime.formats.decoder import open_decoder
from ghcm.runtime.formats.in_order import InOrder
from ghcm.runtime.formats.parquet_slices import ParquetSlices
from ghcm.runtime.formats.tables import Tables
from ghcm.spg.connectors import Files
from ghcm.types import Struct

FIRST_PIECE = 1 << 20
"""Bytes of the first piece: few, so that records soon come."""
_GROWS = 8
"""Then each is twice the one before, up to so many times the first: what is done per batch costs less of each record
where batches are large.
"""
_NEAR = 1 << 16
"""Bytes in which the end of a line is looked for."""
_TABLES = ("parquet", "arrow")


@dataclass(frozen=True, slots=True)
class Decoded:
    """The records of a piece and those that failed, and where to go on behind it: bytes (or rows of tables), lines (or
    rows) and what the decoder has to know. `last` closes the file.
    """

    file: str
    batch: Batch | None
    letters: tuple[tuple[Failure, str, str], ...]
    offset: int
    number: int
    header: object
    last: bool


def decoded(
    files: Files,
    schema: Struct,
    base: Path,
    file: str,
    partition: str,
    begin: tuple[int, int, object],
    piece: int = FIRST_PIECE,
) -> Iterator[Decoded]:
    """A file behind a position (offset, number, header) in pieces, the first of `piece` bytes. `UNREADABLE` as it
    comes, GhcmError where it is no such file.
    """
    offset, number, header = begin
    slices = _slices(files, schema, base, file)
    if slices is not None:
        yield from _of_slices(slices, partition, offset)
        return
    decoder = open_decoder(files.format, schema)
    decoder.begin(header)
    reading = _Reading(files, schema, decoder, file, partition, offset, number)
    ahead = InOrder[Decoded]()
    try:
        for data in _pieces(files, schema, base, file, offset, piece):
            step = reading.step(b"" if data is None else data, last=data is None)
            if step.threads:
                yield from ahead.add(step.decode, step.threads)
            else:
                yield from ahead.rest()
                yield step.decode()
    except UNREADABLE:  # what was read before comes first
        yield from ahead.rest()
        raise
    yield from ahead.rest()


def _slices(files: Files, schema: Struct, base: Path, file: str) -> ParquetSlices | None:
    """The file in slices, where it can be read so."""
    path = place(base, file)
    return ParquetSlices.of(path, file, schema) if files.format.name == "parquet" and isinstance(path, Path) else None


def _of_slices(slices: ParquetSlices, partition: str, offset: int) -> Iterator[Decoded]:
    def read(start: int, stop: int) -> Decoded:
        failed = _Failed()
        batch = slices.read(start, stop, partition, failed)
        return Decoded(slices.file, batch, tuple(failed.letters), stop, stop, None, last=False)

    ahead = InOrder[Decoded]()
    end = offset
    for start, end in slices.slices(offset):
        yield from ahead.add(partial(read, start, end))
    yield from ahead.rest()
    yield Decoded(slices.file, None, (), end, end, None, last=True)


def _pieces(
    files: Files, schema: Struct, base: Path, file: str, offset: int, size: int
) -> Iterator[bytes | pa.RecordBatch | None]:
    """Bytes of lines, or batches of rows; None at the end."""
    name = files.format.name
    if name in _TABLES:
        yield from read_tables(place(base, file), file, name, schema, offset)
    else:
        with open_file(place(base, file), files.compression, offset) as stream:
            most = _GROWS * size
            while data := stream.read(size + _rest_of_line(stream, size)):
                yield data
                size = min(2 * size, most)
    yield None


def _rest_of_line(stream: BinaryIO, size: int) -> int:
    """The bytes of the line in which so many more end, where it is a plain file; 0 where that end is not near. Pieces
    that end with a line need not be put together.
    """
    if not isinstance(stream, io.FileIO):
        return 0
    return os.pread(stream.fileno(), _NEAR, stream.tell() + size).find(b"\n") + 1


@dataclass(frozen=True, slots=True)
class _Step:
    """A piece that was read and is to be decoded, in one of so many threads; 0: before anything else is done."""

    decode: Callable[[], Decoded]
    threads: int = 0


class _Reading:
    """What has been read of one file. `offset` (bytes, or rows of tables) and `number` (lines, rows) used so far."""

    def __init__(
        self, files: Files, schema: Struct, decoder: Decoder, file: str, partition: str, offset: int, number: int
    ) -> None:
        self._file = file
        self._decoder = decoder
        self._lines = Lines(decoder, file, partition, offset=offset, number=number)
        self._tables: Tables | None = None
        if files.format.name in _TABLES:
            self._tables = Tables(schema, file, partition, number=number)

    def step(self, data: bytes | pa.RecordBatch, *, last: bool) -> _Step:
        """What is to be done with the next piece. Without threads it has to be done before the next one comes."""
        chunk = self._lines.cut(data, last) if isinstance(data, bytes) and self._tables is None else None
        if chunk is None or not self._decoder.alone(chunk):
            return _Step(partial(self._next, data, chunk, last))
        chunk = self._lines.passed(chunk)
        where = self._lines.offset, self._lines.number, self._decoder.save()
        return _Step(partial(self._by_itself, chunk, where, last), self._decoder.threads)

    def _next(self, data: bytes | pa.RecordBatch, chunk: Chunk | None, last: bool) -> Decoded:
        failed = _Failed()
        batch = None
        if chunk is not None:
            batch = self._lines.decode(chunk, failed)
        elif self._tables is not None and not isinstance(data, bytes):
            batch = self._tables.add(data, failed)
        used = self._lines if self._tables is None else self._tables
        return Decoded(self._file, batch, tuple(failed.letters), used.offset, used.number, self._decoder.save(), last)

    def _by_itself(self, chunk: Chunk, where: tuple[int, int, object], last: bool) -> Decoded:
        failed = _Failed()
        batch, _, _ = self._decoder.decode(chunk, failed)
        return Decoded(self._file, batch, tuple(failed.letters), *where, last)


class _Failed:
    """Takes the records of a piece that failed."""

    def __init__(self) -> None:
        self.letters: list[tuple[Failure, str, str]] = []

    def __call__(self, reason: Failure, detail: str, text: str) -> None:
        """One more."""
        self.letters.append((reason, detail, text))
