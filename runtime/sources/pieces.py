"""A file piece by piece: bytes of lines, or batches of rows, as its format asks, and what decodes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ghcm.runtime.batch import Batch
from ghcm.runtime.sources.chunks import Decoder
from ghcm.runtime.sources.lines import Lines
from ghcm.runtime.sources.local_files import open_file
from ghcm.runtime.sources.source import Letters
from ghcm.spg.ops import Files
from ghcm.types import Struct

if TYPE_CHECKING:
    import pyarrow as pa

    from ghcm.runtime.sources.tables import Tables

__all__ = ["Piece", "Reading", "pieces"]

_PIECE = 512 << 10
_OBJECTS = 128 << 10
"""Bytes of a piece of JSON lines, which are decoded one by one: the loop is not held up for long."""
_TABLES = ("parquet", "arrow")


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes or rows of a file; `last` closes it."""

    file: str
    data: bytes | pa.RecordBatch
    last: bool


def pieces(files: Files, schema: Struct, base: Path, file: str, offset: int) -> Iterator[Piece]:
    """A file behind an offset (bytes, or rows of tables) in pieces, the last of which is empty. `UNREADABLE` as it
    comes, GhcmError where it is no such file."""
    name = files.format.name
    if name in _TABLES:
        from ghcm.runtime.sources.tables import read_tables  # a tenth of a second that most programs never need

        for batch in read_tables(base / file, file, name, schema, offset):
            yield Piece(file, batch, False)
    else:
        size = _OBJECTS if name == "json" else _PIECE
        with open_file(base / file, files.compression, offset) as stream:
            while data := stream.read(size):
                yield Piece(file, data, False)
    yield Piece(file, b"", True)


class Reading:
    """What has been read of one file. `offset` (bytes, or rows of tables) and `number` (lines, rows) used so far."""

    def __init__(
        self, files: Files, schema: Struct, decoder: Decoder, file: str, partition: str, offset: int, number: int
    ) -> None:
        self._lines = Lines(decoder, file, partition, offset=offset, number=number)
        self._tables: Tables | None = None
        if files.format.name in _TABLES:
            from ghcm.runtime.sources.tables import Tables

            self._tables = Tables(schema, file, partition, number=number)

    @property
    def offset(self) -> int:
        """Bytes or rows used so far."""
        return self._lines.offset if self._tables is None else self._tables.offset

    @property
    def number(self) -> int:
        """Lines or rows used so far."""
        return self._lines.number if self._tables is None else self._tables.number

    def add(self, piece: Piece, letters: Letters) -> Batch | None:
        """The records that are whole with this piece."""
        if isinstance(piece.data, bytes):
            return self._lines.add(piece.data, piece.last, letters) if self._tables is None else None
        assert self._tables is not None
        return self._tables.add(piece.data, letters)
