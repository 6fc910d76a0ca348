"""Where the rest of a file is that was cut: `copytruncate` copies a log and cuts it, so that what was not read yet, or
all that was, stands in a file of another name.
"""

import os
from bisect import bisect_left
from collections.abc import Callable, Container, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from operator import itemgetter
from pathlib import Path
from time import monotonic

from ghcm.formats.files import GONE, unreadable
from ghcm.runtime.sources.growing_file import (
    SIDE,
    Found,
    GrowingFile,
    Identity,
    Mark,
    Position,
    bears,
    begins_like,
    find,
    open_known,
    same_bytes,
)

_COPY_S = 5.0
"""How long a file that begins like another one, and does not change, may be a copy of it before that is cut."""
_BEHIND = 1 << 20
"""Bytes of a file that may be read between the moments at which it is copied and cut."""


def moved(name: str, identity: Identity, base: Path) -> Found | None:
    """A file under whatever name in the folder where it had this one."""
    return next((found for found in _neighbours(name, base) if found.identity == identity), None)


def copy_of(
    position: Position,
    there: Mapping[Identity, Found],
    known: Container[Identity],
    base: Path,
    unfinished: bytes = b"",
    *,
    at_once: bool,
) -> tuple[Found, Position] | None:
    """A file that is not known and holds what was read up to a position, and how far it was read by that. `at_once`:
    the file was cut a moment ago; its copy may then hold a little less than what was read of it. `unfinished` was read
    behind the position; of a file without a whole line it is all that its copy is known by. FileNotFoundError where
    one that may be it was renamed or removed meanwhile.
    """
    if not position.mark.offset and not unfinished:
        return None
    near = {found.identity: found for found in _neighbours(position.name, base)} | dict(there)
    unknown = [found for identity, found in near.items() if identity not in known and identity != position.identity]
    for found in unknown:
        if found.size >= position.mark.offset and _holds(found, position.mark, unfinished, base):
            return found, replace(position, identity=found.identity)
    for found in unknown if at_once else ():
        if 0 < position.mark.offset - found.size <= _BEHIND:
            with _opened(found, base) as file:
                if begins_like(file, position.mark):
                    return found, replace(position, identity=found.identity, mark=Mark.at(file, found.size))
    return None


def _holds(found: Found, mark: Mark, unfinished: bytes, base: Path) -> bool:
    with _opened(found, base) as file:
        return bears(file, mark) and (mark.offset > 0 or os.pread(file, len(unfinished), 0) == unfinished)


class Lookalikes:
    """New files, of which nothing was read, that hold only what another file begins with: each waits until it differs,
    or has not changed for a while, or the other is cut, of which it then is the copy.

    What new files hold is asked for twice: what was copied into one before the first time stands in the other at the
    second. `in_turn` gives files back one by one, so that never many of them are open.
    """

    def __init__(
        self,
        new: Sequence[GrowingFile],
        read: Sequence[GrowingFile],
        in_turn: Callable[[Sequence[GrowingFile]], Iterator[GrowingFile]],
    ) -> None:
        self._begins = {file: _begin(file) for file in in_turn(new)}
        self._read = [file for file in read if not file.moved]
        self._new = sorted(((_begin(file)[1], file) for file in in_turn(new)), key=_BYTES)
        self._ready: set[GrowingFile] = set()

    def holds(self, file: GrowingFile) -> bool:
        """Whether a new file has to wait. Ask for one after the other, in the order in which they would be read."""
        size, first = self._begins[file]
        if not first:
            return True
        try:
            held = self._is_like_another(file, size, first) and not _is_still(file, size)
        except FileNotFoundError:
            held = True  # one was renamed meanwhile
        if held:
            file.look_again()
        else:
            self._ready.add(file)
        return held

    def _is_like_another(self, file: GrowingFile, size: int, first: bytes) -> bool:
        """Of new ones that hold the same, the one that comes first is read."""
        if any(_like(file, size, each) for each in self._read if each.begins(first)):
            return True
        at = bisect_left(self._new, first, key=_BYTES)
        near = takewhile(lambda each: each[0].startswith(first), (self._new[i] for i in range(at, len(self._new))))
        return any(_like(file, size, each, larger=each not in self._ready) for _, each in near if each is not file)


_BYTES: Callable[[tuple[bytes, GrowingFile]], bytes] = itemgetter(0)


def _begin(file: GrowingFile) -> tuple[int, bytes]:
    """The size of a file and what it begins with; nothing where it was renamed meanwhile."""
    try:
        size = os.fstat(file.file).st_size
        return size, os.pread(file.file, min(size, SIDE), 0)
    except FileNotFoundError:
        file.look_again()
        return 0, b""


def _is_still(file: GrowingFile, size: int) -> bool:
    """Whether a file has been as large as that for so long that it is no copy of a file that is about to be cut."""
    if file.held[0] != size:
        file.held = size, monotonic()
    return monotonic() - file.held[1] >= _COPY_S


def _like(file: GrowingFile, size: int, known: GrowingFile, *, larger: bool = False) -> bool:
    """Whether the known file is at least that large, or larger, and begins with what the file holds, or that cannot be
    said since it was cut meanwhile.
    """
    if os.fstat(known.file).st_size >= size + larger and same_bytes(file.file, known.file, size):
        return True
    return not known.intact()  # behind the comparison, during which it may have been cut


def _neighbours(name: str, base: Path) -> Iterator[Found]:
    """The files of the folder in which a name stands, links followed."""
    folder = Path(os.path.realpath(base / name)).parent
    root = Path(os.path.realpath(base))
    inside = folder.relative_to(root) if folder.is_relative_to(root) else folder
    try:
        names = sorted(os.listdir(folder))
    except GONE:
        return
    except OSError as error:
        raise unreadable(str(inside), error) from error
    for each in names:
        found = find(str(inside / each), base) if os.path.isfile(folder / each) else None
        if found is not None:
            yield found


@contextmanager
def _opened(found: Found, base: Path) -> Generator[int]:
    """The file that was met. FileNotFoundError where its name is another's by now."""
    file = open_known(found.name, found.identity, base)
    try:
        yield file
    finally:
        os.close(file)
