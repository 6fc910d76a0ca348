"""Files piece by piece, decompressed and decoded as their formats ask.

Polars and Arrow let go of the interpreter while they parse, so that a thread beside the loop decodes on another core.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ghcm.formats.files import open_file
from ghcm.formats.tables import read_tables
from ghcm.functions import Failure
from ghcm.places import place
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.chunks import Decoder, Letters, Lines
from ghcm.runtime.formats.decoder import open_decoder
from ghcm.runtime.formats.tables import Tables
from ghcm.spg.connectors import Files
from ghcm.types import Struct

FIRST_PIECE = 1 << 20
"""Bytes of the first piece: few, so that records soon come."""
_GROWS = 8
"""Then each is twice the one before, up to so many times the first: what is done per batch costs less of each record
where batches are large.
"""
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
    decoder = open_decoder(files.format, schema)
    decoder.begin(header)
    reading = _Reading(files, schema, decoder, file, partition, offset, number)
    failed: list[tuple[Failure, str, str]] = []

    def letter(reason: Failure, detail: str, text: str) -> None:
        failed.append((reason, detail, text))

    for data in _pieces(files, schema, base, file, offset, piece):
        last = data is None
        batch = reading.add(b"" if data is None else data, last, letter)
        letters = tuple(failed)
        failed.clear()
        yield Decoded(file, batch, letters, reading.offset, reading.number, decoder.save(), last)


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
            while data := stream.read(size):
                yield data
                size = min(2 * size, most)
    yield None


class _Reading:
    """What has been read of one file. `offset` (bytes, or rows of tables) and `number` (lines, rows) used so far."""

    def __init__(
        self, files: Files, schema: Struct, decoder: Decoder, file: str, partition: str, offset: int, number: int
    ) -> None:
        self._lines = Lines(decoder, file, partition, offset=offset, number=number)
        self._tables: Tables | None = None
        if files.format.name in _TABLES:
            self._tables = Tables(schema, file, partition, number=number)

    @property
    def offset(self) -> int:
        """Bytes or rows used so far."""
        return self._lines.offset if self._tables is None else self._tables.offset

    @property
    def number(self) -> int:
        """Lines or rows used so far."""
        return self._lines.number if self._tables is None else self._tables.number

    def add(self, data: bytes | pa.RecordBatch, last: bool, letters: Letters) -> Batch | None:
        """The records that are whole with this piece."""
        if isinstance(data, bytes):
            return self._lines.add(data, last, letters) if self._tables is None else None
        assert self._tables is not None
        return self._tables.add(data, letters)
