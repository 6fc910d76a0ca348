"""Places: folders and files of this machine, and those in object stores, which programs say as URLs.

Both are asked in the same way. An object is there as a whole or not at all, has one name, and is locked by nobody; the
few differences that this makes stand here.
"""

from __future__ import annotations

import glob
import hashlib
import io
import os
import secrets
import shutil
import struct
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

from ghcm.durable import flush, sync
from ghcm.errors import GhcmError
from ghcm.stores import SCHEMES, asking, delta_client, file_system, scheme_of

_BUFFER = 1 << 20
_COPIED = 8 << 20


class Stat(NamedTuple):
    """What is asked of `Path.stat`."""

    st_size: int
    st_mtime: float


@dataclass(frozen=True, slots=True)
class Remote:
    """A place in a store, asked as a `Path` is; it raises what `understood` gives."""

    url: str

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> Remote:
        return Remote(f"{self.url}/{name}")

    @property
    def name(self) -> str:
        """Its last part."""
        return self.url.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The ending of its name, with the dot."""
        return os.path.splitext(self.name)[1]

    @property
    def parent(self) -> Remote:
        """What it is in."""
        return Remote(self.url.rpartition("/")[0])

    def relative_to(self, folder: Remote) -> str:
        """Its name as seen from a folder that it is below of."""
        return self.url.removeprefix(f"{folder.url}/")

    def exists(self) -> bool:
        """Whether there is such an object or folder."""
        return self._found() is not None

    def is_dir(self) -> bool:
        """Whether there are objects below it."""
        found = self._found()
        return found is not None and not found.is_file

    def stat(self) -> Stat:
        """The size of an object, and when it was put there; of a folder, when the last of its objects was."""
        found = self._found()
        if found is None:
            raise FileNotFoundError(2, "there is no such object", self.url)
        times = [found.mtime_ns] if found.is_file else [each.mtime_ns for each in self._infos(deep=True)]
        return Stat(found.size or 0, max((time for time in times if time is not None), default=0) / 1e9)

    def mkdir(self, *, parents: bool, exist_ok: bool) -> None:
        """Nothing: a folder is there with its first object."""

    def iterdir(self) -> list[Remote]:
        """What is in it, by name; nothing where it is not there."""
        return [self / name for name in sorted(name for name, _ in self._listed())]

    def glob(self, pattern: str) -> list[Remote]:
        """What is in it under a name that matches."""
        return [each for each in self.iterdir() if fnmatchcase(each.name, pattern)]

    def read_bytes(self) -> bytes:
        """The content of an object."""
        with self.open() as file:
            return file.read()

    def read_text(self, encoding: str) -> str:
        """The content as text."""
        return self.read_bytes().decode(encoding)

    def write_bytes(self, data: bytes) -> None:
        """Put an object of this content there."""
        self.write([data])

    def write(self, parts: Iterable[bytes]) -> None:
        """Put an object there, or in the place of the one that is."""
        system, path = file_system(self.url)
        with asking(self.url), system.open_output_stream(path, compression=None) as stream:
            for part in parts:
                stream.write(part)

    def put(self, source: Path) -> None:
        """Bring a file there."""
        with source.open("rb") as file:
            self.write(iter(lambda: file.read(_COPIED), b""))

    def copy(self, target: Remote) -> None:
        """Have the store copy the object to another name, in the place of what is there."""
        system, path = file_system(self.url)
        with asking(self.url):
            system.copy_file(path, file_system(target.url)[1])

    def raw(self) -> Any:
        """An object as a file of Arrow; what its reading raises is still to be `understood`."""
        system, path = file_system(self.url)
        with asking(self.url):
            return system.open_input_file(path)

    def open(self) -> BinaryIO:
        """The bytes of an object, from anywhere, asked for in large pieces."""
        return cast("BinaryIO", io.BufferedReader(_Object(self.url, self.raw()), _BUFFER))

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Remove an object."""
        system, path = file_system(self.url)
        with suppress(*([FileNotFoundError] if missing_ok else [])), asking(self.url):
            system.delete_file(path)

    def remove(self) -> None:
        """Remove a folder with all that is in it, if it is there."""
        system, path = file_system(self.url)
        with suppress(FileNotFoundError), asking(self.url):
            system.delete_dir(path)

    def files(self) -> list[str]:
        """The URLs of the objects that this means as the path of a source: itself, those that stand in it and are not
        hidden (`.` or `_` before the name), or those that match it; in code point order.
        """
        parts = self.url.split("/")
        if not glob.has_magic("/".join(parts[3:])):
            found = self._found()
            if found is None or found.is_file:
                return [] if found is None else [self.url]
            return sorted(f"{self.url}/{name}" for name, file in self._listed() if file and name[0] not in "._")
        fixed = list(takewhile(lambda part: not glob.has_magic(part), parts[3:]))
        folder, rest = Remote("/".join([*parts[:3], *fixed])), parts[3 + len(fixed) :]
        there = folder._listed(deep=len(rest) > 1 or rest == ["**"])
        return sorted(f"{folder.url}/{name}" for name, file in there if file and _matches(name.split("/"), rest))

    def _listed(self, *, deep: bool = False) -> list[tuple[str, bool]]:
        """The names of what is in it, or anywhere below it, and whether that is an object."""
        _, path = file_system(self.url)
        return [(each.path.removeprefix(f"{path}/"), each.is_file) for each in self._infos(deep=deep)]

    def _infos(self, *, deep: bool) -> Any:
        from pyarrow import fs

        system, path = file_system(self.url)
        with asking(self.url):
            return system.get_file_info(fs.FileSelector(path, recursive=deep, allow_not_found=True))

    def _found(self) -> Any:
        from pyarrow import fs

        system, path = file_system(self.url)
        with asking(self.url):
            found = system.get_file_info(path)
        return None if found.type == fs.FileType.NotFound else found


