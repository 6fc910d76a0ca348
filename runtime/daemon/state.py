"""The state directory: what stands where in it."""

import json
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from ghcm.durable import sync
from ghcm.errors import GhcmError, sentence
from ghcm.places import Place, Remote, write_whole
from ghcm.runtime.sockets import short_socket
from ghcm.tables.versions import explained


class StateDirectory:
    """The paths in a state directory. Nothing is made before it is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = path / "jobs.sqlite"  # jobs and calls
        self.redis = path / "redis"  # the folder of the private Redis
        self.logs = path / "logs"  # what the processes have printed
        self.dead = path / "dead"  # tables of dead letters
        self.audit = path / "audit.jsonl"  # who called, cancelled, submitted and stopped
        self.incoming = path / "incoming"  # bundles that are being sent over HTTP
        self.leases = path / "leases"  # on the programs, where several daemons share one Redis
        self.session_key = path / "session.key"  # signs the cookies of those who have signed in
        self.sessions_ended = path / "session.ended"  # which of these hold no more, since those have signed out
        self.lock = path / "lock"  # held by the daemon that owns the directory
        self.complete = path / "complete"  # there once a run has read and written everything

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

    def folder_of(self, job: str) -> Path:
        """The folder that the relative paths of a job start from. GhcmError if that cannot be told."""
        try:
            return Path(self.base(job).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise GhcmError(
                f'it is not known in which folder job "{job}" runs',
                code="GHCM-735",
                detail=f'"{self.base(job)}" cannot be read: {sentence(error)}',
                hint="submit its program again.",
            ) from error

    def beside(self, job: str) -> Path:
        """The file that says, by being there, that a job may append where others do."""
        return self.path / "bundles" / f"{job}.beside"


def states(root: Path) -> list[StateDirectory]:
    """The state directory of a daemon, and those of what `ghcm run` has started beside it."""
    return [StateDirectory(path) for path in (root, *sorted((root / "runs").glob("*")))]


def dead_folders(root: Path) -> list[Path]:
    """Where dead letters are: those of earlier runs, the oldest first, and those of these states."""
    return [*sorted((root / "earlier").glob("*")), *(state.dead for state in states(root))]


def keep_letters(state: StateDirectory, root: Path) -> None:
    """Move the dead letters of a run that is over to those of earlier runs, of which a hundred stay."""
    if state.dead.is_dir():
        earlier = root / "earlier"
        earlier.mkdir(parents=True, exist_ok=True)
        state.dead.rename(earlier / str(time.time_ns()))
        for old in sorted(earlier.iterdir())[:-100]:
            shutil.rmtree(old, ignore_errors=True)


def copy_bundle(bundle: Path, copy: Path) -> None:
    """Copy a bundle, a file or a folder, to where nothing or an unfinished copy is, so that it lasts."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    if bundle.is_dir():
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(bundle, copy)
    else:
        shutil.copyfile(bundle, copy)
    for path in (copy, *copy.rglob("*"), copy.parent, copy.parent.parent):
        sync(path)


def note_base(file: Path, base: Path) -> None:
    """Note the folder that the relative paths of a job start from."""
    write_whole(file, [str(base.absolute()).encode()])
    sync(file.parent)


def note_job(snapshots: Place, job: str, version: int, bundle: Path, since: Mapping[str, Mapping[str, int]]) -> None:
    """Keep what a job is beside its snapshots where these are in a store, so that another state directory can go on
    with it: `<job>-<version>.ghcm`, and `<job>.json` that says which of these it is.
    """
    if not isinstance(snapshots, Remote):
        return
    with explained(snapshots, "keep the bundle of a job in"), tempfile.TemporaryDirectory() as folder:
        file = bundle if bundle.is_file() else Path(shutil.make_archive(f"{folder}/bundle", "zip", bundle))
        (snapshots / f"{job}-{version}.ghcm").put(file)
        (snapshots / f"{job}.json").write_bytes(json.dumps({"version": version, "since": since}).encode())
        (snapshots / f"{job}-{version - 1}.ghcm").unlink(missing_ok=True)
