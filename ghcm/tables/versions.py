"""What the tables of files have in common: versions, what is staged for them, and why a folder cannot be used.

::

    _ghcm/<version>/      prepared data and `prepared.json`: [version, writer, [[name, rows], ...]]
    _ghcm/.open-.../      is being written
    _ghcm/.kept/          rows of versions that readers still ask for: what was replaced, what was merged

Nothing of it is data: other tools pass over names that begin with `_`.
"""

import fcntl
import json
import os
import re
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from ghcm.durable import FULL, flush, sync
from ghcm.errors import GhcmError, sentence
from ghcm.places import Place, Remote, beside
from ghcm.stores import hint_for, understood

STAGING = "_ghcm"
"""The folder in a table for what is no data, or not yet."""

KEPT = (".kept", ".lock")
"""What is in it for long."""

KEPT_US = 3600 * 1_000_000
"""How long what was replaced can still be read, for calls that were given its version."""

_DAMAGED = "restore its folder _delta_log from a backup; without one, write the table anew into another folder."
_REFUSED = "see that the path is right, and let the user of this process read and write it."
_NO_ROOM = "free some room on that disk; --resume goes on where it ended."
_NO_ROOM_HERE = "free some room in the folder for temporary files, or have TMPDIR name another; then --resume."
_SAID_FULL = re.compile(r"No space left|os error (?:28|122|27)\b|File too large|quota exceeded", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file by its name in a folder. `values`: those of columns that the log of the table has and the file lacks,
    as texts where they stand in a commit.
    """

    name: str
    rows: int
    values: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True, slots=True)
class Version:
    """A commit: the rows and files that it added. `time` in microseconds since 1970 UTC; `order` grows from commit to
    commit; what it `replaces` is gone, or changed, for who reads a later version.
    """

    version: str
    rows: int
    time: int
    files: tuple[DataFile, ...]
    replaces: bool
    order: int


def now_us() -> int:
    """Microseconds since 1970 UTC."""
    return time.time_ns() // 1000


def series_of(version: str) -> tuple[str, int]:
    """What versions of one run of a unit share, and the number that grows; any other version is a series of its own.

    >>> series_of("job-main-out-0000000007-1f2e3d4c")
    ('job-main-out-1f2e3d4c', 7)
    >>> series_of("call")
    ('call', 0)
    """
    found = re.fullmatch(r"(.+)-([0-9]{10})-([0-9a-f]{8})", version)
    return (f"{found[1]}-{found[3]}", int(found[2])) if found else (version, 0)


def plain_files(path: Place) -> list[str]:
    """The names of the files in a folder that are not hidden, in order."""
    if isinstance(path, Remote):
        return [url.rpartition("/")[2] for url in path.files()]
    try:
        with os.scandir(path) as entries:
            return sorted(each.name for each in entries if each.name[0] not in "_." and each.is_file())
    except (FileNotFoundError, NotADirectoryError):
        return []


def safe_name(version: str) -> str:
    """The version as part of a file name. GhcmError if it is empty or too long for one."""
    name = quote(version, safe="")
    name = f"%2E{name[1:]}" if name.startswith(".") else name
    if not 0 < len(name) <= 180:
        raise GhcmError(f'"{version[:50]}" cannot be a version: its length is {len(version)}', code="GHCM-732")
    return name


def link(source: Place, target: Place) -> None:
    """Give a file a second name, unless it has it. An object has one name and is copied, in its store."""
    if isinstance(source, Remote):
        source.copy(cast("Remote", target))
        return
    with suppress(FileExistsError):
        os.link(source, cast("Path", target))


def sync_folders(root: Path, files: Sequence[DataFile]) -> None:
    """Bring to disk that these files are in their folders, and those in theirs."""
    for folder in {folder for file in files for folder in Path(file.name).parents}:
        sync(root / folder)


def commit_file(table: Place, number: int) -> Place:
    """The file of the log that is a commit."""
    return table / "_delta_log" / f"{number:020d}.json"


def actions_of(table: Place, number: int) -> list[dict[str, Any]]:
    """What a commit does, as the log has it."""
    lines = commit_file(table, number).read_text(encoding="utf-8").splitlines()
    return [cast("dict[str, Any]", json.loads(line)) for line in lines if line]


@contextmanager
def alone(table: Place) -> Generator[None]:
    """One at a time on this machine."""
    if isinstance(table, Path):
        (table / STAGING / KEPT[0]).mkdir(parents=True, exist_ok=True)
    with open((beside(table) if isinstance(table, Remote) else table / STAGING) / KEPT[1], "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def no_version(path: Place, version: str) -> GhcmError:
    """A version that a reader asks for is not there."""
    return GhcmError(
        f'"{path}" has no version "{version}"',
        code="GHCM-732",
        detail="It was never committed, or more than an hour ago.",
        hint="read the latest version, or call the unit that writes it again",
    )


def write_note(folder: Place, version: str, writer: str, files: Sequence[DataFile]) -> None:
    """Note in a folder, on disk, of what it is prepared."""
    text = json.dumps([version, writer, [[each.name, each.rows] for each in files]], ensure_ascii=False)
    if isinstance(folder, Remote):
        (folder / "prepared.json").write_bytes(text.encode())
        return
    with open(folder / "prepared.json", "w", encoding="utf-8") as file:
        file.write(text)
        flush(file)


def read_note(folder: Place) -> tuple[str, str, list[DataFile]] | None:
    """Version, writer and files that `write_note` has noted; None where it has not."""
    try:
        version, writer, files = json.loads((folder / "prepared.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return version, writer, [DataFile(name, rows) for name, rows in files]


@contextmanager
def explained(folder: Place, doing: str) -> Generator[None]:
    """Turn what the system or the log of a table refuses into a GhcmError that says what to do."""
    try:
        yield
    except GhcmError:
        raise
    except Exception as found:
        error = understood(found, folder.url) if isinstance(folder, Remote) else found
        said = f"{getattr(error, 'strerror', None) or error}".strip()
        name, kind = getattr(error, "filename", None), type(error).__module__.partition(".")[0]
        message, code, detail, hint = (
            f'cannot {doing} "{folder}"',
            "GHCM-730",
            f'At "{name}".' if name else "",
            _REFUSED,
        )
        if getattr(error, "errno", None) in FULL or _SAID_FULL.search(said):
            message, code = f'there is no room to {doing} "{folder}"', "GHCM-731"
            hint = _NO_ROOM_HERE if isinstance(folder, Remote) else _NO_ROOM
            said = "No space left on device" if len(said) > 60 else said
            detail = f"{said}; nothing of the unfinished version can be seen."
        elif isinstance(folder, Remote) and isinstance(error, ConnectionError | PermissionError | FileNotFoundError):
            message, detail, hint = f"{message}: {said}", "", hint_for(error, folder.url)
        elif isinstance(error, json.JSONDecodeError) or kind in ("deltalake", "_internal"):
            damage = "" if isinstance(folder, Remote) else _damage(folder / "_delta_log")
            detail = damage or sentence(said.partition("\n")[0][:300])
            message, code, hint = f"{message}: its log cannot be followed", "GHCM-733", _DAMAGED
        elif isinstance(error, OSError):
            message = f"{message}: {said}"
        else:
            raise
        raise GhcmError(message, code=code, detail=detail, hint=hint) from error


def _damage(log: Path) -> str:
    """What is wrong with the log of a Delta table; empty where that does not show."""
    names = sorted(name for name in plain_files(log) if re.fullmatch(r"[0-9]{20}[.]json", name))
    for number, name in enumerate(names, int(names[0][:20]) if names else 0):
        if int(name[:20]) != number:
            return f"Its commit {number} is not there, while {int(name[:20])} is."
        try:
            list(map(json.loads, (log / name).read_text(encoding="utf-8").splitlines()))
        except ValueError:
            return f'Its commit {number} is damaged: "{name}" is no JSON.'
    return ""
