"""The state directory: what stands where in it, the lock that makes one daemon its owner, and that daemon's options."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ghcm.errors import GhcmError
from ghcm.runtime.settings import EMBEDDED, Settings

_LONGEST_SOCKET = 100  # the kernel's limit is 107 bytes


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """The paths in a state directory. Nothing is made before it is needed."""

    path: Path

    @property
    def store(self) -> Path:
        """Jobs and calls."""
        return self.path / "jobs.sqlite"

    @property
    def redis(self) -> Path:
        """The folder of the private Redis."""
        return self.path / "redis"

    @property
    def logs(self) -> Path:
        """What the processes have printed."""
        return self.path / "logs"

    @property
    def dead(self) -> Path:
        """Tables of dead letters."""
        return self.path / "dead"

    @property
    def lock(self) -> Path:
        """Held by the daemon that owns the directory."""
        return self.path / "lock"

    @property
    def control(self) -> Path:
        """The control socket; in the folder of temporary files where the path would be too long for a socket."""
        return short_socket(self.path / "control.sock")

    def bundle(self, job: str) -> Path:
        """The copy of a job's bundle that its processes use."""
        return self.path / "bundles" / f"{job}.ghcm"

    def version(self, job: str, version: int) -> Path:
        """The copy of the bundle of a later version of a job."""
        return self.path / "bundles" / f"{job}.v{version}.ghcm"

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


def short_socket(path: Path) -> Path:
    """The path, or one in a private folder for temporary files that stands for it, short enough for a socket."""
    absolute = path.resolve()
    if len(os.fsencode(absolute)) <= _LONGEST_SOCKET:
        return absolute
    name = hashlib.sha256(os.fsencode(absolute)).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"ghcm-{os.getuid()}", f"{name}.sock")


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


@dataclass(frozen=True, slots=True)
class Options:
    """Its state directory, its Redis ("embedded" or a URL), where HTTP listens (port 0: any free one), the seconds that
    a call without a deadline has, the deaths within a minute that are too many, and the seconds that calls have when
    their program is stopped. `standby`: start an engine before
    there is a job for it.
    """

    state: StateDirectory
    redis: str = EMBEDDED
    host: str = "127.0.0.1"
    port: int = 8000
    call_timeout: float = 3600.0
    restarts: int = 5
    standby: bool = False
    grace: float = 30.0


def options(settings: Settings, *, standby: bool = False) -> Options:
    """What the settings say to the daemon."""
    http, limits = settings.http, settings.limits
    state = StateDirectory(settings.state)
    address = (settings.redis, http.host, http.port)
    return Options(state, *address, settings.call_timeout, limits.restarts, standby, limits.grace)
