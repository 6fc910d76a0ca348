"""Backups of a state directory, also of one that is in use, and bringing one back.

A backup is a state directory as a kill at that moment would have left it: while its files are copied, the processes of
the daemon stand still. What lies elsewhere is no part of it: sinks, snapshots that are kept in another place, a Redis
or Kafka of others. Logs and locks are left out.
"""

import os
import shutil
import signal
import sqlite3
from collections.abc import Generator, Sequence
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
    _refuse_used(target, "back up to")
    new = target.with_name(f"{target.name}.new")
    try:
        shutil.rmtree(new, ignore_errors=True)
        make_private(new)
        # Nobody stands still in the middle of a change of the store, and none is made meanwhile.
        with store.database.transaction(), _standing_still(psutil.Process().children(recursive=True)):
            with closing(sqlite3.connect(state.store)) as source, closing(sqlite3.connect(new / "jobs.sqlite")) as copy:
                source.backup(copy)
            _copy(state.path, new)
        _bring(new, target)
    except (OSError, shutil.Error, sqlite3.Error) as error:
        shutil.rmtree(new, ignore_errors=True)
        raise _not_copied("back up to", target, error) from error


def restore(backup: Path, state: StateDirectory) -> None:
    """Make a state directory of a backup, where none is yet. GhcmError if that cannot be."""
    if not (backup / "jobs.sqlite").exists():
        hint = "name the folder that ghcm backup has made."
        raise GhcmError(f'"{backup}" is no backup', code="GHCM-770", hint=hint)
    _refuse_used(state.path, "restore to")
    new = state.path.with_name(f"{state.path.name}.new")
    try:
        shutil.rmtree(new, ignore_errors=True)
        make_private(new)
        _copy(backup, new)
        shutil.copy(backup / "jobs.sqlite", new)
        _bring(new, state.path)
    except (OSError, shutil.Error) as error:
        shutil.rmtree(new, ignore_errors=True)
        raise _not_copied("restore to", state.path, error) from error


def _copy(source: Path, target: Path) -> None:
    """All but what belongs to a daemon that runs."""

    def left_out(folder: str, names: list[str]) -> list[str]:
        top = Path(folder) == source
        return [name for name in names if (top and name in _LEFT_OUT) or Path(folder, name).is_socket()]

    shutil.copytree(source, target, ignore=left_out, dirs_exist_ok=True, symlinks=True)


def _bring(new: Path, target: Path) -> None:
    """Have a folder last, as a whole, under its name."""
    for path in (new, *new.rglob("*")):
        if not path.is_symlink():
            sync(path)
    new.rename(target)
    sync(target.parent)


@contextmanager
def _standing_still(processes: Sequence[psutil.Process]) -> Generator[None]:
    try:
        for process in processes:
            _tell(process.pid, signal.SIGSTOP)
        yield
    finally:
        for process in processes:
            _tell(process.pid, signal.SIGCONT)


def _tell(process: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


def _refuse_used(folder: Path, doing: str) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = "name a folder that is not there yet, or is empty."
        raise GhcmError(f'cannot {doing} "{folder}": there is something already', code="GHCM-770", hint=hint)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists():
        folder.rmdir()


def _not_copied(doing: str, folder: Path, error: Exception) -> GhcmError:
    hint = "see that there is room, and who may write there."
    return GhcmError(f'cannot {doing} "{folder}"', code="GHCM-770", detail=sentence(error), hint=hint)
