"""Tables of plain files: each version is some whole files, whose names say which, and how many rows they hold.

::

    part-<time>-<version>-<n>-of-<count>-<rows>.json      added by that version, at that time (16 digits, microseconds)
    whole-...                                             the same of a version that replaced what was there
    _ghcm/.kept/                                          replacing versions, and what they have replaced, for an hour

Files come in by one call each, complete. Other tools may find a version of several files for a moment in parts, and
beside what it replaces; readers here see a version when all its files are there, and of what was replaced nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from urllib.parse import unquote

from ghcm.durable import sync
from ghcm.places import Place, names_in
from ghcm.tables.versions import (
    KEPT,
    KEPT_US,
    STAGING,
    DataFile,
    Version,
    alone,
    link,
    no_version,
    now_us,
    plain_files,
    safe_name,
)

_NAME = re.compile(r"(part|whole)-([0-9]{16})-(.+)-([0-9]{5})-of-([0-9]{5})-([0-9]+)[.][a-z]+")


class PlainTable:
    """The table of plain files in a folder, which needs not exist. It does what a `DeltaTable` does."""

    def __init__(self, path: Place) -> None:
        self.path = path
        self._staging = path / STAGING
        self._kept = self._staging / KEPT[0]

    @property
    def foreign(self) -> bool:
        names = plain_files(self.path)
        return bool(names) and not self._staging.is_dir() and not any(map(_NAME.fullmatch, names))

    def commits(self) -> list[Version]:
        found = {name: name for name in plain_files(self.path)}  # first: what is replaced is kept before it goes
        return _versions(found | {name: _kept(name) for name in plain_files(self._kept)})

    def newest(self) -> Iterator[Version]:
        return reversed(self.commits())

    def committed(self, version: str) -> Version | None:
        files = {name: name if folder == self.path else _kept(name) for folder, name in self._of(version)}
        return next(iter(_versions(files)), None)

    def live(self, version: str | None = None) -> list[DataFile]:
        if version is None and self.foreign:
            return [DataFile(name, 0) for name in plain_files(self.path)]
        commits = self.commits()
        if version is not None:
            at = next((at for at, each in enumerate(commits) if each.version == version), None)
            if at is None:
                raise no_version(self.path, version)
            commits = commits[: at + 1]
        last = max((at for at, each in enumerate(commits) if each.replaces), default=0)
        return [file for each in commits[last:] for file in each.files]

    def written(self, version: str) -> list[DataFile]:
        found = self.committed(version)
        if found is None:
            raise no_version(self.path, version)
        return list(found.files)

    def publish(self, version: str, mode: str, staged: Place, files: Sequence[DataFile], writer: str) -> Version:
        with alone(self.path):
            if (done := self.committed(version)) is not None:
                return done
            self.discard(version, files)
            kind, time, count = "whole" if mode == "replace" else "part", now_us(), len(files)
            for at, file in enumerate(files):
                ending = f"{at:05d}-of-{count:05d}-{file.rows}{PurePath(file.name).suffix}"
                name = f"{kind}-{time:016d}-{safe_name(version)}-{ending}"
                if mode == "replace":
                    link(staged / file.name, self._kept / name)
                link(staged / file.name, self.path / name)
            if isinstance(self.path, Path):
                sync(self.path)
            if mode == "replace":
                self._retire(time)
            return Version(version, sum(file.rows for file in files), time, (), mode == "replace", time)

    def discard(self, version: str, files: Sequence[DataFile]) -> None:
        for folder, name in self._of(version):
            (folder / name).unlink()

    def forget(self, versions: Iterable[Version]) -> None:
        """Remove the rows of versions that nobody asks for any more, while others may write."""
        with alone(self.path):
            for each in versions:
                for file in each.files:
                    (self.path / file.name).unlink(missing_ok=True)

    def _of(self, version: str) -> list[tuple[Place, str]]:
        """The files of a version, complete or not, and in which folder each is."""
        part = f"-{safe_name(version)}-"
        near = ((folder, name) for folder in (self._kept, self.path) for name in names_in(folder) if part in name)
        return [(folder, name) for folder, name in near if (it := _NAME.fullmatch(name)) and unquote(it[3]) == version]

    def _retire(self, time: int) -> None:
        """Move what was replaced at this moment out of sight, and drop what was replaced long ago."""
        for name in plain_files(self.path):
            if (found := _NAME.fullmatch(name)) and int(found[2]) < time:
                link(self.path / name, self._kept / name)
                (self.path / name).unlink()
        commits = self.commits()
        old = [at for at, each in enumerate(commits) if each.replaces and each.time < time - KEPT_US]
        for each in commits[: old[-1] if old else 0]:
            for file in each.files:
                (self.path / file.name).unlink(missing_ok=True)


def _kept(name: str) -> str:
    return f"{STAGING}/{KEPT[0]}/{name}"


def _versions(names: Mapping[str, str]) -> list[Version]:
    """The versions of which all files are there, oldest first; of each name, where the file is."""
    found: dict[tuple[int, str, bool, int], list[DataFile]] = {}
    for name in sorted(names):
        if part := _NAME.fullmatch(name):
            version = int(part[2]), unquote(part[3]), part[1] == "whole", int(part[5])
            found.setdefault(version, []).append(DataFile(names[name], int(part[6])))
    return [
        Version(name, sum(file.rows for file in files), time, tuple(files), whole, time)
        for (time, name, whole, count), files in sorted(found.items())
        if len(files) == count
    ]
