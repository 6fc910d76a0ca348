"""The instances of a task: which there are, which key groups and partitions each has, and what becomes of their state
when there are more or fewer of them than there were.

Keyed state goes to whoever owns its key group. What is kept by partition, or for all records alike, goes to all: what
an instance knows of partitions that it does not read is never asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ghcm.runtime.data.key_groups import GROUPS
from ghcm.runtime.state.runs import RunState, runs_of
from ghcm.spg.graph import Task
from ghcm.spg.traits import State, traits_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Instance:
    """One of the `of` instances of a task; `number` counts from 0."""

    task: str
    number: int = 0
    of: int = 1

    @property
    def name(self) -> str:
        """What tells it from all others of its unit.

        >>> Instance("shares").name, Instance("shares", 1, 3).name
        ('shares', 'shares#1')
        """
        return self.task if self.of == 1 else f"{self.task}#{self.number}"

    def owns(self, group: int) -> bool:
        """Whether the keys of this group come to it."""
        return owner(group, self.of) == self.number

    def share(self, things: Sequence[T]) -> list[T]:
        """Its part of things that are dealt out one by one.

        >>> Instance("flows", 1, 3).share("abcde")
        ['b', 'e']
        """
        return list(things[self.number :: self.of])


def owner(group: int, of: int) -> int:
    """The number of the instance that has a key group: each has neighbouring ones.

    >>> [owner(group, 3) for group in (0, 42, 43, 85, 86, 127)]
    [0, 0, 1, 1, 2, 2]
    """
    return group * of // GROUPS


def instances(task: Task) -> list[Instance]:
    """All instances of a task."""
    return [Instance(task.id, number, task.parallelism) for number in range(task.parallelism)]


def taken_over(task: Task, instance: Instance, saved: Sequence[Mapping[int, bytes]]) -> Iterator[Mapping[int, bytes]]:
    """Of the states that the instances of a task have saved what one of them goes on with."""
    divided = instance.of > 1 and traits_of(task.op).state is State.KEYED
    for state in saved:
        if not divided:
            yield state
            continue
        mine = {group: state[group] for group in state if instance.owns(group)}
        yield RunState(mine, [run.of(instance.owns) for run in runs_of(state)])
