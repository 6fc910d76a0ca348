"""Where the rest of a file is that was cut: `copytruncate` copies a log and cuts it, so that what was not read yet, or
all that was, stands in a file of another name.
"""

import os
from collections.abc import Container, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
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


def still_bears(found: Found, mark: Mark, base: Path) -> bool:
    """Whether what was met holds what the mark says."""
    with _opened(found, base) as file:
        return file is not None and bears(file, mark)


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
    behind the position; of a file without a whole line it is all that its copy is known by.
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
                if file is not None and begins_like(file, position.mark):
                    return found, replace(position, identity=found.identity, mark=Mark.at(file, found.size))
    return None


def _holds(found: Found, mark: Mark, unfinished: bytes, base: Path) -> bool:
    with _opened(found, base) as file:
        if file is None or not bears(file, mark):
            return False
        return mark.offset > 0 or os.pread(file, len(unfinished), 0) == unfinished


class Lookalikes:
    """New files that hold nothing but what a known one begins with: each waits until it differs, or has not changed for
    a while, or the known one is cut, of which it then is the copy.
    """

    def __init__(self, base: Path) -> None:
        self._base = base
        self._held: dict[Identity, tuple[int, float]] = {}

    def holds(self, found: Found, files: list[GrowingFile]) -> bool:
        """Whether a new file has to wait."""
        if not found.size or not self._like_one_of(found, files):
            self._held.pop(found.identity, None)
            return False
        size, since = self._held.get(found.identity, (-1, 0.0))
        if size != found.size:
            self._held[found.identity] = found.size, monotonic()
            return True
        return monotonic() - since < _COPY_S

    def _like_one_of(self, found: Found, files: list[GrowingFile]) -> bool:
        with _opened(found, self._base) as file:
            if file is None:
                return True  # it is gone, or will be met again
            first = os.pread(file, SIDE, 0)
            return any(_like(file, found.size, each) for each in files if not each.moved and each.begins(first))


def _like(file: int, size: int, known: GrowingFile) -> bool:
    """Whether the file holds what the known one begins with, or that cannot be said since it was cut meanwhile."""
    try:
        return not known.intact() or (os.fstat(known.file).st_size >= size and same_bytes(file, known.file, size))
    except FileNotFoundError:
        return True


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
def _opened(found: Found, base: Path) -> Generator[int | None]:
    """The file that was met, None where its name is another's by now."""
    try:
        file = open_known(found.name, found.identity, base)
    except FileNotFoundError:
        yield None
        return
    try:
        yield file
    finally:
        os.close(file)
