"""Files of this machine: which ones a path means, and each piece by piece, decompressed and decoded as its format asks.

Polars and Arrow let go of the interpreter while they parse, so that a thread beside the loop decodes on another core.
"""

from __future__ import annotations

import errno
import glob
import gzip
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from ghcm.errors import GhcmError, suggest_file
from ghcm.functions import Failure
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.chunks import Decoder, Letters, Lines
from ghcm.runtime.formats.decoder import open_decoder
from ghcm.spg.connectors import Files
from ghcm.types import Struct

if TYPE_CHECKING:
    import pyarrow as pa

    from ghcm.runtime.formats.tables import Tables


_BY_ENDING = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_SKIPPED_AT_ONCE = 1 << 20

GONE = (FileNotFoundError, NotADirectoryError)
"""What asking for a name raises that is no file's."""
UNREADABLE = (OSError, EOFError, zlib.error)
"""What opening and reading a file may raise."""


def find_files(path: str, base: Path) -> list[str]:
    """The files that a path, directory or glob means, by name in code point order, relative to `base` where the path
    is. Of a directory those that stand in it and are not hidden (`.` or `_` before the name). GhcmError where they may
    not be asked for.
    """
    try:
        if (base / path).is_dir():
            names = [os.path.join(path, name) for name in os.listdir(base / path) if name[0] not in "._"]
        else:
            names = glob.glob(path, root_dir=base, recursive=True) if glob.has_magic(path) else [path]
        return sorted(name for name in names if (base / name).is_file())
    except OSError as error:
        raise unreadable(path, error) from error


def nothing_to_read(path: str, base: Path) -> GhcmError:
    """What a user reads where a path means no file."""
    what, hint = "no file matches", "see that the path is right; --directory names another folder to start from."
    if (base / path).is_dir():
        what, hint = (
            "it is a folder without files",
            "files in folders below it are found by a glob such as folder/**/*.",
        )
    elif (base / path).exists():
        what, hint = "it is no file", "what comes through a pipe is read from a socket, or put into a file first."
    elif near := _near(base / path):
        hint = f'did you mean "{os.path.join(os.path.dirname(path), near)}"?'
    detail = f'Paths start from "{os.path.normpath(base)}".'
    return GhcmError(f'cannot read files "{path}": {what}', code="GHCM-735", detail=detail, hint=hint)


def _near(path: Path) -> str:
    """The file beside a path that is not there whose name is the most like it; empty if none is."""
    return suggest_file(path.name, os.listdir(path.parent)) if path.parent.is_dir() else ""


def packed(suffix: str, compression: str) -> str:
    """How a file with this ending is packed: "gzip", "zstd" or "none". `compression` as in `Files`."""
    return _BY_ENDING.get(suffix, "none") if compression == "ending" else compression


def open_file(path: Path, compression: str, offset: int) -> BinaryIO:
    """The bytes of a file behind the first `offset` (decompressed). `compression` as in `Files`. OSError, EOFError or
    `zlib.error` where it cannot be read, from here or from what is given.
    """
    kind = packed(path.suffix, compression)
    if kind == "zstd":
        return _zstd(path, offset)
    opened = gzip.open(path) if kind == "gzip" else path.open("rb", buffering=0)  # noqa: SIM115 - the caller closes
    stream = cast("BinaryIO", opened)
    if offset:
        stream.seek(offset, os.SEEK_SET)
    return stream


def _zstd(path: Path, offset: int) -> BinaryIO:
    import pyarrow as pa  # a tenth of a second that most programs never need

    stream = cast("BinaryIO", pa.input_stream(str(path), compression="zstd"))
    while offset > 0 and (skipped := len(stream.read(min(offset, _SKIPPED_AT_ONCE)))):
        offset -= skipped
    return stream


def unreadable(file: str, error: Exception) -> GhcmError:
    """What a user reads where a file cannot be read."""
    reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    number = error.errno if isinstance(error, OSError) else None
    hint = "see that it is whole, and that it is packed as its ending says."
    if number == errno.ENOENT:
        hint = "it has gone since the run began: see what moves or removes it."
    elif number in (errno.EACCES, errno.EPERM):
        hint = "let the user of this process read it."
    return GhcmError(f'cannot read "{file}": {reason}', code="GHCM-735", hint=hint)


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
        from ghcm.runtime.formats.tables import read_tables  # a tenth of a second that most programs never need

        yield from read_tables(base / file, file, name, schema, offset)
    else:
        with open_file(base / file, files.compression, offset) as stream:
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
            from ghcm.runtime.formats.tables import Tables

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
