"""One file that grows: its new whole lines, decoded, as long as it still holds what was read of it.

A file is known again by where it is on the disk and by what it began with and last held when it was read. A name says
nothing here, since logs are renamed; nor does an inode alone, since inodes are given again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from errno import ENOENT
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import TypeAlias, cast

from ghcm.formats.files import GONE, UNREADABLE, unreadable
from ghcm.functions import Failure
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.chunks import Lines
from ghcm.runtime.formats.decoder import open_decoder
from ghcm.spg.connectors import Files
from ghcm.types import Struct

SIDE = 1024
"""Bytes at the beginning of a file, and before the position to which it was read, that have to be what they were."""

Identity: TypeAlias = tuple[int, int]
"""Device and inode."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What lies before an offset: hashes of the first and of the last bytes, `SIDE` of each or what there is."""

    offset: int
    first: str
    last: str

    @classmethod
    def of(cls, offset: int, first: bytes, last: bytes) -> Mark:
        """The mark of these bytes."""
        return cls(offset, _hash(first), _hash(last))

    @classmethod
    def at(cls, file: int, offset: int) -> Mark:
        """The mark of an open file."""
        side = min(offset, SIDE)
        return cls.of(offset, os.pread(file, side, 0), os.pread(file, side, offset - side))


@dataclass(frozen=True, slots=True)
class Position:
    """How far a file was read: the name that it had first, where it is, what lies behind, the lines used and what the
    decoder has to know."""

    name: str
    identity: Identity
    mark: Mark
    number: int
    header: object

    def save(self) -> dict[str, object]:
        """As it stands in the position of the source (JSON)."""
        device, inode = self.identity
        offset, first, last = self.mark.offset, self.mark.first, self.mark.last
        where = {"name": self.name, "device": device, "inode": inode, "offset": offset, "first": first, "last": last}
        return {**where, "number": self.number, "header": self.header}

    @classmethod
    def restore(cls, saved: Mapping[str, object]) -> Position:
        """The position that was saved."""
        known = cast("Mapping[str, int]", saved)
        texts = cast("Mapping[str, str]", saved)
        mark = Mark(known["offset"], texts["first"], texts["last"])
        return cls(texts["name"], (known["device"], known["inode"]), mark, known["number"], saved["header"])


def bears(file: int, mark: Mark) -> bool:
    """Whether an open file still holds what the mark says, with nothing or more behind it."""
    return os.fstat(file).st_size >= mark.offset and mark == Mark.at(file, mark.offset)


def begins_like(file: int, mark: Mark) -> bool:
    """Whether an open file begins as the mark says, and that is as much as is compared."""
    return mark.offset >= SIDE and _hash(os.pread(file, SIDE, 0)) == mark.first


def same_bytes(file: int, other: int, size: int) -> bool:
    """Whether both begin with the same bytes, by the first and the last of these."""
    side = min(size, SIDE)
    return all(os.pread(file, side, at) == os.pread(other, side, at) for at in (0, size - side))


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()


START = Mark.of(0, b"", b"")
"""The mark of a file of which nothing was read."""


