"""How a growing file is known again: where it is on the disk, and what it began with and last held when it was read.

A name says nothing here, since logs are renamed; nor does an inode alone, since inodes are given again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias, cast

SIDE = 1024
"""Bytes at the beginning of a file, and before the place to which it was read, that have to be what they were."""

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
class Place:
    """How far a file was read: the name that it had first, where it is, what lies behind, the lines used and what the
    decoder has to know."""

    name: str
    identity: Identity
    mark: Mark
    number: int
    header: object

    def save(self) -> dict[str, object]:
        """As it stands in a position (JSON)."""
        device, inode = self.identity
        offset, first, last = self.mark.offset, self.mark.first, self.mark.last
        where = {"name": self.name, "device": device, "inode": inode, "offset": offset, "first": first, "last": last}
        return {**where, "number": self.number, "header": self.header}

    @classmethod
    def restore(cls, saved: Mapping[str, object]) -> Place:
        """The place that was saved."""
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
