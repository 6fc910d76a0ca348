"""Backups of a state directory, also of one that is in use, and bringing one back.

A backup is a state directory as a kill at that moment would have left it: while its files are copied, the processes of
the daemon stand still. What lies elsewhere is no part of it: sinks, snapshots that are kept in another place, a Redis
or Kafka of others. Logs and locks are left out.
"""

import os
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil

from ghcm.durable import sync
from ghcm.errors import GhcmError, sentence
from ghcm.places import make_private
from ghcm.runtime.daemon.locks import Lock
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import Store, open_store

_LEFT_OUT = (
    "lock",
    "logs",
    "runs",
    "earlier",
    "services",
    "owner",
    "leases",
    "jobs.sqlite",
    "jobs.sqlite-wal",
    "jobs.sqlite-shm",
)


def back_up(state: StateDirectory, target: Path) -> None:
    """Copy a state directory that no daemon uses to a folder that is not there yet. GhcmError if that cannot be."""
    if not state.store.exists():
        hint = "say which with --state."
        raise GhcmError(f'"{state.path}" is no state directory', code="GHCM-770", hint=hint)
    lock = Lock(state)
    try:
        with closing(open_store(state.store)) as store:
            back_up_running(state, store, target)
    finally:
        lock.release()


def back_up_running(state: StateDirectory, store: Store, target: Path) -> None:
    """As `back_up`, by the daemon itself; it and its processes stand still meanwhile."""
    if target.resolve().is_relative_to(state.path.resolve()):
        hint = "name a folder elsewhere, best on another disk."
        raise GhcmError(f'cannot back up to "{target}": it is in what is backed up', code="GHCM-770", hint=hint)
    # Nobody stands still in the middle of a change of the store, and none is made meanwhile.
    with _made(target, "back up to") as new, store.database.transaction(), _standing_still():
        with closing(sqlite3.connect(state.store)) as source, closing(sqlite3.connect(new / "jobs.sqlite")) as copy:
            source.backup(copy)
        _copy(state.path, new)


def restore(backup: Path, state: StateDirectory) -> None:
    """Make a state directory of a backup, where none is yet. GhcmError if that cannot be."""
    if not (backup / "jobs.sqlite").exists():
        hint = "name the folder that ghcm backup has made."
        raise GhcmError(f'"{backup}" is no backup', code="GHCM-770", hint=hint)
    with _made(state.path, "restore to") as new:
        _copy(backup, new)
        shutil.copy(backup / "jobs.sqlite", new)


def _copy(source: Path, target: Path) -> None:
    """All but what belongs to a daemon that runs."""

    def left_out(folder: str, names: list[str]) -> list[str]:
        top = Path(folder) == source
        return [name for name in names if (top and name in _LEFT_OUT) or Path(folder, name).is_socket()]

    shutil.copytree(source, target, ignore=left_out, dirs_exist_ok=True, symlinks=True)


@contextmanager
def _made(target: Path, doing: str) -> Generator[Path]:
    """A folder beside the target that becomes it, as a whole and to last, when it is filled. GhcmError where the target
    is used, or where that cannot be.
    """
    new: Path | None = None
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            hint = "name a folder that is not there yet, or is empty."
            raise GhcmError(f'cannot {doing} "{target}": there is something already', code="GHCM-770", hint=hint)
        target.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        make_private(new)
        yield new
        for path in (new, *new.rglob("*")):
            if not path.is_symlink():
                sync(path)
        new.rename(target)  # in the place of an empty folder, too
        sync(target.parent)
    except (OSError, shutil.Error, sqlite3.Error) as error:
        hint = "see that there is room, and who may write there."
        raise GhcmError(f'cannot {doing} "{target}"', code="GHCM-770", detail=sentence(error), hint=hint) from error
    finally:
        if new is not None:
            shutil.rmtree(new, ignore_errors=True)


@contextmanager
def _standing_still() -> Generator[None]:
    """All processes below this one stand still."""
    still: list[psutil.Process] = []
    try:
        # One that is being stopped may start another until it is.
        while fresh := [each for each in psutil.Process().children(recursive=True) if each not in still]:
            for process in fresh:
                _tell(process.pid, signal.SIGSTOP)
            still += fresh
        yield
    finally:
        for process in still:
            _tell(process.pid, signal.SIGCONT)


def _tell(process: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)
