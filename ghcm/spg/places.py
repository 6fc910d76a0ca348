"""Makes the places in a graph those in the program's own folder, so that a bundle does not tell where it was built.

It changes nothing but places; messages about the program are given before, with the path that the user wrote.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ghcm.source import Origin
from ghcm.spg.graph import Program, Task, Unit
from ghcm.spg.ops import Fused


def seen_from(program: Program, folder: Path) -> Program:
    """The program with every place given relative to `folder`; places outside of it stay as they are.

    >>> from ghcm.spg.graph import Cache
    >>> from ghcm.spg.ops import Redis
    >>> place = Origin("/home/me/jobs/a.istream", 3, 1)
    >>> seen_from(Program("a", (Cache("c", Redis("calls"), place),), (), ()), Path("/home/me/jobs")).caches[0].origin
    Origin(file='a.istream', line=3, column=1)
    """
    home = folder.resolve()
    return replace(
        program,
        caches=tuple(replace(each, origin=_seen(each.origin, home)) for each in program.caches),
        sinks=tuple(replace(each, origin=_seen(each.origin, home)) for each in program.sinks),
        units=tuple(_unit(each, home) for each in program.units),
    )


def _unit(unit: Unit, home: Path) -> Unit:
    return replace(unit, origin=_seen(unit.origin, home), tasks=tuple(_task(each, home) for each in unit.tasks))


def _task(task: Task, home: Path) -> Task:
    op = task.op
    if isinstance(op, Fused):
        stages = (replace(each, origin=str(_seen(Origin.parse(each.origin), home))) for each in op.stages)
        op = replace(op, stages=tuple(stages))
    return replace(task, op=op, origin=_seen(task.origin, home))


def _seen(origin: Origin, home: Path) -> Origin:
    place = Path(origin.file).resolve()
    if not origin.file or not place.is_relative_to(home):
        return origin
    return replace(origin, file=place.relative_to(home).as_posix())
