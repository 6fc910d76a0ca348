"""Staging: where a writer fills files that nobody sees yet, and how it shows that it lives."""

from __future__ import annotations

import fcntl
import shutil
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from ghcm.runtime.durable import sync
from ghcm.runtime.sinks.table_manifest import DataFile, files_to_json, safe_name, write_json


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
