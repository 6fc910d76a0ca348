"""The source of files, read one after the other in the order of their names, a piece at a time: each file is one
partition, or all are one where their clock continues.

Files are read, decompressed and decoded by a thread beside the loop; never is a whole file in memory. Which files
there are is settled when the source is first opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias, cast

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.sources.local_files import UNREADABLE, find_files, nothing_to_read, unreadable
from ghcm.runtime.sources.mailbox import Mailbox
from ghcm.runtime.sources.pieces import FIRST_PIECE, Decoded, decoded
from ghcm.runtime.sources.source import Letters
from ghcm.spg.ops import Files
from ghcm.types import Struct

_PREFETCHED = 3
_Place: TypeAlias = tuple[int, int, object]
"""Bytes (or rows of tables) and lines (or rows) used of a file, and what its decoder has to know to go on."""
_START: _Place = (0, 0, None)


class FilesSource:
    """Lines of files. The position: the files that are left, and bytes (decompressed) and lines used of the first."""

    replayable = True
    due: float | None = None

    def __init__(self, connector: Files, schema: Struct, partition: str, base: Path, piece: int = FIRST_PIECE) -> None:
        self._connector = connector
        self._schema = schema
        self._partition = partition
        self._base = base
        self._piece = piece
        self._left: list[str] = []
        self._place: _Place = _START
        self._mailbox: Mailbox[Decoded] | None = None

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Find the files, or go on where the position says. GhcmError if there are none."""
        if isinstance(position, Mapping):
            known = cast("Mapping[str, object]", position)
            self._left = list(cast("list[str]", known["files"]))
            self._place = cast("int", known["offset"]), cast("int", known["number"]), known["header"]
        else:
            self._left = find_files(self._connector.path, self._base)
            if not self._left:
                raise nothing_to_read(self._connector.path, self._base)
        if self._left:
            self._mailbox = Mailbox(_PREFETCHED, wake)
            self._mailbox.feed("ghcm-files", partial(self._read, self._mailbox, list(self._left), self._place))

    def partitions(self) -> frozenset[str]:
        """A name for each file that has not been read to its end, or one for all of them."""
        return frozenset(map(self._partition_of, self._left))

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        """The records of the next piece."""
        while self._mailbox is not None and (piece := self._mailbox.take()) is not None:
            for letter in piece.letters:
                letters(*letter)
            self._place = piece.offset, piece.number, piece.header
            if piece.last:
                self._left, self._place = self._left[1:], _START
            if piece.batch is not None:
                return piece.batch
        return None

    @property
    def ended(self) -> bool:
        """Whether all files were read."""
        return not self._left

    def position(self) -> object:
        """Where to go on."""
        offset, number, header = self._place
        return {"files": self._left, "offset": offset, "number": number, "header": header}

    def close(self) -> None:
        """Let the reading thread go."""
        if self._mailbox is not None:
            self._mailbox.close()

    def _partition_of(self, file: str) -> str:
        return self._partition if self._connector.clock == "continues" else f"{self._partition}:{file}"

    def _read(self, mailbox: Mailbox[Decoded], files: list[str], begin: _Place) -> None:
        """The thread: leave what is decoded in the mailbox."""
        for file in files:
            try:
                partition = self._partition_of(file)
                for piece in decoded(self._connector, self._schema, self._base, file, partition, begin, self._piece):
                    if not mailbox.put(piece):
                        return
            except UNREADABLE as error:
                raise unreadable(file, error) from error
            begin = _START
