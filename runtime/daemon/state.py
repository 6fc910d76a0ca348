"""The state directory: what stands where in it."""

from __future__ import annotations

import shutil
from pathlib import Path

from ghcm.runtime.sockets import short_socket


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