_PIECE = 2 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was met under a name (relative to the base): how large it was, and when it was last written."""

    name: str
    identity: Identity
    size: int
    written_ns: int


@dataclass(frozen=True, slots=True)
class Piece:
    """What came of a file, and where to go on with it; `position` None: nowhere, since it is gone. `file` names it
    within this run of the source.
    """

    file: int
    position: Position | None
    batch: Batch | None = None
    letters: tuple[tuple[Failure, str, str], ...] = ()


def find(name: str, base: Path) -> Found | None:
    """The file of this name, None where there is none. GhcmError where that cannot be said."""
    try:
        status = os.stat(base / name)
    except GONE:
        return None
    except OSError as error:
        raise unreadable(name, error) from error
    return Found(name, (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)


def open_known(name: str, identity: Identity, base: Path) -> int:
    """The file of this name and identity, open. FileNotFoundError where the name is another's by now, GhcmError where
    it cannot be opened.
    """
    try:
        opened = os.open(base / name, os.O_RDONLY | os.O_CLOEXEC)
    except GONE as error:
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), name) from error
    except OSError as error:
        raise unreadable(name, error) from error
    status = os.fstat(opened)
    if (status.st_dev, status.st_ino) == identity:
        return opened
    os.close(opened)
    raise FileNotFoundError(ENOENT, "another file has its name", name)


class GrowingFile:
    """Reads on in one file behind a position; keeps it open, so that it can be read when its name is another's.

    `name` is the one that it had first, `path` the latest under which it was found; `moved`: that they differ or did.
    `grown` is when something last came (monotonic). `held`: its size when it was taken for a copy before its first
    byte was read, and since when it is that large (monotonic).
    """

    def __init__(
        self, number: int, connector: Files, schema: Struct, partition: str, base: Path, path: str, position: Position
    ) -> None:
        self.number = number
        self.name = position.name
        self.path = path
        self.identity = position.identity
        self.grown = monotonic()
        self.moved = path != position.name
        self.held: tuple[int, float] = (-1, 0.0)
        self._base = base
        self._decoder = open_decoder(connector.format, schema)
        self._decoder.begin(position.header)
        self._lines = Lines(
            self._decoder, position.name, partition, offset=position.mark.offset, number=position.number
        )
        self._mark = position.mark
        self._read = position.mark.offset
        self._file: int | None = None
        self._seen = (-1, -1)
        side = min(position.mark.offset, SIDE)
        self._first = os.pread(self.file, side, 0) if side else b""
        self._recent = os.pread(self.file, side, position.mark.offset - side) if side else b""

    @property
    def file(self) -> int:
        """The open file. Errors as `open_known`."""
        if self._file is None:
            self._file = open_known(self.path, self.identity, self._base)
        return self._file

    @property
    def is_open(self) -> bool:
        """Whether it is kept open."""
        return self._file is not None

    @property
    def position(self) -> Position:
        """Where to go on."""
        return Position(self.name, self.identity, self._mark, self._lines.number, self._decoder.save())

    @property
    def unread(self) -> bool:
        """Whether nothing was read of it."""
        return self._read == 0

    @property
    def removed(self) -> bool:
        """Whether no name is left for it."""
        return os.fstat(self.file).st_nlink == 0

    @property
    def written_ns(self) -> int:
        """When it was last written, as far as is known."""
        return self._seen[1]

    def met(self, found: Found | None) -> None:
        """It was met under this name, or under none that the path means."""
        self.moved = self.moved or found is None or found.name != self.path
        self.path = self.path if found is None else found.name

    def changed(self, found: Found | None) -> bool:
        """Whether it is not as it was when last asked; `found`: where it is met now, which is believed while it is not
        kept open. FileNotFoundError where it cannot be opened again."""
        if self._file is None and found is not None and (found.size, found.written_ns) == self._seen:
            return False
        status = os.fstat(self.file)
        before, self._seen = self._seen, (status.st_size, status.st_mtime_ns)
        return before != self._seen

    def look_again(self) -> None:
        """Have it count as changed when it is next asked."""
        self._seen = (-1, -1)

    @property
    def unfinished(self) -> bytes:
        """What was read of it behind its last whole line."""
        return self._recent[min(self._mark.offset, SIDE) :]

    def begins(self, first: bytes) -> bool:
        """Whether a file that begins with these bytes may begin as what was read of this one."""
        size = min(len(first), len(self._first))
        return size > 0 and first[:size] == self._first[:size]

    def intact(self) -> bool:
        """Whether it still holds all that was read of it: what the mark says, and the unfinished line behind that."""
        unfinished = self.unfinished[-SIDE:]
        held = os.pread(self.file, len(unfinished), self._read - len(unfinished))
        return held == unfinished and bears(self.file, self._mark)

    def pieces(self) -> Iterator[Piece]:
        """What has come up to now; ends early where the file is cut meanwhile, which is then seen at the next look."""
        try:
            end = os.fstat(self.file).st_size
            while self._read < end and (data := os.pread(self.file, min(_PIECE, end - self._read), self._read)):
                if os.fstat(self.file).st_size < end or not self.intact():
                    self.look_again()
                    return
                yield self._add(data)
        except FileNotFoundError:
            self.look_again()  # renamed before it was opened: it is met under another name
        except UNREADABLE as error:
            raise unreadable(self.name, error) from error

    def finish(self) -> Piece:
        """The unfinished last line as a whole one, since nothing more comes."""
        return replace(self._add(b"", last=True), position=None)

    def close(self) -> None:
        """Give the open file back; it is opened again by its path when it is asked for."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _add(self, data: bytes, *, last: bool = False) -> Piece:
        failed: list[tuple[Failure, str, str]] = []

        def letter(reason: Failure, detail: str, text: str) -> None:
            failed.append((reason, detail, text))

        batch = self._lines.add(data, last, letter)
        if data:
            self.grown = monotonic()
            self._remember(data)
        return Piece(self.number, self.position, batch, tuple(failed))

    def _remember(self, data: bytes) -> None:
        """Keep the bytes of which marks are made: the first ones, and those around the position up to which lines are
        used."""
        self._read += len(data)
        offset = self._lines.offset
        self._first += data[: SIDE - len(self._first)]
        recent = self._recent + data
        used = len(recent) - (self._read - offset)
        side = min(offset, SIDE)
        self._recent = recent[used - side :]
        self._mark = Mark.of(offset, self._first[:side], self._recent[:side])
