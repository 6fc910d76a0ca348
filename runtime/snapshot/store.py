"""The snapshots of a unit on disk or in a store: state by task and key group, source positions, prepared versions;
complete or not there at all.

    <folder>/<20-digit number>/state             the bytes of all key groups, one behind the other
    <folder>/<20-digit number>/manifest.json     renamed into place last; holds the checksum of `state`
    <folder>/runs/<20-digit number>              the runs that a snapshot was the first to have, one behind the other

When to take one and what it means for sinks is decided by the coordinator.
"""

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

from ghcm.durable import sync
from ghcm.errors import GhcmError
from ghcm.places import Place, Remote, names_in, remove, write_whole
from ghcm.runtime.engine.host import TaskState
from ghcm.runtime.state.runs import Run, RunState, runs_of
from ghcm.tables.versions import explained

_log = logging.getLogger(__name__)

_FORMAT = 3
_RUNS = "runs"
_Place: TypeAlias = tuple[str, int, int, str]
"""Where a run is: the file, the first byte in it, how many there are, and their checksum."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A consistent cut through a unit. `versions`: by task the sink version that is committed with it; `latest`: by
    sink the version that readers saw or will see then; `publications`: instructions (JSON) to be sent after the
    commit.
    """

    number: int
    tasks: Mapping[str, TaskState]
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    latest: Mapping[str, str] = field(default_factory=dict[str, str])
    publications: tuple[Mapping[str, object], ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Size:
    """How many bytes a snapshot needs to be read, and how many of them were written for it: runs that the one before
    had are not written again.
    """

    whole: int = 0
    written: int = 0


class SnapshotStore:
    """The snapshots of one unit of one job, of which so many are `kept`; blocks, so it belongs into a thread."""

    def __init__(self, folder: Place, kept: int = 2) -> None:
        self.folder = folder
        self._kept = kept
        self._runs: dict[str, _Place] = {}
        """Where the runs are that the last snapshot had."""
        self._files: dict[str, frozenset[str]] = {}
        """By snapshot the files of runs that it needs, where that is known."""

    def write(self, snapshot: Snapshot) -> Size:
        """Make the snapshot durable as a whole, then drop all but the last of them; how large it is."""
        with self._asked():
            size = self._write(snapshot)
            self._drop(snapshot.number)
        return size

    def _write(self, snapshot: Snapshot) -> Size:
        path = self.folder / f"{snapshot.number:020d}"
        if isinstance(path, Path):  # in a store each object is replaced by the next of its name
            remove(path)
        path.mkdir(parents=True, exist_ok=True)
        tasks: dict[str, object] = {}
        digest, offset = hashlib.sha256(), 0
        for name, task in snapshot.tasks.items():
            instances: list[list[tuple[int, int, int]]] = []
            for each in task.groups:
                groups: list[tuple[int, int, int]] = []
                for group, content in each.items():
                    groups.append((group, offset, len(content)))
                    offset += len(content)
                    digest.update(content)
                instances.append(groups)
            names = [[run.name for run in runs_of(each)] for each in task.groups]
            rest = {"runs": names, "positions": task.positions, "finished": task.finished, "since": task.since}
            tasks[name] = {"groups": instances, **rest}
        states = (groups for task in snapshot.tasks.values() for groups in task.groups)
        write_whole(path / "state", (content for groups in states for content in groups.values()))
        runs = [run for task in snapshot.tasks.values() for state in task.groups for run in runs_of(state)]
        known, self._runs = self._runs, self._write_runs(path.name, runs)
        self._files[path.name] = frozenset(file for file, *_ in self._runs.values())
        manifest = {
            "format": _FORMAT,
            "number": snapshot.number,
            "sha256": digest.hexdigest(),
            "runs": self._runs,
            "tasks": tasks,
            "versions": snapshot.versions,
            "latest": snapshot.latest,
            "publications": snapshot.publications,
            "counts": snapshot.counts,
        }
        text = json.dumps(manifest).encode()
        write_whole(path / "manifest.json", [text])
        for folder in (path, self.folder):
            if isinstance(folder, Path):
                sync(folder)
        sizes = {name: size for name, (_, _, size, _) in self._runs.items()}
        new = sum(size for name, size in sizes.items() if name not in known)
        return Size(offset + len(text) + sum(sizes.values()), offset + len(text) + new)

    def _write_runs(self, file: str, runs: Sequence[Run]) -> dict[str, _Place]:
        """Write those that no snapshot had before into a file; where all of them are."""
        places = {run.name: self._runs[run.name] for run in runs if run.name in self._runs}
        new, offset = [run for run in runs if run.name not in places], 0
        if not new:
            return places

        def parts() -> Iterator[bytes]:
            nonlocal offset
            for run in new:
                content = run.packed()
                places[run.name] = file, offset, len(content), hashlib.sha256(content).hexdigest()
                offset += len(content)
                yield content

        folder = self.folder / _RUNS
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / file, parts())
        if isinstance(folder, Path):
            sync(folder)
        return places

    def latest(self) -> Snapshot | None:
        """The newest snapshot that is whole; the log says which ones had to be passed over. GhcmError where it is of
        another version of GHCM.
        """
        with self._asked():
            return self._newest()

    def _newest(self) -> Snapshot | None:
        passed_over = False
        for path in self._paths():
            if not (path / "manifest.json").exists():
                continue  # was being written when the process ended
            try:
                found, self._runs = _read(path)
            except (OSError, ValueError, KeyError, TypeError) as error:
                if isinstance(path, Remote) and isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
                    raise  # it may be whole, and the one before would commit again what has been committed since
                _log.error('snapshot "%s" is damaged (%s): taking the one before', path, error)
                passed_over = True
                continue
            if passed_over:
                _log.warning(
                    'going on from snapshot "%s": what append sinks have committed since then may be written again',
                    path,
                )
            return found
        return None

    def newest_number(self) -> int:
        """The greatest number in use, also by what is damaged or incomplete; 0 if there is none."""
        with self._asked():
            return max((int(path.name) for path in self._paths()), default=0)

    def _asked(self) -> AbstractContextManager[None]:
        """What a store refuses is said as of a sink there; it tells what may pass, and is tried again then."""
        return explained(self.folder, "keep snapshots in") if isinstance(self.folder, Remote) else nullcontext()

    def _paths(self) -> list[Place]:
        return [self.folder / name for name in sorted(names_in(self.folder), reverse=True) if name.isdigit()]

    def _drop(self, newest: int) -> None:
        whole = [path for path in self._paths() if (path / "manifest.json").exists()]
        for path in self._paths():
            if int(path.name) < newest and path not in whole[: self._kept]:
                remove(path)
                self._files.pop(path.name, None)
        self._drop_runs(whole[: self._kept])

    def _drop_runs(self, kept: Sequence[Place]) -> None:
        """Drop the files of runs that no kept snapshot needs."""
        for path in kept:
            if path.name not in self._files:
                self._files[path.name] = _needed(path)
        needed = frozenset[str]().union(*(self._files[path.name] for path in kept))
        for file in names_in(self.folder / _RUNS):
            if file not in needed:
                (self.folder / _RUNS / file).unlink(missing_ok=True)


