"""Where sockets of this machine lie: a path that the kernel takes, in a folder that is open to us alone."""

import hashlib
import os
import tempfile
from pathlib import Path

from ghcm.errors import GhcmError

_LIMIT = 107
"""Bytes that the kernel allows for the path of a socket."""


def short_socket(path: Path) -> Path:
    """The path, or one in a private folder for temporary files that stands for it: a socket's is short."""
    path = path.resolve()
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    others = (Path(folder, f"ghcm-{os.getuid()}", f"{name}.sock") for folder in (tempfile.gettempdir(), "/tmp"))
    return next(each for each in (path, *others) if len(os.fsencode(each)) <= _LIMIT)


def make_private(folder: Path) -> None:
    """Make the folder of a socket, open to us alone. GhcmError if it is another's."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.stat().st_uid != os.getuid():
        hint = "choose another --state, or set TMPDIR to a folder of your own."
        raise GhcmError(f'"{folder}" belongs to someone else', code="GHCM-753", hint=hint)
