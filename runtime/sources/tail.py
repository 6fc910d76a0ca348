"""The source of files that grow: what a path means is looked up again and again, and of each file every whole line is
read once, whatever becomes of its name.

A file is known by its identity and its mark. One that does not hold what was read of it was cut (or its inode was given
to another): what was not read is looked for in a copy, and the file is read from its beginning. Looking is done by a
thread beside the loop, soon again while something comes and seldom while nothing does.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic
from typing import TypeVar, cast

from ghcm.formats.files import find_files, packed
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.chunks import Letters
from ghcm.runtime.sources.copies import Lookalikes, copy_of, moved
from ghcm.runtime.sources.growing_file import START, Found, GrowingFile, Identity, Piece, Position, find
from ghcm.runtime.sources.source import Mailbox
from ghcm.spg.connectors import Files
from ghcm.types import Struct

_log = logging.getLogger(__name__)

T = TypeVar("T")

_OPEN = 256
"""Files that are kept open; of the others the names are believed."""
_REMOVED_S, _MOVED_S = 5.0, 300.0
"""How long a file that was removed, or renamed to what the path does not mean, has to be silent to be left."""


class Tailing:
    """Takes looks. `positions`: how far files were read, by their numbers."""

    def __init__(
        self, connector: Files, schema: Struct, partition: str, base: Path, positions: dict[int, Position]
    ) -> None:
        self._connector = connector
        self._schema = schema
        self._partition = partition
        self._base = base
        self._positions = positions
        self._files: dict[int, GrowingFile] = {}
        self._next = max(positions, default=0) + 1
        self._skipped: set[str] = set()

    def look(self) -> Iterator[Piece]:
        """What has come: of files that are known those that were longest not written first, then of those that are
        new."""
        there = self._there()
        try:
            yield from self._go_on(there)
        except FileNotFoundError:
            return  # one was renamed since it was met: the next look meets it again
        grown: list[GrowingFile] = []
        for file in list(self._files.values()):
            if self._is_known(file):
                yield from self._settle(file, there, grown)
        grown.sort(key=lambda file: (file.written_ns, file.number))
        for file in self._in_turn(self._without_copies([*grown, *self._meet(there)])):
            yield from file.pieces()

    def close(self) -> None:
        """Give all open files back."""
        for file in self._files.values():
            file.close()

    def _there(self) -> dict[Identity, Found]:
        """What the path means now; a file of several names counts once, and packed ones do not grow."""
        there: dict[Identity, Found] = {}
        for name in find_files(self._connector.path, self._base):
            if packed(Path(name).suffix, self._connector.compression) != "none":
                if name not in self._skipped:
                    self._skipped.add(name)
                    _log.warning('"%s" is packed and is not read: packed files do not grow', name)
            elif (found := find(name, self._base)) is not None:
                there.setdefault(found.identity, found)
        return there

    def _go_on(self, there: Mapping[Identity, Found]) -> Iterator[Piece]:
        """Find again what was read before this run. FileNotFoundError where the next look has to go on with that."""
        for number, position in self._in_turn(list(self._positions.items())):
            found = there.get(position.identity) or moved(position.name, position.identity, self._base)
            if found is not None:
                file = self._open(found, position, number)
                if file.intact():
                    del self._positions[number]
                else:
                    self._forget(file)
        for number, position in list(self._positions.items()):
            copy = copy_of(position, there, self._read_ones(), self._base, at_once=False)
            if copy is not None:
                yield from self._go_on_in(self._open(*copy, number))
            else:
                self._say_lost(position)
                yield Piece(number, None)
            del self._positions[number]

    def _settle(self, file: GrowingFile, there: Mapping[Identity, Found], grown: list[GrowingFile]) -> Iterator[Piece]:
        """What has become of a file that is known."""
        found = there.get(file.identity)
        if found is None and not file.is_open:
            found = moved(file.path, file.identity, self._base)
        file.met(found)
        if found is None and not file.is_open:
            self._say_left(file.position)
            yield self._leave(file)
            return
        try:
            if not file.changed(found):
                if file.identity not in there and self._is_left(file):
                    yield self._leave(file)
            elif file.intact():
                grown.append(file)
            else:
                yield from self._cut(file, there, grown)
        except FileNotFoundError:
            file.look_again()  # one was renamed since it was met

    def _cut(self, file: GrowingFile, there: Mapping[Identity, Found], grown: list[GrowingFile]) -> Iterator[Piece]:
        """A file has lost what was read of it: go on in its copy; it is new itself."""
        position = file.position
        copy = copy_of(position, there, self._read_ones(), self._base, file.unfinished, at_once=True)
        if copy is None:
            self._say_lost(position)
            yield self._leave(file)
            return
        successor = self._open(*copy, file.number)
        _log.info('"%s" was cut: it is read to its end in the copy "%s"', position.name, successor.path)
        file.close()
        grown.append(successor)
        yield from self._go_on_in(successor)

    def _go_on_in(self, copy: GrowingFile) -> Iterator[Piece]:
        """A file is read on in a copy, which was known as a new one or not at all."""
        yield Piece(copy.number, copy.position)
        for file in list(self._files.values()):
            if file.identity == copy.identity and file is not copy:
                yield self._leave(file)

    def _meet(self, there: Mapping[Identity, Found]) -> list[GrowingFile]:
        """The files that were not known, those that were longest not written first."""
        known = {file.identity for file in self._files.values()}
        new: list[GrowingFile] = []
        for found in sorted(there.values(), key=lambda found: (found.written_ns, found.name)):
            if found.identity not in known:
                new.append(self._open(found, Position(found.name, found.identity, START, 0, None), self._next))
                self._next += 1
        return new

    def _without_copies(self, files: Sequence[GrowingFile]) -> list[GrowingFile]:
        """Those that can be read; a new one may have to wait until it is known to be no copy."""
        files = [file for file in files if self._is_known(file)]
        new = [file for file in files if file.unread]
        if not new:
            return files
        read = [file for file in self._files.values() if not file.unread]
        lookalikes = Lookalikes(new, read, self._in_turn)
        waiting = {file for file in self._in_turn(new) if lookalikes.holds(file)}
        return [file for file in files if file not in waiting]

    def _open(self, found: Found, position: Position, number: int) -> GrowingFile:
        """The file behind a position, which is known from now on. FileNotFoundError where it was renamed meanwhile."""
        connector = self._connector
        file = GrowingFile(number, connector, self._schema, self._partition, self._base, found.name, position)
        self._files[number] = file
        return file

    def _forget(self, file: GrowingFile) -> None:
        del self._files[file.number]
        file.close()

    def _leave(self, file: GrowingFile) -> Piece:
        last = file.finish()
        self._forget(file)
        return last

    def _is_known(self, file: GrowingFile) -> bool:
        return self._files.get(file.number) is file

    def _read_ones(self) -> set[Identity]:
        """The files of which something was read; of the others any may be a copy."""
        return {file.identity for file in self._files.values() if not file.unread}

    def _in_turn(self, each: Iterable[T]) -> Iterator[T]:
        """These, and never many files open."""
        for number, one in enumerate(each):
            yield one
            if number % _OPEN == 0:
                self._close_some()

    def _is_left(self, file: GrowingFile) -> bool:
        """Whether nothing more is to come of a file that the path does not mean any more."""
        silent = monotonic() - file.grown
        return silent > _MOVED_S or (silent > _REMOVED_S and file.removed)

    def _say_lost(self, position: Position) -> None:
        if position.mark.offset:
            where = f"what came behind its first {position.mark.offset} bytes and was not read by then is not there"
            _log.warning('"%s" was cut or taken away, and there is no copy of it: %s', position.name, where)

    def _say_left(self, position: Position) -> None:
        why = f"it was not among the {_OPEN} files that are kept open"
        what = f"what was written behind its first {position.mark.offset} bytes since it was last looked at is not read"
        _log.warning('"%s" has no name any more in its folder, and %s: %s', position.name, why, what)

    def _close_some(self) -> None:
        kept = sorted((file for file in self._files.values() if file.is_open), key=lambda file: file.grown)
        for file in kept[:-_OPEN]:
            file.close()


_PREFETCHED = 3
_SOON_S, _SELDOM_S = 0.02, 0.25


class TailSource:
    """Records of one partition without end. The position: of each file where it is on the disk, how far whole lines of
    it were used, and hashes of what lies there, by which it is known again.
    """

    replayable = True
    due: float | None = None

    def __init__(self, connector: Files, schema: Struct, partition: str, base: Path) -> None:
        self._connector = connector
        self._schema = schema
        self._partition = partition
        self._base = base
        self._positions: dict[int, Position] = {}
        self._closed = Event()
        self._mailbox = Mailbox[Piece](_PREFETCHED)

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Begin to look for files, or go on where the position says."""
        if isinstance(position, Mapping):
            saved = cast("list[Mapping[str, object]]", position["files"])
            self._positions = dict(enumerate(map(Position.restore, saved), 1))
        tailing = Tailing(self._connector, self._schema, self._partition, self._base, dict(self._positions))
        self._mailbox.feed("ghcm-tail", partial(self._watch, tailing), wake)

    def partitions(self) -> frozenset[str]:
        return frozenset({self._partition})

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        while (piece := self._mailbox.take()) is not None:
            for letter in piece.letters:
                letters(*letter)
            if piece.position is None:
                self._positions.pop(piece.file, None)
            else:
                self._positions[piece.file] = piece.position
            if piece.batch is not None:
                return piece.batch
        return None

    @property
    def ended(self) -> bool:
        return False

    def position(self) -> object:
        return {"files": [position.save() for position in self._positions.values()]}

    def close(self) -> None:
        self._closed.set()
        self._mailbox.close()

    def _watch(self, tailing: Tailing) -> None:
        """The thread: leave what comes in the mailbox."""
        pause = _SOON_S
        try:
            while not self._closed.is_set():
                pause = min(2 * pause, _SELDOM_S)
                for piece in tailing.look():
                    pause = _SOON_S
                    if not self._mailbox.put(piece):
                        return
                self._closed.wait(pause)
        finally:
            tailing.close()
