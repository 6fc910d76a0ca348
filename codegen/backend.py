"""What a back end is: who turns a unit into code for an engine, and says beforehand what it cannot.

`ghcm.codegen.engines` lists those that there are.
"""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ghcm.spg.graph import Program, Task, Unit
from ghcm.support import Support


@dataclass(frozen=True, slots=True)
class Artifact:
    """What a back end makes of a unit: the text of its module."""

    module: str


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip file of these files by their paths, the same bytes wherever it is made."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))  # the earliest date that a zip file can hold
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            archive.writestr(entry, files[path])
    return target.getvalue()


class Backend(Protocol):
    """One engine, as the compiler sees it."""

    @property
    def name(self) -> str:
        """What units and manifests call it; its modules stand in a folder of that name."""
        ...

    @property
    def requirements(self) -> tuple[str, ...]:
        """The packages that its modules need where they run."""
        ...

    @property
    def shared(self) -> Mapping[str, bytes]:
        """Files that all its modules need beside them, by path in the bundle."""
        ...

    def supports(self, program: Program, unit: Unit, task: Task) -> Support:
        """Whether it can run the task, or why not."""
        ...

    def emit(self, program: Program, unit: Unit) -> Artifact:
        """The code of a unit whose tasks it supports."""
        ...
