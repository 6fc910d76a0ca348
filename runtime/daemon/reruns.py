"""A program that was here before: what its new job would write twice, and what can go on where the old one ended.

Decides from bundles alone; starting jobs is the business of `Jobs`.
"""

from __future__ import annotations

from enum import Enum

from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.jobs.job_list import Job
from ghcm.runtime.upgrade.changes import Growth
from ghcm.runtime.upgrade.compare import compare
from ghcm.runtime.upgrade.versions import version_of
from ghcm.spg.graph import Mode, Program, Unit
from ghcm.spg.ops import Publish, To


class Again(Enum):
    """What a submission says of an earlier job of its program."""

    UNSAID = "unsaid"
    RESUME = "resume"
    """Go on from its last snapshot."""
    FRESH = "fresh"
    """Read everything from the start, and leave what it has written as it is."""


def refuse_doubles(job: Job, before: Program, after: Program) -> None:
    """GhcmError if the program, run from its start, would append what this job of it has appended already."""
    doubled = [f'"{name}"' for name in _appended(after) if _connector(after, name) in _connectors(before)]
    if doubled:
        raise GhcmError(
            f'program "{job.program}" has run before, as job "{job.id}" ({job.state.value})',
            code="GHCM-606",
            detail=f"From the start it would append to {', '.join(doubled)} what that job has appended already.",
            hint="ghcm submit --resume goes on where that job ended; --fresh reads everything again and appends it.",
        )


def resumable(job: Job, before: Bundle, after: Bundle) -> Growth:
    """What becomes of the program's parts. GhcmError if the state of the job does not fit what is submitted: only
    responsive units and publish policies may differ; where in the file a thing stands plays no part."""
    growth = compare(version_of(before), version_of(after))
    obstacles = [str(each) for each in growth.obstacles if not each.resumable]
    if obstacles:
        raise GhcmError(
            f'job "{job.id}" cannot be resumed: the program has changed since',
            code="GHCM-607",
            detail=f"The state in its last snapshot is that of the program as it was: {'; '.join(obstacles)}.",
            hint="undo that part of the edit, or begin anew with --fresh.",
        )
    return growth


def _appended(program: Program) -> list[str]:
    """The append sinks of units that run without being asked to from outside: by themselves, or called by a policy."""
    tasks = [task.op for unit in program.units for task in unit.tasks]
    called = {op.call.unit for op in tasks if isinstance(op, Publish)}
    units: list[Unit] = [unit for unit in program.units if not unit.responsive or unit.name in called]
    written = {task.op.sink for unit in units for task in unit.tasks if isinstance(task.op, To)}
    return sorted(name for name in written if program.sink(name).mode is Mode.APPEND)


def _connectors(program: Program) -> list[object]:
    return [_connector(program, name) for name in _appended(program)]


def _connector(program: Program, sink: str) -> object:
    return program.sink(sink).connector
