"""Where sockets of this machine lie: a path that the kernel takes, in a folder that is open to us alone."""

import hashlib
import os
import tempfile
from pathlib import Path

_LIMIT = 107
"""Bytes that the kernel allows for the path of a socket."""


def short_socket(path: Path) -> Path:
    """The path, or one in a private folder for temporary files that stands for it: a socket's is short."""
    path = path.resolve()
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    others = (Path(folder, f"ghcm-{os.getuid()}", f"{name}.sock") for folder in (tempfile.gettempdir(), "/tmp"))
    return next(each for each in (path, *others) if len(os.fsencode(each)) <= _LIMIT)
