"""The sources of whole files, read one after the other in the order of their names, a piece at a time: those that are
there when the source is first opened, each one partition unless their clock continues; and those still to come, of
which what a path means is looked up again and again.

Files are read, decompressed and decoded by a thread beside the loop; never is a whole file in memory. A file that is
still to come has to be whole when it appears under a name that the path means: it is written under another name, or
hidden, and renamed. What is appended to it later is not read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, TypeAlias, cast

from ghcm.formats.files import UNREADABLE, find_files, nothing_to_read, unreadable
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.chunks import Letters
from ghcm.runtime.formats.file_pieces import FIRST_PIECE, Decoded, decoded
from ghcm.runtime.sources.source import Mailbox
from ghcm.spg.connectors import Files
from ghcm.stores import scheme_of
from ghcm.types import Struct

_PREFETCHED = 3
_LOOK_S, _LOOK_AFAR_S = 0.25, 1.0
_Position: TypeAlias = tuple[int, int, object]
"""Bytes (or rows of tables) and lines (or rows) used of a file, and what its decoder has to know to go on."""
_START: _Position = (0, 0, None)


class FilesSource:
    """Lines of files. The position: the files that are left, and by the names of those that were begun the bytes
    (decompressed) and lines used of them; None while a store is asked which there are. Where each file is a partition,
    instances read some of them each.
    """

    replayable = True
    due: float | None = None

    def __init__(self, connector: Files, schema: Struct, partition: str, base: Path, piece: int = FIRST_PIECE) -> None:
        self._connector = connector
        self._schema = schema
        self._partition = partition
        self._base = base
        self._piece = piece
        self._share = (0, 1)
        self._left: list[str] | None = None
        self._begun: dict[str, _Position] = {}
        self._sizes: dict[str, int] = {}
        self._mailbox = Mailbox[Decoded | list[str]](_PREFETCHED)

    def divide(self, number: int, of: int) -> None:
        """As `Divisible.divide`."""
        self._share = number, of

    def together(self, positions: Sequence[object]) -> object:
        """As `Divisible.together`. `unfound` are the shares of those that did not know their files yet."""
        known = [cast("Mapping[str, Any]", each) for each in positions if each is not None]
        return {
            "files": sorted(file for each in known for file in each["files"]),
            "begun": {file: at for each in known for file, at in each["begun"].items()},
            "unfound": [(number, len(positions)) for number, each in enumerate(positions) if each is None],
        }

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Find the files, or go on where the position says. GhcmError if there are none."""
        known = cast("Mapping[str, Any]", position or {"files": [], "begun": {}, "unfound": [(0, 1)]})
        self._begun = {file: (offset, number, header) for file, (offset, number, header) in known["begun"].items()}
        files, unfound = cast("list[str]", known["files"]), cast("list[tuple[int, int]]", known.get("unfound", []))
        if not unfound or scheme_of(self._connector.path) is None:
            self._left = self._mine(files, unfound)
            self._sizes = {file: size for file in self._left if (size := _size(self._base / file)) is not None}
        if self._left != []:
            left = partial(self._mine, files, unfound) if self._left is None else None
            self._mailbox.feed("ghcm-files", partial(self._read, list(self._left or ()), left, dict(self._begun)), wake)

    def partitions(self) -> frozenset[str]:
        """A name for each file that has not been read to its end, or one for all of them."""
        return frozenset({self._partition} if self._left is None else map(self._partition_of, self._left))

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        while (piece := self._mailbox.take()) is not None:
            if isinstance(piece, list):
                self._left = piece
                return Batch.from_rows(self._schema, (), partition=self._partition)  # so that the position is kept
            for letter in piece.letters:
                letters(*letter)
            self._begun[piece.file] = piece.offset, piece.number, piece.header
            if piece.last:
                self._left = (self._left or [])[1:]
                del self._begun[piece.file]
            if piece.batch is not None:
                return piece.batch
        return None

    @property
    def ended(self) -> bool:
        return self._left == []

    def share(self) -> float | None:
        """As `Measured.share`: by bytes, which are more than its own of a packed file."""
        total = sum(self._sizes.values())
        if self._left is None or not total:
            return None
        left = sum(self._sizes.get(file, 0) for file in self._left)
        begun = sum(min(at[0], self._sizes.get(file, 0)) for file, at in self._begun.items())
        return 1 - max(0, left - begun) / total

    def position(self) -> object:
        if self._left is None:
            return None
        return {"files": self._left, "begun": {file: at for file, at in self._begun.items() if file in self._left}}

    def close(self) -> None:
        self._mailbox.close()

    def _partition_of(self, file: str) -> str:
        return self._partition if self._connector.clock == "continues" else f"{self._partition}:{file}"

    def _mine(self, files: Sequence[str], unfound: Sequence[tuple[int, int]]) -> list[str]:
        """The part of this instance of some files and of shares of all that are there."""
        found = self._found() if unfound else []
        left = sorted([*files, *(file for number, of in unfound for file in found[number::of])])
        number, of = self._share
        return left[number::of]

    def _found(self) -> list[str]:
        found = find_files(self._connector.path, self._base)
        if not found:
            raise nothing_to_read(self._connector.path, self._base)
        return found

    def _read(self, files: list[str], find: Callable[[], list[str]] | None, begun: Mapping[str, _Position]) -> None:
        """The thread: leave what is decoded in the mailbox, and first the files where they are still to be found."""
        if find is not None and not self._mailbox.put(files := find()):
            return
        for file in files:
            try:
                partition, begin = self._partition_of(file), begun.get(file, _START)
                for piece in decoded(self._connector, self._schema, self._base, file, partition, begin, self._piece):
                    if not self._mailbox.put(piece):
                        return
            except UNREADABLE as error:
                raise unreadable(file, error) from error


