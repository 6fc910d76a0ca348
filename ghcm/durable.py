"""Brings to disk what has to outlive a loss of power: a rename lasts once its folder is on disk, too."""

import errno
import os
from pathlib import Path
from typing import IO

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says where there is no room."""


def flush(file: IO[bytes] | IO[str]) -> None:
    """Bring what was written to an open file to disk."""
    file.flush()
    os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Bring a file or directory to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
