"""The append lock: which job appends to a folder, so that rows of two writers do not mix unless that is meant.

The kernel gives a lock back when the daemon that holds it ends, however it ends. Writers of replaced and keyed sinks
need none: what they write stands for itself.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from ghcm.errors import GhcmError
from ghcm.spg.connectors import SINKS, Mode
from ghcm.spg.graph import Program
from ghcm.spg.ops import To

LOCK = ".appending"
"""The name of the lock in a folder; files whose names begin with a point are no data."""


class AppendLocks:
    """The folders that the jobs of one daemon append to. `state` is its state directory."""

    def __init__(self, state: Path) -> None:
        self._state = state.absolute()
        self._held: dict[str, dict[Path, int]] = {}

    def take(self, job: str, program: Program, base: Path, *, beside: bool = False) -> list[Path]:
        """Have the job be the only one that appends to its folders; those that it did not have before. GhcmError, and
        nothing is taken, if another that lives appends to one of them, unless it is to write `beside`.
        """
        held, taken = self._held.setdefault(job, {}), list[Path]()
        for sink, folder in _folders(program, base):
            if folder in held:
                continue
            try:
                lock = self._lock(sink, folder, job, program.name)
            except GhcmError:
                if not beside:
                    self.drop(job, taken)
                    raise
                continue
            if lock is not None:
                held[folder] = lock
                taken.append(folder)
        return taken

    def drop(self, job: str, folders: list[Path] | None = None) -> None:
        """Let others append to these folders of a job, or to all of them."""
        held = self._held.get(job, {})
        for folder in list(held) if folders is None else folders:
            os.close(held.pop(folder))
        if not held:
            self._held.pop(job, None)

    def _lock(self, sink: str, folder: Path, job: str, program: str) -> int | None:
        """The lock, held; None where the folder cannot be used, as its writer will say. GhcmError if another has it."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            said = os.pread(lock, 4096, 0)
            os.close(lock)
            raise _taken(sink, folder, said) from None
        owner = {"process": os.getpid(), "program": program, "job": job, "state": str(self._state)}
        os.ftruncate(lock, 0)
        os.pwrite(lock, json.dumps(owner).encode(), 0)
        return lock


def _folders(program: Program, base: Path) -> Iterator[tuple[str, Path]]:
    """The append sinks that units of the program write, with their folders."""
    written = {task.op.sink for unit in program.units for task in unit.tasks if isinstance(task.op, To)}
    for sink in program.sinks:
        if sink.name in written and sink.mode is Mode.APPEND and SINKS[sink.connector.word].locked:
            yield sink.name, Path(os.path.realpath(base / sink.connector.address[1]))


def _taken(sink: str, folder: Path, said: bytes) -> GhcmError:
    owner: dict[str, Any] = {}
    with suppress(ValueError):  # it has only now taken the lock
        owner = cast("dict[str, Any]", json.loads(said))
    job, state = owner.get("job", "?"), owner.get("state", "?")
    return GhcmError(
        f'sink "{sink}" is being appended to by program "{owner.get("program", "?")}"',
        code="GHCM-757",
        detail=f'Its job "{job}" (process {owner.get("process", "?")}) writes to "{folder}"; rows of both would mix.',
        hint=f"end it first: ghcm stop {job} --state {state}; or write to another folder, as with -C; or, if both are "
        "meant to append, say --beside.",
    )