def _size(path: Path) -> int | None:
    """The bytes of a file; None where it is elsewhere, or not to be asked."""
    try:
        return path.stat().st_size
    except OSError:
        return None


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
        self._at: _Position = _START
        self._closed = Event()
        self._mailbox = Mailbox[Decoded | _Gone](_PREFETCHED)

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Begin to look for files, or go on where the position says."""
        if isinstance(position, Mapping):
            known = cast("Mapping[str, object]", position)
            self._read = set(cast("list[str]", known["read"]))
            self._file = cast("str | None", known["file"])
            if self._file is not None:
                self._at = cast("int", known["offset"]), cast("int", known["number"]), known["header"]
        watch = partial(self._watch, set(self._read), self._file, self._at)
        self._mailbox.feed("ghcm-follow", watch, wake)

    def partitions(self) -> frozenset[str]:
        return frozenset({self._partition})

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        while (found := self._mailbox.take()) is not None:
            if isinstance(found, _Gone):
                self._read -= found.files
                continue
            for letter in found.letters:
                letters(*letter)
            self._file, self._at = found.file, (found.offset, found.number, found.header)
            if found.last:
                self._read.add(found.file)
                self._file = None
            if found.batch is not None:
                return found.batch
        return None

    @property
    def ended(self) -> bool:
        return False

    def position(self) -> object:
        position: dict[str, object] = {"read": sorted(self._read), "file": self._file}
        if self._file is not None:
            offset, number, header = self._at
            position.update({"offset": offset, "number": number, "header": header})
        return position

    def close(self) -> None:
        self._closed.set()
        self._mailbox.close()

    def _watch(self, read: set[str], begun: str | None, begin: _Position) -> None:
        """The thread: leave what is decoded of each new file in the mailbox."""
        files = [begun] if begun is not None else self._new(read)
        while not self._closed.is_set():
            for file in files:
                try:
                    for piece in decoded(
                        self._connector, self._schema, self._base, file, self._partition, begin, self._piece
                    ):
                        if not self._mailbox.put(piece):
                            return
                except UNREADABLE as error:
                    if isinstance(error, FileNotFoundError) and not begin[0]:
                        continue  # taken away before it was opened
                    raise unreadable(file, error) from error
                read.add(file)
                begin = _START
            files = self._new(read)
            if not files:
                self._closed.wait(_LOOK_S if scheme_of(self._connector.path) is None else _LOOK_AFAR_S)
                files = self._new(read)

    def _new(self, read: set[str]) -> list[str]:
        """The files that are there and were not read; those that were and are gone are forgotten."""
        there = find_files(self._connector.path, self._base)
        gone = read.difference(there)
        if gone:
            read -= gone
            self._mailbox.put(_Gone(frozenset(gone)))
        return [file for file in there if file not in read]
