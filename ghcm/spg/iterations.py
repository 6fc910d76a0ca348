"""The graphs inside of iterations, as units of their own and in one list with the tasks around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Iterate, Union


def entry_of(ordinal: int) -> str:
    """The id of the task that stands for an input of the iteration inside of its step."""
    return f"${ordinal}"


def step_unit(unit: Unit, task: Task, op: Iterate) -> Unit:
    """The step of the iteration `task` as a unit: first what stands for its inputs (empty unions), then its own tasks.

    The records of a round have no event time, whatever those of the first one had.
    """
    taken = [task.collection, *(unit.task(edge.producer).collection for edge in task.inputs[1:])]
    entries = [Task(entry_of(place), Union(), (), each, task.origin) for place, each in enumerate(taken)]
    return replace(unit, tasks=(*entries, *op.tasks))


def all_tasks(unit: Unit) -> Iterator[Task]:
    """The tasks of a unit and those inside of its iterations, each behind what it reads."""
    for task in unit.tasks:
        if isinstance(task.op, Iterate):
            yield from all_tasks(replace(unit, tasks=task.op.tasks))
        yield task
