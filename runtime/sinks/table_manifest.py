"""The small JSON files of table directories: commits and what is prepared; and the system calls that make them last."""

from __future__ import annotations

import errno
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import quote

from ghcm.errors import GhcmError
from ghcm.runtime.durable import flush
from ghcm.spg.graph import Mode

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