def _needed(path: Place) -> frozenset[str]:
    """The files of runs that a snapshot needs; none if it is damaged."""
    try:
        manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        return frozenset(file for file, *_ in manifest["runs"].values())
    except (ValueError, KeyError):  # of another version, it has none either
        return frozenset()


def _states(task: Mapping[str, Any], state: bytes, runs: Mapping[str, Run]) -> Iterator[RunState]:
    """The states of the instances of a task."""
    for groups, names in zip(task["groups"], task["runs"], strict=True):
        packed = {group: state[start : start + size] for group, start, size in groups}
        yield RunState(packed, [runs[name] for name in names])


def _read_runs(folder: Place, places: Mapping[str, _Place]) -> dict[str, Run]:
    """Runs by name. ValueError where one is damaged."""
    files = {file: (folder / file).read_bytes() for file in {file for file, *_ in places.values()}}
    runs: dict[str, Run] = {}
    for name, (file, offset, size, checksum) in places.items():
        content = files[file][offset : offset + size]
        if hashlib.sha256(content).hexdigest() != checksum:
            raise ValueError(f'the checksum of run "{name}" is wrong')
        runs[name] = Run.unpacked(name, content)
    return runs


def _read(path: Place) -> tuple[Snapshot, dict[str, _Place]]:
    """A snapshot, and where its runs are."""
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    if manifest["format"] != _FORMAT:
        raise GhcmError(
            f'snapshot "{path}" has format {manifest["format"]}, this GHCM reads format {_FORMAT}',
            code="GHCM-756",
            detail="Starting over without being told to would write to append sinks what they have.",
            hint="Go on with the version of GHCM that took it; --fresh starts over, and appends to what is there.",
        )
    state = (path / "state").read_bytes()
    if hashlib.sha256(state).hexdigest() != manifest["sha256"]:
        raise ValueError("the checksum is wrong")
    runs = _read_runs(path.parent / _RUNS, manifest["runs"])
    tasks = {
        name: TaskState(
            tuple(_states(task, state, runs)), tuple(task["positions"]), bool(task["finished"]), int(task["since"])
        )
        for name, task in cast("dict[str, dict[str, Any]]", manifest["tasks"]).items()
    }
    snapshot = Snapshot(
        number=int(manifest["number"]),
        tasks=tasks,
        versions=manifest["versions"],
        latest=manifest["latest"],
        publications=tuple(manifest["publications"]),
        counts=manifest["counts"],
    )
    return snapshot, {name: tuple(place) for name, place in manifest["runs"].items()}
