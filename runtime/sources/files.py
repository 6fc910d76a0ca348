"""The source of files, read one after the other in the order of their names, a piece at a time: each file is one
partition, or all are one where their clock continues.

Files are read (and decompressed) by a thread beside the loop and decoded in the loop; never is a whole file in
memory. Which files there are is settled when the source is first opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread
from typing import cast

from ghcm.errors import GhcmError
from ghcm.runtime.batch import Batch
from ghcm.runtime.sources.decoder import open_decoder
from ghcm.runtime.sources.local_files import UNREADABLE, find_files, nothing_to_read, unreadable
from ghcm.runtime.sources.mailbox import Mailbox
from ghcm.runtime.sources.pieces import Piece, Reading, pieces
from ghcm.runtime.sources.source import Letters
from ghcm.spg.ops import Files
from ghcm.types import Struct

__all__ = ["FilesSource"]

_PREFETCHED = 3


class FilesSource:
    """Lines of files. The position: the files that are left, and bytes (decompressed) and lines used of the first."""

    replayable = True
    due: float | None = None

    def __init__(self, connector: Files, schema: Struct, partition: str, base: Path) -> None:
        self._connector = connector
        self._schema = schema
        self._decoder = open_decoder(connector.format, schema)
        self._partition = partition
        self._base = base
        self._left: list[str] = []
        self._reading: Reading | None = None
        self._mailbox: Mailbox[Piece | GhcmError] | None = None

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Find the files, or go on where the position says. GhcmError if there are none."""
        offset, number, saved = 0, 0, None
        if isinstance(position, Mapping):
            known = cast("Mapping[str, object]", position)
            self._left = list(cast("list[str]", known["files"]))
            offset, number, saved = cast("int", known["offset"]), cast("int", known["number"]), known["header"]
        else:
            self._left = find_files(self._connector.path, self._base)
            if not self._left:
                raise nothing_to_read(self._connector.path, self._base)
        if self._left:
            self._decoder.begin(saved)
            self._reading = self._begin(self._left[0], offset, number)
            self._mailbox = Mailbox(_PREFETCHED, wake)
            arguments = (self._mailbox, list(self._left), offset)
            Thread(target=self._read, args=arguments, name="ghcm-files", daemon=True).start()

    def partitions(self) -> frozenset[str]:
        """A name for each file that has not been read to its end, or one for all of them."""
        return frozenset(map(self._partition_of, self._left))

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        """The records of the next piece."""
        if self._mailbox is None:
            return None
        while self._reading is not None and (piece := self._mailbox.take()) is not None:
            if isinstance(piece, GhcmError):
                raise piece
            batch = self._reading.add(piece, letters)
            if piece.last:
                self._next_file()
            if batch is not None:
                return batch
        return None

    @property
    def ended(self) -> bool:
        """Whether all files were read."""
        return not self._left

    def position(self) -> object:
        """Where to go on."""
        reading = self._reading
        place = (reading.offset, reading.number) if reading is not None else (0, 0)
        return {"files": self._left, "offset": place[0], "number": place[1], "header": self._decoder.save()}

    def close(self) -> None:
        """Let the reading thread go."""
        if self._mailbox is not None:
            self._mailbox.close()

    def _begin(self, file: str, offset: int, number: int) -> Reading:
        place = self._partition_of(file)
        return Reading(self._connector, self._schema, self._decoder, file, place, offset, number)

    def _partition_of(self, file: str) -> str:
        return self._partition if self._connector.clock == "continues" else f"{self._partition}:{file}"

    def _next_file(self) -> None:
        self._left = self._left[1:]
        self._decoder.begin(None)
        self._reading = self._begin(self._left[0], 0, 0) if self._left else None

    def _read(self, mailbox: Mailbox[Piece | GhcmError], files: list[str], offset: int) -> None:
        """The thread: leave the pieces of the files in the mailbox."""
        for file in files:
            try:
                for piece in pieces(self._connector, self._schema, self._base, file, offset):
                    if not mailbox.put(piece):
                        return
            except UNREADABLE as error:
                mailbox.put(unreadable(file, error))
                return
            except GhcmError as error:
                mailbox.put(error)
                return
            offset = 0
