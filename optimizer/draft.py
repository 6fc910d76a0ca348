"""A unit while rules rewrite it: its tasks by id, who reads each of them, and changes that are data.

What has been built never changes: a draft holds frozen tasks and puts others in their place. It costs as much as what
is changed, however long the unit is.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ghcm.spg.graph import Input, Task, Unit
from ghcm.types import Shape


@dataclass(frozen=True, slots=True)
class Change:
    """Tasks that go, tasks that come (in place of those of the same id, else new), and whom the readers of a task read
    from then on `instead`, but for those that come.
    """

    put: tuple[Task, ...] = ()
    gone: tuple[str, ...] = ()
    instead: Mapping[str, str] = field(default_factory=dict[str, str])


class Draft:
    """The tasks of a unit, or of the step of an iteration, as they stand between two changes."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._tasks = {task.id: task for task in unit.tasks}
        self._ranks: dict[str, float] = {task.id: float(rank) for rank, task in enumerate(unit.tasks)}
        self._readers: dict[str, dict[str, None]] = {task.id: {} for task in unit.tasks}
        self._changed = False
        for task in unit.tasks:
            self._link(task)

    def __contains__(self, id: str) -> bool:
        return id in self._tasks

    def __iter__(self) -> Iterator[Task]:
        """The tasks as they stand, those that came last at the end."""
        return iter(tuple(self._tasks.values()))

    def task(self, id: str) -> Task:
        """The task of that id; KeyError if there is none."""
        return self._tasks[id]

    def readers(self, id: str) -> tuple[Task, ...]:
        """The tasks that read from it."""
        return tuple(self._tasks[each] for each in self._readers[id])

    def is_shared(self, id: str) -> bool:
        """Whether others than one task may see what it gives: several readers, or another unit that reads a table."""
        return len(self._readers[id]) > 1 or is_readable(self._tasks[id])

    def new_id(self, wish: str) -> str:
        """An id that no task has, made from one that the program gave."""
        while wish in self._tasks:
            wish += "'"
        return wish

    def apply(self, change: Change) -> tuple[str, ...]:
        """Make a change; the ids of all tasks that now stand beside something new."""
        self._changed = True
        touched: dict[str, None] = {}
        changed = {*change.gone, *(task.id for task in change.put)} & self._tasks.keys()
        left = {edge.producer for id in changed for edge in self._tasks[id].inputs}  # which may have one reader now
        rank = min(
            (self._ranks[id] for id in (*change.gone, *(task.id for task in change.put)) if id in self._ranks),
            default=0.0,
        )
        for id in change.gone:
            self._unlink(self._tasks.pop(id))
        for task in change.put:
            if task.id in self._tasks:
                self._unlink(self._tasks[task.id])
            self._tasks[task.id] = task
            self._ranks.setdefault(task.id, rank)
            self._readers.setdefault(task.id, {})
            touched[task.id] = None
        for task in change.put:
            self._link(task)
        for old, new in change.instead.items():
            for reader in tuple(self._readers[old]):
                if reader not in touched:
                    self._redirect(self._tasks[reader], old, new)
                    touched[reader] = None
        touched.update((id, None) for id in sorted(left, key=self._ranks.__getitem__) if id in self._tasks)
        for id in tuple(touched):
            touched.update(dict.fromkeys(edge.producer for edge in self._tasks[id].inputs))
            touched.update(self._readers[id])
        return tuple(touched)

    def result(self) -> Unit:
        """The unit with the tasks as they stand, each behind what it reads and else in their old order; the same
        object where nothing has changed.
        """
        return replace(self.unit, tasks=tuple(self._ordered())) if self._changed else self.unit

    def _ordered(self) -> Iterator[Task]:
        missing = {id: len({edge.producer for edge in task.inputs}) for id, task in self._tasks.items()}
        ready = [(self._ranks[id], id) for id, count in missing.items() if not count]
        heapq.heapify(ready)
        while ready:
            _, id = heapq.heappop(ready)
            yield self._tasks[id]
            for reader in self._readers[id]:
                missing[reader] -= 1
                if not missing[reader]:
                    heapq.heappush(ready, (self._ranks[reader], reader))

    def _redirect(self, task: Task, old: str, new: str) -> None:
        self._unlink(task)
        inputs = tuple(replace(edge, producer=new) if edge.producer == old else edge for edge in task.inputs)
        self._tasks[task.id] = replace(task, inputs=inputs)
        self._link(self._tasks[task.id])

    def _link(self, task: Task) -> None:
        for edge in task.inputs:
            self._readers[edge.producer][task.id] = None

    def _unlink(self, task: Task) -> None:
        for edge in task.inputs:
            self._readers[edge.producer].pop(task.id, None)


def is_readable(task: Task) -> bool:
    """Whether a unit of another version of the program may read it: a table that has a name."""
    return task.named and task.collection.shape is Shape.TABLE


def inputs_of(task: Task, producer: Task) -> tuple[Input, ...]:
    """What the task reads when it takes over a producer's work."""
    edges: Iterable[tuple[Input, ...]] = (
        producer.inputs if edge.producer == producer.id else (edge,) for edge in task.inputs
    )
    return tuple(edge for several in edges for edge in several)
