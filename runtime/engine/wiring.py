"""From the tasks of a unit to tasklets with edges between them; the same for a unit that runs for ever and for one
call.

One slot: every exchange is a hand-over within it. Who opens sources and sinks, and what a barrier means, is the
caller's business (`Parts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeAlias, assert_never

from ghcm.runtime.contract import Table, TableReader
from ghcm.runtime.engine.edge import Edge, Inlet
from ghcm.runtime.engine.scheduler import Scheduler
from ghcm.runtime.engine.sink_tasklet import ReplyTasklet, SinkTasklet
from ghcm.runtime.engine.source_tasklet import SourceTasklet
from ghcm.runtime.engine.tasklet import OperatorTasklet
from ghcm.spg.graph import Task, Unit
from ghcm.spg.traits import Role, traits_of

AnyTasklet: TypeAlias = SourceTasklet | OperatorTasklet | SinkTasklet | ReplyTasklet


class Parts(Protocol):
    """Makes the tasklets of one running unit or call."""

    scheduler: Scheduler

    def source(self, task: Task, outputs: Sequence[Inlet]) -> SourceTasklet:
        """The tasklet of a source or read; not opened yet."""
        ...

    def operator(self, task: Task, inputs: Sequence[Edge], outputs: Sequence[Inlet]) -> OperatorTasklet:
        """The tasklet of an operator, its state restored."""
        ...

    def sink(self, task: Task, edge: Edge) -> SinkTasklet:
        """The tasklet of a sink; not opened yet."""
        ...

    def reply(self, task: Task, edge: Edge) -> ReplyTasklet:
        """The tasklet of a reply."""
        ...


@dataclass(slots=True)
class Graph:
    """The tasklets of a unit by task id, in topological order."""

    sources: dict[str, SourceTasklet] = field(default_factory=dict[str, SourceTasklet])
    operators: dict[str, OperatorTasklet] = field(default_factory=dict[str, OperatorTasklet])
    sinks: dict[str, SinkTasklet] = field(default_factory=dict[str, SinkTasklet])
    replies: dict[str, ReplyTasklet] = field(default_factory=dict[str, ReplyTasklet])

    @property
    def names(self) -> set[str]:
        """The ids of all tasks."""
        return {*self.sources, *self.operators, *self.sinks, *self.replies}

    @property
    def all(self) -> list[AnyTasklet]:
        """All tasklets."""
        return [*self.sources.values(), *self.operators.values(), *self.sinks.values(), *self.replies.values()]

    @property
    def producers(self) -> list[SourceTasklet | OperatorTasklet]:
        """The tasklets that have an outbox."""
        return [*self.sources.values(), *self.operators.values()]


def wire(unit: Unit, parts: Parts) -> Graph:
    """Make the tasklets of a unit and join them."""
    graph = Graph()
    edges = {task.id: [Edge() for _ in task.inputs] for task in unit.tasks}
    behind: dict[str, list[Edge]] = {task.id: [] for task in unit.tasks}
    for task in unit.tasks:
        for edge, input_ in zip(edges[task.id], task.inputs, strict=True):
            behind[input_.producer].append(edge)
    for task in unit.tasks:
        tasklet = _make(task, edges[task.id], behind[task.id], parts, graph)
        if isinstance(tasklet, OperatorTasklet) and isinstance(tasklet.operator, TableReader):
            table = graph.operators[task.inputs[0].producer].operator
            assert isinstance(table, Table), "what is read is a table"
            tasklet.operator.reads(table)
        for edge in edges[task.id]:
            edge.wake_receiver = partial(parts.scheduler.wake, tasklet)
        for edge in behind[task.id]:
            edge.wake_sender = partial(parts.scheduler.wake, tasklet)
    return graph


def _make(task: Task, inputs: list[Edge], outputs: list[Edge], parts: Parts, graph: Graph) -> AnyTasklet:
    role = traits_of(task.op).role
    match role:
        case Role.SOURCE:
            return graph.sources.setdefault(task.id, parts.source(task, outputs))
        case Role.SINK:
            return graph.sinks.setdefault(task.id, parts.sink(task, inputs[0]))
        case Role.REPLY:
            return graph.replies.setdefault(task.id, parts.reply(task, inputs[0]))
        case Role.TRANSFORM | Role.CALL:
            return graph.operators.setdefault(task.id, parts.operator(task, inputs, outputs))
        case _:
            assert_never(role)
