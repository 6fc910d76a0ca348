"""Why a job has failed on Spark, in the words of the native engine where the cause is the same."""

import re
from collections.abc import Callable, Mapping
from typing import cast

from ghcm.errors import GhcmError
from ghcm.runtime.engine.unit_failure import unit_failure
from ghcm.source import Origin, SourceLine
from ghcm.spg.graph import Unit
from ghcm.spg.ops import To

_NO_ROOM = re.compile(
    r"(?:Exception|Error): (?:[^\n]*: )?(?:No space left on device|File too large|Disk quota exceeded)"
    r"|\[Errno (?:27|28|122)\]"
)
"""How Java and Python say that a disk is full."""


def spark_failure(unit: Unit, error: Exception, line: Callable[[Origin], str]) -> GhcmError:
    """The error that ends a call because of what its generated job raised. Jobs need no GHCM, so that what they refuse
    is known by its `parts`, not by its class. `line` as in `unit_failure`.
    """
    parts = getattr(error, "parts", None)
    if isinstance(parts, Mapping):
        told = cast("Mapping[str, str]", parts)
        refused = GhcmError.of(told)
        if "task" not in told and "sink" not in told:
            return refused
        return unit_failure(unit, told.get("task") or _writer(unit, told["sink"]), refused, line)
    if (full := _NO_ROOM.search(str(error))) is not None:
        said = full[0].rpartition(": ")[2]
        return GhcmError(
            f'unit "{unit.name}" has found no room on Spark: {said}',
            code="GHCM-731",
            hint="free some room on the disks of its sinks, and of Spark's own files.",
            place=SourceLine(unit.origin, line(unit.origin)),
        )
    first = next((text for text in str(error).splitlines() if text.strip()), "")
    return GhcmError(
        f'unit "{unit.name}" has failed on Spark: {type(error).__name__}: {first}'[:1000],
        code="GHCM-751",
        hint="ghcm logs spark has all of it.",
        place=SourceLine(unit.origin, line(unit.origin)),
    )


def _writer(unit: Unit, sink: str) -> str:
    """The task that writes the sink."""
    return next((task.id for task in unit.tasks if isinstance(task.op, To) and task.op.sink == sink), sink)
