"""Files, by paths or URLs: which ones a path means, their bytes, decompressed, and why they cannot be read."""

import errno
import glob
import gzip
import io
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

from ghcm.errors import GhcmError, suggest_file
from ghcm.places import Place, Remote, place
from ghcm.stores import hint_for, scheme_of, understood

_BY_ENDING = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_SKIPPED_AT_ONCE = 1 << 20

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""What some programs put before UTF-8; it is no part of the text."""

GONE = (FileNotFoundError, NotADirectoryError)
"""What asking for a name raises that is no file's."""
UNREADABLE = (OSError, EOFError, zlib.error)
"""What opening and reading a file may raise."""


def find_files(path: str, base: Path) -> list[str]:
    """The files that a path, directory or glob means, by name in code point order, relative to `base` where the path
    is. Of a directory those that stand in it and are not hidden (`.` or `_` before the name). GhcmError where they may
    not be asked for.
    """
    try:
        if isinstance(remote := place(base, path), Remote):
            return remote.files()
        if (base / path).is_dir():
            names = [os.path.join(path, name) for name in os.listdir(base / path) if name[0] not in "._"]
        else:
            names = glob.glob(path, root_dir=base, recursive=True) if glob.has_magic(path) else [path]
        return sorted(name for name in names if (base / name).is_file())
    except OSError as error:
        raise unreadable(path, error) from error


def nothing_to_read(path: str, base: Path) -> GhcmError:
    """What a user reads where a path means no file."""
    if isinstance(place(base, path), Remote):
        hint = "see that bucket and name are right; files in folders below are found by a glob such as folder/**/*."
        return GhcmError(f'cannot read files "{path}": no object matches', code="GHCM-735", hint=hint)
    what, hint = "no file matches", "see that the path is right; --directory names another folder to start from."
    if (base / path).is_dir():
        what, hint = (
            "it is a folder without files",
            "files in folders below it are found by a glob such as folder/**/*.",
        )
    elif (base / path).exists():
        what, hint = "it is no file", "what comes through a pipe is read from a socket, or put into a file first."
    elif near := _near(base / path):
        hint = f'did you mean "{os.path.join(os.path.dirname(path), near)}"?'
    detail = f'Paths start from "{os.path.normpath(base)}".'
    return GhcmError(f'cannot read files "{path}": {what}', code="GHCM-735", detail=detail, hint=hint)


def _near(path: Path) -> str:
    """The file beside a path that is not there whose name is the most like it; empty if none is."""
    return suggest_file(path.name, os.listdir(path.parent)) if path.parent.is_dir() else ""


def packed(suffix: str, compression: str) -> str:
    """How a file with this ending is packed: "gzip", "zstd" or "none". `compression` as in `Files`."""
    return _BY_ENDING.get(suffix, "none") if compression == "ending" else compression


def open_file(path: Place, compression: str, offset: int) -> BinaryIO:
    """The bytes of a file behind the first `offset` (decompressed). `compression` as in `Files`. OSError, EOFError or
    `zlib.error` where it cannot be read, from here or from what is given.
    """
    kind = packed(path.suffix, compression)
    if kind == "zstd":
        return _zstd(path, offset)
    found = path.open() if isinstance(path, Remote) else path
    plain = found.open("rb", buffering=0) if isinstance(found, Path) and kind != "gzip" else found
    stream = cast("BinaryIO", gzip.open(found) if kind == "gzip" else plain)  # noqa: SIM115 - the caller closes
    if offset:
        stream.seek(offset, os.SEEK_SET)
    return stream


def bare(line: bytes) -> str:
    """The text of a line without its end; what is no UTF-8 is replaced."""
    return line.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")


def open_lines(path: Place, compression: str) -> BinaryIO:
    """The bytes of a file behind its byte order mark, if it has one, also line by line; as `open_file`."""
    stream = io.BufferedReader(cast("io.RawIOBase", open_file(path, compression, 0)))
    if stream.peek(3).startswith(BYTE_ORDER_MARK):
        stream.read(len(BYTE_ORDER_MARK))
    return cast("BinaryIO", stream)


def _zstd(path: Place, offset: int) -> BinaryIO:
    import pyarrow as pa  # a tenth of a second that most programs never need

    found: Any = path.open() if isinstance(path, Remote) else str(path)
    stream = cast("BinaryIO", pa.input_stream(found, compression="zstd"))
    while offset > 0 and (skipped := len(stream.read(min(offset, _SKIPPED_AT_ONCE)))):
        offset -= skipped
    return stream


def unreadable(file: str, error: Exception) -> GhcmError:
    """What a user reads where a file cannot be read."""
    remote = scheme_of(file) is not None
    error = understood(error, file) if remote else error
    reason = error.strerror or str(error).partition(" (b'")[0] if isinstance(error, OSError) else str(error)
    number = error.errno if isinstance(error, OSError) else None
    hint = "see that it is whole, and that it is packed as its ending says."
    if remote and isinstance(error, FileNotFoundError | PermissionError | ConnectionError):
        hint = hint_for(error, file)
    elif number == errno.ENOENT:
        hint = "it has gone since the run began: see what moves or removes it."
    elif number in (errno.EACCES, errno.EPERM):
        hint = "let the user of this process read it."
    return GhcmError(f'cannot read "{file}": {reason}', code="GHCM-735", hint=hint)
