"""The state directory: what stands where in it, and the lock that makes one daemon its owner."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.embedded import short_socket


class StateDirectory:
    """The paths in a state directory. Nothing is made before it is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = path / "jobs.sqlite"  # jobs and calls
        self.redis = path / "redis"  # the folder of the private Redis
        self.logs = path / "logs"  # what the processes have printed
        self.dead = path / "dead"  # tables of dead letters
        self.lock = path / "lock"  # held by the daemon that owns the directory

    @property
    def control(self) -> Path:
        """The control socket."""
        return short_socket(self.path / "control.sock")

    def bundle(self, job: str, version: int = 1) -> Path:
        """The copy of the bundle of a job, in one of its versions, that its processes use."""
        return self.path / "bundles" / (f"{job}.ghcm" if version == 1 else f"{job}.v{version}.ghcm")

    def base(self, job: str) -> Path:
        """The file that names the folder which the relative paths of a job start from."""
        return self.path / "bundles" / f"{job}.base"

    def beside(self, job: str) -> Path:
        """The file that says, by being there, that a job may append where others do."""
        return self.path / "bundles" / f"{job}.beside"

    def snapshots(self, job: str) -> Path:
        """The folder of a job's snapshots."""
        return self.path / "snapshots" / job


def copy_bundle(bundle: Path, copy: Path) -> None:
    """Copy a bundle, a file or a folder, to where nothing or an unfinished copy is."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    if bundle.is_dir():
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(bundle, copy)
    else:
        shutil.copyfile(bundle, copy)


class Lock:
    """The ownership of a state directory. The kernel gives it back when the owner ends, however it ends."""

    def __init__(self, state: StateDirectory) -> None:
        state.path.mkdir(parents=True, exist_ok=True)
        self._file = os.open(state.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(self._file, 32).decode("ascii", "replace").strip()
            os.close(self._file)
            raise GhcmError(
                f'another daemon (process {owner or "unknown"}) owns the state directory "{state.path}"',
                code="GHCM-752",
                hint="use the one that runs, end it, or give this one a directory of its own with --state.",
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give the directory back."""
        os.close(self._file)
