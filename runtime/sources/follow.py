"""The source of files that are still to come: what a path means is looked up again and again, and each file that has
appeared is read once, in the order of the names of those that are there.

A file has to be whole when it appears under a name that the path means: it is written under another name, or hidden,
and renamed. What is appended to it later is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import cast

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.sources.local_files import UNREADABLE, find_files, unreadable
from ghcm.runtime.sources.mailbox import Mailbox
from ghcm.runtime.sources.pieces import FIRST_PIECE, Decoded, decoded
from ghcm.runtime.sources.source import Letters
from ghcm.spg.ops import Files
from ghcm.types import Struct

_PREFETCHED = 3
_LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class _Gone:
    """Files that were read and are no longer there; if they come again, they are new."""

    files: frozenset[str]


class FollowSource:
    """Records of one partition without end. The position: the files that were read and are still there, and the one
    that is being read with the bytes (decompressed) and lines used of it.
    """

    replayable = True
    due: float | None = None

    def __init__(self, connector: Files, schema: Struct, partition: str, base: Path, piece: int = FIRST_PIECE) -> None:
        self._connector = connector
        self._schema = schema
        self._partition = partition
        self._base = base
        self._piece = piece
        self._read: set[str] = set()
        self._file: str | None = None
        self._place: tuple[int, int, object] = (0, 0, None)
        self._closed = Event()
        self._mailbox: Mailbox[Decoded | _Gone] | None = None

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Begin to look for files, or go on where the position says."""
        if isinstance(position, Mapping):
            known = cast("Mapping[str, object]", position)
            self._read = set(cast("list[str]", known["read"]))
            self._file = cast("str | None", known["file"])
            if self._file is not None:
                self._place = cast("int", known["offset"]), cast("int", known["number"]), known["header"]
        self._mailbox = Mailbox(_PREFETCHED, wake)
        watch = partial(self._watch, self._mailbox, set(self._read), self._file, self._place)
        self._mailbox.feed("ghcm-follow", watch)

    def partitions(self) -> frozenset[str]:
        """The one partition."""
        return frozenset({self._partition})

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        """The records of the next piece."""
        while self._mailbox is not None and (found := self._mailbox.take()) is not None:
            if isinstance(found, _Gone):
                self._read -= found.files
                continue
            for letter in found.letters:
                letters(*letter)
            self._file, self._place = found.file, (found.offset, found.number, found.header)
            if found.last:
                self._read.add(found.file)
                self._file = None
            if found.batch is not None:
                return found.batch
        return None

    @property
    def ended(self) -> bool:
        """Never."""
        return False

    def position(self) -> object:
        """Where to go on."""
        position: dict[str, object] = {"read": sorted(self._read), "file": self._file}
        if self._file is not None:
            offset, number, header = self._place
            position.update({"offset": offset, "number": number, "header": header})
        return position

    def close(self) -> None:
        """Let the reading thread go."""
        self._closed.set()
        if self._mailbox is not None:
            self._mailbox.close()

    def _watch(
        self,
        mailbox: Mailbox[Decoded | _Gone],
        read: set[str],
        begun: str | None,
        begin: tuple[int, int, object],
    ) -> None:
        """The thread: leave what is decoded of each new file in the mailbox."""
        files = [begun] if begun is not None else self._new(mailbox, read)
        while not self._closed.is_set():
            for file in files:
                try:
                    for piece in decoded(
                        self._connector, self._schema, self._base, file, self._partition, begin, self._piece
                    ):
                        if not mailbox.put(piece):
                            return
                except UNREADABLE as error:
                    if isinstance(error, FileNotFoundError) and not begin[0]:
                        continue  # taken away before it was opened
                    raise unreadable(file, error) from error
                read.add(file)
                begin = (0, 0, None)
            files = self._new(mailbox, read)
            if not files:
                self._closed.wait(_LOOK_S)
                files = self._new(mailbox, read)

    def _new(self, mailbox: Mailbox[Decoded | _Gone], read: set[str]) -> list[str]:
        """The files that are there and were not read; those that were and are gone are forgotten."""
        there = find_files(self._connector.path, self._base)
        gone = read.difference(there)
        if gone:
            read -= gone
            mailbox.put(_Gone(frozenset(gone)))
        return [file for file in there if file not in read]