Place: TypeAlias = Path | Remote
"""Where a file or folder is."""


def place(base: Path, path: str) -> Place:
    """What a path of a program means: a URL itself, any other as seen from a folder."""
    return Remote(path.rstrip("/")) if scheme_of(path) in SCHEMES else base / path


def readable(file: Place) -> Any:
    """What Arrow reads: a file of this machine by its path, an object as a file of its own."""
    return file if isinstance(file, Path) else file.raw()


def delta_place(table: Place) -> dict[str, Any]:
    """The arguments by which `deltalake` finds a table."""
    return {"table_uri": str(table)} if isinstance(table, Path) else delta_client(table.url)


def names_in(folder: Place) -> list[str]:
    """The names of what is in a folder; none where it is not there."""
    if isinstance(folder, Remote):
        return [each.name for each in folder.iterdir()]
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []


def write_whole(file: Place, parts: Iterable[bytes]) -> None:
    """Write a file that is there as a whole or not at all; on this machine it lasts when its folder is synced."""
    if isinstance(file, Remote):
        file.write(parts)
        return
    new = file.with_suffix(".new")
    with new.open("wb") as opened:
        for part in parts:
            opened.write(part)
        flush(opened)
    new.rename(file)


def remove(folder: Place) -> None:
    """Remove a folder with all that is in it; on this machine as far as that goes."""
    if isinstance(folder, Path):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        folder.remove()


def beside(folder: Remote) -> Path:
    """A folder of this machine, open to this user alone, for what a store cannot have: locks, and files that are not
    whole yet.
    """
    path = _private() / hashlib.sha256(folder.url.encode()).hexdigest()[:32]
    path.mkdir(exist_ok=True)
    return path


def machine() -> int:
    """A number of this machine and user that no other has, for as long as the folder for temporary files is kept."""
    said = _private() / "machine"
    with suppress(FileExistsError):
        said.symlink_to(f"{secrets.randbits(63)}")  # there with what it says, or not at all
    return int(os.readlink(said))


def _private() -> Path:
    found = Path(tempfile.gettempdir(), f"ghcm-{os.getuid()}")
    make_private(found)
    return found


_RIGHTS = ((0x01, 7), (0x04, 0), (0x20, 0))
_FOR_OWNER = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", who, may, 2**32 - 1) for who, may in _RIGHTS)
"""A list of rights as Linux keeps it, version 2: the owner may do everything, the group and others nothing."""


def make_private(folder: Path) -> None:
    """Make a folder that is open to us alone, or what is there, and so is what any process makes below it from now on,
    where the file system knows default lists of rights. GhcmError if it is another's, or leads there by a link of
    another's.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if {found.st_uid, folder.lstat().st_uid} != {os.getuid()}:
        hint = "choose another --state, or set TMPDIR to a folder of your own."
        raise GhcmError(f'"{folder}" belongs to someone else', code="GHCM-753", hint=hint)
    if found.st_mode & 0o077:
        folder.chmod(0o700)
    with suppress(OSError):  # else the folder alone keeps others out
        # The umask of engines is that of the user, for sinks have it; Java and Redis ask nobody for rights.
        os.setxattr(folder, "system.posix_acl_default", _FOR_OWNER)


def write_private(file: Path, data: bytes) -> None:
    """Write a file of this machine that nobody else may read; it is there as a whole or as before, and lasts."""
    handle, new = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(data)
            flush(opened)
        os.replace(new, file)
    except OSError:
        Path(new).unlink()
        raise
    sync(file.parent)


def private_opener(path: str, flags: int) -> int:
    """What `open` opens a file with that nobody else may read, once it is made."""
    return os.open(path, flags, 0o600)


def _matches(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the parts of a name are those of a pattern, as `glob` means it."""
    if not parts:
        return not names
    if parts[0] == "**":
        seen = len(list(takewhile(lambda name: name[0] != ".", names)))
        return any(_matches(names[skipped:], parts[1:]) for skipped in range(seen + 1))
    if not names or (names[0][0] == "." and parts[0][0] != "."):
        return False
    return fnmatchcase(names[0], parts[0]) and _matches(names[1:], parts[1:])


class _Object(io.RawIOBase):
    """An object that is read; what goes wrong is `understood`."""

    def __init__(self, url: str, file: Any) -> None:
        self._url = url
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with asking(self._url):
            return int(self._file.readinto(buffer))

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
