"""Table directories: files that become visible as a whole, by a manifest.

::

    part-<version>-<n>.<ext>           data, as named in a manifest; anything else is not seen
    _ghcm/<20-digit sequence>.json     a commit: {"version", "mode", "files": [{"name", "rows"}], "rows", "time"}
    _staging/<version>/                prepared data and `prepared.json`: {"version", "writer", "files"}
    _staging/.open-<id>/               is being written by a living process, which holds the lock `.open-<id>.lock`

What is read are the files of the manifests from the last replacing one on. A directory without `_ghcm` is foreign data:
all its files. Knows nothing of what is in the files.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast
from urllib.parse import quote

from ghcm.errors import GhcmError
from ghcm.runtime.durable import flush, sync
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.spg.connectors import Mode

KEPT_US = 3600 * 1_000_000
"""How long replaced versions can still be read, for calls that were given them."""

_FORGOTTEN_SECONDS = 24 * 3600


class TableDirectory:
    """A table directory at `path`, which needs not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.commits = path / "_ghcm"
        self.staging = path / "_staging"
        self._known: dict[int, Manifest] = {}

    @property
    def foreign(self) -> bool:
        """Whether it holds files that no GHCM has written."""
        if self.commits.is_dir() or self.staging.is_dir():
            return False
        return self.path.is_dir() and any(True for _ in self._plain_files())

    def manifests(self) -> list[Manifest]:
        """All commits, oldest first; a version that was committed twice counts once."""
        try:
            names = os.listdir(self.commits)
        except FileNotFoundError:
            return []
        sequences = sorted(int(name[:20]) for name in names if len(name) == 25 and name.endswith(".json"))
        self._known = {
            sequence: self._known.get(sequence) or load_manifest(self._manifest(sequence)) for sequence in sequences
        }
        found: dict[str, Manifest] = {}
        for manifest in self._known.values():
            found.setdefault(manifest.version, manifest)
        return list(found.values())

    def committed(self, version: str) -> Manifest | None:
        """The commit of that version, or None."""
        return next((manifest for manifest in self.manifests() if manifest.version == version), None)

    def visible(self, version: str | None = None) -> list[Manifest]:
        """The commits that a reader sees, now or as of the given version. GhcmError if that version is not there."""
        manifests = self.manifests()
        if version is not None:
            at = next((index for index, manifest in enumerate(manifests) if manifest.version == version), None)
            if at is None:
                raise GhcmError(
                    f'"{self.path}" has no version "{version}"',
                    code="GHCM-732",
                    detail="It was never committed, or it was replaced more than an hour ago.",
                    hint="read the latest version, or call the unit that writes it again",
                )
            manifests = manifests[: at + 1]
        last = max((index for index, manifest in enumerate(manifests) if manifest.mode is Mode.REPLACE), default=0)
        return manifests[last:]

    def files(self, version: str | None = None) -> list[Path]:
        """The data files that a reader sees, in order."""
        if version is None and not self.commits.is_dir():
            return sorted(self._plain_files()) if self.path.is_dir() else []
        return [self.path / file.name for manifest in self.visible(version) for file in manifest.files]

    def commit(self, version: str, mode: Mode) -> Manifest:
        """Make a prepared version visible; a committed one stays as it is. GhcmError if there is neither."""
        self.commits.mkdir(parents=True, exist_ok=True)
        staged = self.staging / safe_name(version)
        with self._exclusive():
            done = self.committed(version)
            if done is None:
                files = self._move(version, staged, self._prepared(version, staged))
                done = self._publish(version, mode, files)
            shutil.rmtree(staged, ignore_errors=True)
            if mode is Mode.REPLACE:
                self._drop_replaced(done.time - KEPT_US)
        return done

    def abort(self, version: str) -> None:
        """Drop a prepared version unless it is committed."""
        staged = self.staging / safe_name(version)
        if not staged.is_dir():
            return
        self.commits.mkdir(parents=True, exist_ok=True)
        with self._exclusive():
            record = read_json(staged / "prepared.json")
            if record is not None and self.committed(version) is None:
                for name, _ in _final_names(version, files_from_json(record)):
                    (self.path / name).unlink(missing_ok=True)
            shutil.rmtree(staged, ignore_errors=True)

    def recover(self, writer: str, keep: Collection[str]) -> None:
        """Drop what dead writers have left: all that was never prepared, and what this one had prepared but will not
        commit.
        """
        if not self.staging.is_dir():
            return
        for lock in self.staging.glob(".open-*.lock"):
            drop_if_dead(lock)
        for folder in list(self.staging.iterdir()):
            if folder.name.startswith(".open-"):
                continue
            record = read_json(folder / "prepared.json")
            if record is None:  # of a job of another engine: dropped when nobody can be at it any more
                with suppress(FileNotFoundError):
                    if now_us() / 1e6 - folder.stat().st_mtime > _FORGOTTEN_SECONDS:
                        shutil.rmtree(folder, ignore_errors=True)
            elif record.get("writer") == writer and record.get("version") not in keep:
                self.abort(str(record["version"]))

    def _manifest(self, sequence: int) -> Path:
        return self.commits / f"{sequence:020d}.json"

    def _plain_files(self) -> Iterator[Path]:
        return (path for path in self.path.iterdir() if path.is_file() and path.name[0] not in "_.")

    def _prepared(self, version: str, staged: Path) -> list[DataFile]:
        record = read_json(staged / "prepared.json")
        if record is None:
            raise GhcmError(f'version "{version}" of "{self.path}" was never prepared', code="GHCM-732")
        return files_from_json(record)

    def _move(self, version: str, staged: Path, files: Sequence[DataFile]) -> list[DataFile]:
        """Rename the staged files into the directory; those of an interrupted attempt are there already."""
        moved = _final_names(version, files)
        for name, file in moved:
            with suppress(FileNotFoundError):
                (staged / file.name).rename(self.path / name)
        sync(self.path)
        return [DataFile(name, file.rows) for name, file in moved]

    def _publish(self, version: str, mode: Mode, files: Sequence[DataFile]) -> Manifest:
        rows = sum(file.rows for file in files)
        record: dict[str, object] = {
            "version": version,
            "mode": mode.value,
            "files": files_to_json(files),
            "rows": rows,
            "time": now_us(),
        }
        temporary = self.commits / f".{uuid.uuid4().hex}"
        write_json(temporary, record)
        try:
            sequence = max(self._known, default=0) + 1
            while True:
                try:
                    # A link, unlike a rename, fails where another writer has taken the place.
                    os.link(temporary, self._manifest(sequence))
                    break
                except FileExistsError:
                    sequence += 1
        finally:
            temporary.unlink()
        sync(self.commits)
        return self._known.setdefault(sequence, load_manifest(self._manifest(sequence)))

    def _drop_replaced(self, before: int) -> None:
        """Remove commits that were replaced before this moment, and their files."""
        manifests = self.manifests()
        replacing = [
            i for i, manifest in enumerate(manifests) if manifest.mode is Mode.REPLACE and manifest.time < before
        ]
        for manifest in manifests[: replacing[-1] if replacing else 0]:
            self._manifest(manifest.sequence).unlink(missing_ok=True)
            for file in manifest.files:
                (self.path / file.name).unlink(missing_ok=True)

    @contextmanager
    def _exclusive(self) -> Generator[None]:
        """One committer at a time on this machine."""
        with open(self.commits / ".lock", "a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _final_names(version: str, files: Sequence[DataFile]) -> list[tuple[str, DataFile]]:
    """The names that the staged files of a version get in the directory."""
    return [(f"part-{safe_name(version)}-{number}{Path(file.name).suffix}", file) for number, file in enumerate(files)]


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file by its name in the directory."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """One commit. `time` in microseconds since 1970 UTC."""

    sequence: int
    version: str
    mode: Mode
    files: tuple[DataFile, ...]
    rows: int
    time: int


def load_manifest(path: Path) -> Manifest:
    """The commit in a file; GhcmError if it cannot be read."""
    record = read_json(path)
    if record is None:
        raise GhcmError(f'the manifest "{path}" cannot be read', code="GHCM-733", hint="restore it from a backup")
    return Manifest(
        int(path.name[:20]),
        str(record["version"]),
        Mode(record["mode"]),
        tuple(files_from_json(record)),
        int(cast("int", record["rows"])),
        int(cast("int", record["time"])),
    )


def safe_name(version: str) -> str:
    """The version as part of a file name. GhcmError if it is empty or too long for one."""
    name = quote(version, safe="")
    name = f"%2E{name[1:]}" if name.startswith(".") else name
    if not 0 < len(name) <= 200:
        raise GhcmError(f'"{version[:50]}" cannot be a version: its length is {len(version)}', code="GHCM-732")
    return name


def files_to_json(files: Sequence[DataFile]) -> list[dict[str, object]]:
    """The files as they stand in a manifest."""
    return [{"name": file.name, "rows": file.rows} for file in files]


def files_from_json(record: Mapping[str, object]) -> list[DataFile]:
    """The files that a manifest or a note of what is prepared lists."""
    files = cast("list[dict[str, object]]", record["files"])
    return [DataFile(str(file["name"]), int(cast("int", file["rows"]))) for file in files]


def write_json(path: Path, record: Mapping[str, object]) -> None:
    """Write a file and bring it to disk."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(record, file, ensure_ascii=False)
        flush(file)


def read_json(path: Path) -> dict[str, object] | None:
    """The object in a file, or None where there is no file or it is no JSON object."""
    try:
        record: object = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return cast("dict[str, object]", record) if isinstance(record, dict) else None


@contextmanager
def explained(directory: Path, doing: str) -> Generator[None]:
    """Turn what the system refuses into a GhcmError that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL or "No space left" in str(error):
            raise GhcmError(
                f'there is no room to {doing} "{directory}"',
                code="GHCM-731",
                detail=f"{error.strerror or error}; nothing of the unfinished version can be seen.",
                hint="free some room on that disk, then run again.",
            ) from error
        raise GhcmError(
            f'cannot {doing} "{directory}": {error.strerror or error}',
            code="GHCM-730",
            detail=f'At "{error.filename}".' if error.filename else "",
            hint="see that the path is right, and let the user of this process read and write it.",
        ) from error


class Staging:
    """Files that one writer fills. A lock shows that it lives, so that what a dead one leaves can be told apart."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._parent.mkdir(parents=True, exist_ok=True)
        self._lock = self._take_lock()
        self.folder = Path(self._lock.name.removesuffix(".lock"))
        self.folder.mkdir()

    def prepare(self, version: str, writer: str, files: Sequence[DataFile]) -> None:
        """Make the files durable as this version; the staging is empty again afterwards."""
        for file in files:
            sync(self.folder / file.name)
        write_json(self.folder / "prepared.json", {"version": version, "writer": writer, "files": files_to_json(files)})
        target = self._parent / safe_name(version)
        if target.exists():  # prepared once before, by a writer that died; the rows are the same
            shutil.rmtree(target)
        self.folder.rename(target)
        sync(self._parent)
        self.folder.mkdir()

    def close(self) -> None:
        """Drop what is not prepared."""
        shutil.rmtree(self.folder, ignore_errors=True)
        Path(self._lock.name).unlink(missing_ok=True)
        self._lock.close()

    def _take_lock(self) -> TextIO:
        while True:
            lock = open(self._parent / f".open-{uuid.uuid4().hex}.lock", "x", encoding="utf-8")  # noqa: SIM115
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except BlockingIOError:  # someone was just looking whether it is a dead one's
                lock.close()


def drop_if_dead(lock: Path) -> None:
    """Remove the staging behind a lock that nobody holds."""
    with suppress(FileNotFoundError), open(lock, encoding="utf-8") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        shutil.rmtree(lock.with_name(lock.name.removesuffix(".lock")), ignore_errors=True)
        lock.unlink(missing_ok=True)
