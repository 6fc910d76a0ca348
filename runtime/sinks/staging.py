"""What one writer of a table of files has staged, and what dead ones have left: see `ghcm.tables.versions`."""

import hashlib
import shutil
import time
import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from ghcm.durable import sync
from ghcm.places import Place, Remote, beside, remove
from ghcm.tables.delta import DeltaTable
from ghcm.tables.plain import PlainTable
from ghcm.tables.versions import KEPT, STAGING, DataFile, read_note, safe_name, sync_folders, write_note

Table: TypeAlias = DeltaTable | PlainTable
"""A folder whose files are a table."""

_FORGOTTEN_SECONDS = 24 * 3600
_OPEN = ".open-"


class Staging:
    """Files that one writer fills, in a folder that says whose it is. Those of a table in a store are filled on this
    machine and brought there when they are whole, which may be tried again.
    """

    def __init__(self, table: Place, writer: str) -> None:
        self._parent, self._writer = table / STAGING, writer
        self._parent.mkdir(parents=True, exist_ok=True)
        here = beside(table) if isinstance(table, Remote) else table / STAGING
        self.folder = here / f"{_opened(writer)}{uuid.uuid4().hex}"
        self.folder.mkdir()

    def prepare(self, version: str, files: Sequence[DataFile]) -> None:
        """Make the files durable as this version; the staging is empty again afterwards. In a store the note comes
        first: whoever recovers knows whose the objects are, and none is committed before all are there.
        """
        if isinstance(self._parent, Remote):
            there = self._parent / safe_name(version)
            write_note(there, version, self._writer, files)
            for file in files:
                (there / file.name).put(self.folder / file.name)
            for file in files:
                (self.folder / file.name).unlink()
            return
        for file in files:
            sync(self.folder / file.name)
        sync_folders(self.folder, files)
        write_note(self.folder, version, self._writer, files)
        target = self._parent / safe_name(version)
        if target.exists():  # prepared once before, by a writer that died; the rows are the same
            shutil.rmtree(target)
        self.folder.rename(target)
        sync(self._parent)
        self.folder.mkdir()

    def close(self) -> None:
        """Drop what is not prepared."""
        shutil.rmtree(self.folder, ignore_errors=True)


def abort(table: Table, version: str) -> None:
    """Drop a prepared version of a table unless it is committed."""
    staged = table.path / STAGING / safe_name(version)
    if not staged.is_dir():
        return
    note = read_note(staged)
    if note is not None and table.committed(version) is None:
        table.discard(version, note[2])
    drop(staged, note[1] if note is not None else "")


def drop(staged: Place, writer: str) -> None:
    """Remove what was prepared. On this machine it gets a name first by which the writer's `recover` removes it: of a
    process that is killed meanwhile the note may be gone, and other files be left.
    """
    if isinstance(staged, Remote):
        remove(staged)
        return
    with suppress(FileNotFoundError):  # it was committed before
        remove(staged.rename(staged.parent / f"{_opened(writer)}{uuid.uuid4().hex}"))


def recover(table: Table, writer: str, keep: Collection[str], living: Path | None) -> None:
    """Drop what dead writers of this name have left in a table, but for what is going to be committed and what the
    `living` one fills; and what nobody has prepared for a day.
    """
    staging = table.path / STAGING
    if isinstance(table.path, Remote):
        for here in beside(table.path).glob(f"{_opened(writer)}*"):
            if here != living:
                remove(here)
    for folder in [each for each in staging.glob("*") if each != living and each.name not in KEPT]:
        note = None if folder.name.startswith(_OPEN) else read_note(folder)  # one may have died before the renaming
        if note is None:
            with suppress(FileNotFoundError):
                if folder.name.startswith(_opened(writer)) or time.time() - folder.stat().st_mtime > _FORGOTTEN_SECONDS:
                    remove(folder)
        elif note[1] == writer and note[0] not in keep:
            abort(table, note[0])


def _opened(writer: str) -> str:
    """How the folders begin that a writer fills; a writer lives once at a time."""
    return f"{_OPEN}{hashlib.md5(writer.encode(), usedforsecurity=False).hexdigest()}-"
