"""Bundle files into folders: everything in one is checked before the first byte is written.

What a bundle means is the business of `ghcm.runtime.bundle`.
"""

import fcntl
import io
import os
import stat
import tempfile
import time
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from ghcm.errors import GhcmError
from ghcm.places import make_private
from ghcm.seal import read_seal
from ghcm.signing import TrustedKeys

MOST_FILES = 10_000
MOST_BYTES = 256 * 2**20
"""Of a bundle file, and of all that is in one: it holds code, and no data."""

UNUSED_SECONDS = 30 * 24 * 3600.0
"""How long a bundle that nobody opens stays unpacked."""

_LONGEST_NAME = 255
_ENCRYPTED = 1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def unpacked(path: Path, cache: Path | None, trusted: TrustedKeys | None) -> tuple[Path, str]:
    """The folder in `cache` (default: a private folder of the user) that holds what is in this bundle file, unpacked
    once; and the digest of its content. GhcmError if the file is damaged, is larger than a bundle may be, has names
    that no bundle has or is not signed by who is trusted, if that is asked: then nothing in it is looked at.
    """
    data = _read(path)
    try:
        sealed = read_seal(data)
        content = sealed.content
        if trusted is not None:
            trusted.require(path, sealed)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = _checked(archive.infolist())
            folder = (cache or _default_cache()) / content
            if os.path.exists(folder):  # in a cache of another's it would be another's code
                make_private(folder.parent)
            if not _whole(folder, entries):
                _put(folder, archive, entries)
            with suppress(OSError):  # a cache that may only be read
                os.utime(folder)
    except (GhcmError, MemoryError):
        raise
    except ValueError as error:
        raise _no_bundle(path, str(error)) from error
    except Exception as error:  # whatever the library trips over, the file is not as a zip file should be
        raise _no_bundle(path, f"it is damaged ({str(error) or type(error).__name__})") from error
    return folder, content


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise GhcmError(f'cannot open bundle "{path}": {error.strerror}', code="GHCM-610") from error
    if len(data) > MOST_BYTES:
        raise _no_bundle(path, f"it has more than {MOST_BYTES:,} bytes")
    return data


def _checked(entries: Sequence[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """The files among the entries of a zip file. ValueError if they cannot be those of a bundle."""
    if len(entries) > MOST_FILES:
        raise ValueError(f"it holds {len(entries):,} files, and a bundle at most {MOST_FILES:,}")
    if (total := sum(entry.file_size for entry in entries)) > MOST_BYTES:
        raise ValueError(f"it holds {total:,} bytes, and a bundle at most {MOST_BYTES:,}")
    names: dict[str, zipfile.ZipInfo] = {}
    for entry in entries:
        if problem := _problem(entry):
            raise ValueError(f"it holds {entry.orig_filename!r}, {problem}")
        if names.setdefault(entry.filename.rstrip("/"), entry) is not entry:
            raise ValueError(f"it holds {entry.orig_filename!r} twice")
    files = [entry for entry in entries if not entry.is_dir()]
    folders = {str(parent) for entry in entries for parent in PurePosixPath(entry.filename).parents}
    if both := folders & {entry.filename for entry in files}:
        raise ValueError(f"it holds {min(both)!r} as a file and as a folder")
    return files


def _problem(entry: zipfile.ZipInfo) -> str:
    """Why no bundle has such an entry; empty where it may."""
    parts = entry.filename.removesuffix("/").split("/")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if entry.orig_filename != entry.filename or "\\" in entry.filename or not entry.filename.isprintable():
        return "whose name has signs that names of files do not have"
    if any(part in ("", ".", "..") or len(part.encode()) > _LONGEST_NAME for part in parts):
        return "whose name leads out of its folder or is no path"
    if kind not in (0, stat.S_IFDIR if entry.is_dir() else stat.S_IFREG):
        return "which is no plain file"
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS:
        return "which is encrypted or packed in a way that bundles are not"
    return ""


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry, never more than it says that it has. ValueError if it has others."""
    with archive.open(entry) as file:
        data = file.read(entry.file_size) + file.read(1)  # what is behind the end is where checksums are compared
    if len(data) != entry.file_size:
        raise ValueError(f"it is damaged: {entry.filename!r} is cut off")
    return data


def _whole(folder: Path, entries: Sequence[zipfile.ZipInfo]) -> bool:
    """Whether it was unpacked there, and no loss of power has emptied its files since."""
    try:
        return folder.is_dir() and all((folder / each.filename).stat().st_size == each.file_size for each in entries)
    except OSError:
        return False


def _put(folder: Path, archive: zipfile.ZipFile, entries: Sequence[zipfile.ZipInfo]) -> None:
    """Unpack into the folder, unless another process has just done so. It appears as a whole."""
    cache = folder.parent
    try:
        make_private(cache)
        with (cache / ".lock").open("a") as lock, tempfile.TemporaryDirectory(dir=cache, prefix=".unpacking-") as fresh:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _whole(folder, entries):
                return
            Path(fresh, "whole").mkdir()
            for entry in entries:
                file = Path(fresh, "whole", entry.filename)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(_content(archive, entry))
            if folder.exists():
                folder.rename(Path(fresh, "spoilt"))
            Path(fresh, "whole").rename(folder)
            for old in _unused(cache):
                old.rename(Path(fresh, old.name))
    except OSError as error:
        raise GhcmError(
            f'bundles cannot be unpacked into "{cache}": {(error.strerror or str(error)).lower()}',
            code="GHCM-616",
            hint="set XDG_CACHE_HOME to a folder that this user may write and that has room.",
        ) from error


def _unused(cache: Path) -> list[Path]:
    """What has been opened by nobody for long, and what processes that were killed have left."""
    before = time.time() - UNUSED_SECONDS
    return [each for each in cache.iterdir() if each.is_dir() and each.stat().st_mtime < before]


def _no_bundle(path: Path, why: str) -> GhcmError:
    hint = "build it again with ghcm build, or copy it again from where it is whole."
    return GhcmError(f'"{path}" is no bundle: {why}', code="GHCM-610", hint=hint)


def _default_cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return Path(home) / "ghcm" / "bundles" if home else Path.home() / ".cache" / "ghcm" / "bundles"
