"""Walks over a graph: into the steps of iterations, along event times that meet, and to all source positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ghcm.source import Origin
from ghcm.spg.graph import Program, Task, Unit
from ghcm.spg.ops import EventTime, Fused, Iterate, Union


def entry_of(ordinal: int) -> str:
    """The id of the task that stands for an input of the iteration inside of its step."""
    return f"${ordinal}"


def step_unit(unit: Unit, task: Task, op: Iterate) -> Unit:
    """The step of the iteration `task` as a unit: first what stands for its inputs (empty unions), then its own tasks.

    The records of a round have no event time, whatever those of the first one had.
    """
    taken = [task.collection, *(unit.task(edge.producer).collection for edge in task.inputs[1:])]
    entries = [Task(entry_of(ordinal), Union(), (), each, task.origin) for ordinal, each in enumerate(taken)]
    return replace(unit, tasks=(*entries, *op.tasks))


def all_tasks(unit: Unit) -> Iterator[Task]:
    """The tasks of a unit and those inside of its iterations, each behind what it reads."""
    for task in unit.tasks:
        if isinstance(task.op, Iterate):
            yield from all_tasks(replace(unit, tasks=task.op.tasks))
        yield task


def watermark_groups(unit: Unit) -> dict[str, frozenset[str]]:
    """By `EventTime` task those whose records may meet its own in some task behind both, itself too; and those that
    meet these: event time goes on in all of a group together.
    """
    above: dict[str, frozenset[str]] = {}
    found: dict[str, frozenset[str]] = {}
    for task in unit.tasks:
        mine = frozenset[str]().union(*(above[edge.producer] for edge in task.inputs))
        if isinstance(task.op, EventTime):
            mine |= {task.id}
        above[task.id] = mine
        group = mine.union(*(found.get(each, frozenset()) for each in mine))
        found |= dict.fromkeys(group, group)
    return found


def relative_to(program: Program, folder: Path) -> Program:
    """The program with every source position relative to `folder`, so that a bundle does not tell where it was built;
    those outside of it stay as they are. Messages about the program are given before it, with the user's own path.

    >>> from ghcm.spg.graph import Cache
    >>> from ghcm.spg.ops import Redis
    >>> origin = Origin("/home/me/jobs/a.istream", 3, 1)
    >>> relative_to(Program("a", (Cache("c", Redis("calls"), origin),), (), ()), Path("/home/me/jobs")).caches[0].origin
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
    if isinstance(op, Iterate):
        op = replace(op, tasks=tuple(_task(each, home) for each in op.tasks))
    return replace(task, op=op, origin=_seen(task.origin, home))


def _seen(origin: Origin, home: Path) -> Origin:
    path = Path(origin.file).resolve()
    if not origin.file or not path.is_relative_to(home):
        return origin
    return replace(origin, file=path.relative_to(home).as_posix())
