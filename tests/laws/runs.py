"""Runs of generated cases in the reference, and the folders that their files are in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ghcm.spg.connectors import Files, Socket
from ghcm.spg.graph import Task
from ghcm.spg.ops import Source
from ghcm.spg.reference import Result, run
from tests.laws.spg_whole import Case

__all__ = ["files_of", "is_raw", "reference_of"]


def reference_of(case: Case) -> Result:
    """What the reference gives for a case."""
    raw = {task.id: case.raw for task in case.unit.tasks if _is_socket(task)}
    with files_of(case) as folder:
        return run(case.program, "u", base=folder, inputs=raw, sinks=case.sinks)


@contextmanager
def files_of(case: Case) -> Iterator[Path]:
    """A folder that has the files of a case."""
    with TemporaryDirectory(prefix="ghcm-files-") as name:
        folder = Path(name)
        for path, data in case.raw.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        yield folder


def _is_socket(task: Task) -> bool:
    return isinstance(task.op, Source) and isinstance(task.op.connector, Socket)


def is_raw(task: Task) -> bool:
    """Whether it reads bytes from outside."""
    return isinstance(task.op, Source) and isinstance(task.op.connector, Files | Socket)
