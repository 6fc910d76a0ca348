"""The source of files that are still to come: what a path means is looked up again and again, and each file that has
appeared is read once, in the order of the names of those that are there.

A file has to be whole when it appears under a name that the path means: it is written under another name, or hidden,
and renamed. What is appended to it later is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import cast

from ghcm.errors import GhcmError
from ghcm.runtime.batch import Batch
from ghcm.runtime.sources.decoder import open_decoder
from ghcm.runtime.sources.local_files import UNREADABLE, find_files, unreadable
from ghcm.runtime.sources.mailbox import Mailbox
from ghcm.runtime.sources.pieces import Piece, Reading, pieces
from ghcm.runtime.sources.source import Letters
from ghcm.spg.ops import Files
from ghcm.types import Struct

__all__ = ["FollowSource"]

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

    def __init__(self, connector: Files, schema: Struct, partition: str, base: Path) -> None:
        self._connector = connector
        self._schema = schema
        self._decoder = open_decoder(connector.format, schema)
        self._partition = partition
        self._base = base
        self._read: set[str] = set()
        self._file: str | None = None
        self._reading: Reading | None = None
        self._closed = Event()
        self._mailbox: Mailbox[Piece | _Gone | GhcmError] | None = None

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Begin to look for files, or go on where the position says."""
        offset = 0
        if isinstance(position, Mapping):
            known = cast("Mapping[str, object]", position)
            self._read = set(cast("list[str]", known["read"]))
            self._file = cast("str | None", known["file"])
            if self._file is not None:
                offset = cast("int", known["offset"])
                self._begin(self._file, offset, cast("int", known["number"]), known["header"])
        self._mailbox = Mailbox(_PREFETCHED, wake)
        arguments = (self._mailbox, set(self._read), self._file, offset)
        Thread(target=self._watch, args=arguments, name="ghcm-follow", daemon=True).start()

    def partitions(self) -> frozenset[str]:
        """The one partition."""
        return frozenset({self._partition})

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        """The records of the next piece."""
        while self._mailbox is not None and (found := self._mailbox.take()) is not None:
            if isinstance(found, GhcmError):
                raise found
            if isinstance(found, _Gone):
                self._read -= found.files
                continue
            if found.file != self._file or self._reading is None:
                self._begin(found.file, 0, 0, None)
            assert self._reading is not None
            batch = self._reading.add(found, letters)
            if found.last:
                self._read.add(found.file)
                self._file = self._reading = None
            if batch is not None:
                return batch
        return None

    @property
    def ended(self) -> bool:
        """Never."""
        return False

    def position(self) -> object:
        """Where to go on."""
        position: dict[str, object] = {"read": sorted(self._read), "file": self._file}
        if self._reading is not None:
            place = {"offset": self._reading.offset, "number": self._reading.number, "header": self._decoder.save()}
            position.update(place)
        return position

    def close(self) -> None:
        """Let the reading thread go."""
        self._closed.set()
        if self._mailbox is not None:
            self._mailbox.close()

    def _begin(self, file: str, offset: int, number: int, header: object) -> None:
        self._file = file
        self._decoder.begin(header)
        self._reading = Reading(self._connector, self._schema, self._decoder, file, self._partition, offset, number)

    def _watch(
        self, mailbox: Mailbox[Piece | _Gone | GhcmError], read: set[str], begun: str | None, offset: int
    ) -> None:
        """The thread: leave the pieces of each new file in the mailbox."""
        files = [begun] if begun is not None else self._new(mailbox, read)
        while not self._closed.is_set():
            for file in files:
                try:
                    for piece in pieces(self._connector, self._schema, self._base, file, offset):
                        if not mailbox.put(piece):
                            return
                except UNREADABLE as error:
                    if isinstance(error, FileNotFoundError) and not offset:
                        continue  # taken away before it was opened
                    mailbox.put(unreadable(file, error))
                    return
                except GhcmError as error:
                    mailbox.put(error)
                    return
                read.add(file)
                offset = 0
            files = self._new(mailbox, read)
            if not files:
                self._closed.wait(_LOOK_S)
                files = self._new(mailbox, read)

    def _new(self, mailbox: Mailbox[Piece | _Gone | GhcmError], read: set[str]) -> list[str]:
        """The files that are there and were not read; those that were and are gone are forgotten."""
        there = find_files(self._connector.path, self._base)
        gone = read.difference(there)
        if gone:
            read -= gone
            mailbox.put(_Gone(frozenset(gone)))
        return [file for file in there if file not in read]
