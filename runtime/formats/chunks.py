"""What decoders are given, a chunk of whole lines, and how lines are told apart and counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.sources.source import BadRecord, Letters

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""What some programs put before UTF-8; it is no part of the text."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines of one file (or connection): `data` ends with a line end unless `last`; `number` is that of the first
    line (from 1).
    """

    data: bytes
    file: str
    number: int
    partition: str
    last: bool

    def behind(self, size: int, lines: int) -> Chunk:
        """The chunk without its first bytes, which are so many lines."""
        if not size:
            return self
        return Chunk(self.data[size:], self.file, self.number + lines, self.partition, self.last)


class Decoder(Protocol):
    """Decodes the lines of one partition after the other."""

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        """The records, and the bytes and lines of the chunk that they took; the rest has to come again with more
        behind it.
        """
        ...

    def save(self) -> object:
        """What has to be known of this file to go on in its middle (JSON)."""
        ...

    def begin(self, saved: object) -> None:
        """A new file begins, or (`saved`) goes on."""
        ...


def lines_of(data: bytes) -> Iterator[bytes]:
    """The lines with their ends."""
    start = 0
    while (end := data.find(b"\n", start) + 1) > 0:
        yield data[start:end]
        start = end
    if start < len(data):
        yield data[start:]


def count_lines(data: bytes) -> int:
    """How many lines it has."""
    return data.count(b"\n") + (len(data) > 0 and not data.endswith(b"\n"))


def bare(line: str) -> str:
    """The line without its end."""
    return line.removesuffix("\n").removesuffix("\r")


def texts_of(chunk: Chunk, letters: Letters) -> Iterator[tuple[int, str]]:
    """The lines without their ends, with their numbers; those that are not UTF-8 become dead letters."""
    if not chunk.data:
        return
    body = chunk.data.removesuffix(b"\n")
    try:
        for number, text in enumerate(body.decode().split("\n"), chunk.number):
            yield number, text.removesuffix("\r")
    except UnicodeDecodeError:
        for number, line in enumerate(body.split(b"\n"), chunk.number):
            try:
                text = line.removesuffix(b"\r").decode()
            except UnicodeDecodeError:
                text = line.removesuffix(b"\r").decode("utf-8", "replace")
                letters(BadRecord, f"{chunk.file}:{number}: the text is not UTF-8", text)
                continue
            yield number, text
