"""Chunks of whole lines, as decoders take them, out of bytes that come in pieces; how lines are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from ghcm.errors import GhcmError
from ghcm.formats.files import BYTE_ORDER_MARK
from ghcm.functions import Failure
from ghcm.runtime.data.arrow import bytes_of
from ghcm.runtime.data.batch import Batch

Letters: TypeAlias = Callable[[Failure, str, str], None]
"""Takes a record that cannot be decoded: reason, detail, raw text."""

BadRecord = Failure.BAD_RECORD
_NEWLINE = b"\n"[0]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines of one file (or connection): `data` ends with a line end unless `last`; `number` is that of the first
    line (from 1); `lines` is how many there are, 0 where nobody has counted them.
    """

    data: bytes
    file: str
    number: int
    partition: str
    last: bool
    lines: int = 0

    def count(self) -> int:
        """How many lines it has."""
        return self.lines or count_lines(self.data)

    def behind(self, size: int, lines: int) -> Chunk:
        """The chunk without its first bytes, which are so many lines."""
        if not size:
            return self
        return Chunk(self.data[size:], self.file, self.number + lines, self.partition, self.last)


class Decoder(Protocol):
    """Decodes the lines of one partition after the other. `threads`: how many should do so at once (`InOrder`)."""

    @property
    def threads(self) -> int:
        """As above."""
        ...

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        """The records, and the bytes and lines of the chunk that they took; the rest has to come again with more
        behind it.
        """
        ...

    def alone(self, chunk: Chunk) -> bool:
        """Whether the chunk may be decoded in any thread while others are: it is used whole, and nothing that stands
        in it changes what has to be known.
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


def count_ends(data: bytes) -> int:
    """How many line ends it has; many times as fast as `bytes.count`."""
    return int((bytes_of(data) == _NEWLINE).sum())


def count_lines(data: bytes) -> int:
    """How many lines it has."""
    return count_ends(data) + (len(data) > 0 and not data.endswith(b"\n"))


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


_LONGEST = 64 << 20


class Lines:
    """Decodes one file (or connection) whose bytes come in pieces. `offset` and `number`: bytes and lines used so
    far. A byte order mark at the beginning belongs to no line.
    """

    def __init__(self, decoder: Decoder, file: str, partition: str, *, offset: int = 0, number: int = 0) -> None:
        self.offset = offset
        self.number = number
        self._decoder = decoder
        self._file = file
        self._partition = partition
        self._rest = b""

    def add(self, data: bytes, last: bool, letters: Letters) -> Batch | None:
        """Decode what is whole in what has come; `last`: nothing more comes."""
        chunk = self.cut(data, last)
        return None if chunk is None else self.decode(chunk, letters)

    def cut(self, data: bytes, last: bool) -> Chunk | None:
        """What is whole in what has come, None where nothing is. It has to be used, by `decode` or `passed`, before
        anything else is done.
        """
        end = len(data) if last else data.rfind(b"\n") + 1
        if end == 0 and not (last and self._rest):
            self._keep(self._rest + data)
            return None
        whole = b"".join((self._rest, memoryview(data)[:end])) if self._rest else data[:end]
        self._keep(data[end:])
        if self.offset == 0 and whole.startswith(BYTE_ORDER_MARK):
            whole, self.offset = whole[len(BYTE_ORDER_MARK) :], len(BYTE_ORDER_MARK)
        return Chunk(whole, self._file, self.number + 1, self._partition, last) if whole else None

    def decode(self, chunk: Chunk, letters: Letters) -> Batch:
        """The records of what was cut; what of it needs more behind it comes again."""
        batch, used, lines = self._decoder.decode(chunk, letters)
        self._use(used, lines)
        if used < len(chunk.data):
            self._keep(chunk.data[used:] + self._rest)
        return batch

    def passed(self, chunk: Chunk) -> Chunk:
        """What was cut, for somebody else to decode it (`Decoder.alone`)."""
        counted = replace(chunk, lines=chunk.count())
        self._use(len(chunk.data), counted.lines)
        return counted

    def _use(self, size: int, lines: int) -> None:
        self.offset += size
        self.number += lines

    def _keep(self, rest: bytes) -> None:
        if len(rest) > _LONGEST:
            raise GhcmError(
                f'cannot read "{self._file}": the record at line {self.number + 1} has more than 64 MiB',
                code="GHCM-736",
                hint="check that the format is the right one and that lines end in a newline",
            )
        self._rest = rest
