"""From the tasks of a unit to tasklets with edges between them; the same for a unit that runs for ever and for one
call.

One slot: every exchange is a hand-over within it. Who opens sources and sinks, and what a barrier means, is the
caller's business (`Host`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias, assert_never

from ghcm.runtime.contract import Table, TableReader
from ghcm.runtime.engine.edge import Edge
from ghcm.runtime.engine.host import Host, TaskState
from ghcm.runtime.engine.operator_tasklet import OperatorTasklet
from ghcm.runtime.engine.services import Services
from ghcm.runtime.engine.sink_tasklet import ReplyTasklet, SinkTasklet
from ghcm.runtime.engine.source_tasklet import SourceTasklet
from ghcm.runtime.engine.watermarks import Idleness
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.sinks.joint import JointWriter
from ghcm.runtime.worker import Worker
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import To
from ghcm.spg.traits import Role, traits_of

AnyTasklet: TypeAlias = SourceTasklet | OperatorTasklet | SinkTasklet | ReplyTasklet


@dataclass(frozen=True, slots=True)
class Running:
    """What tasklets are made for: a unit that runs by itself, or a `call` (its id), whose tasklets go before others.

    `version` names what a sink commits with a snapshot. `parameters`, and `versions` of sinks to be read in place of
    the latest, are a call's. `ready` says whether sources may give anything just now, `begun` what a task goes on from;
    `idleness` is that of a unit.
    """

    unit: Unit
    services: Services
    host: Host
    version: Callable[[int, str], str]
    call: str | None = None
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    ready: Callable[[], bool] = lambda: True
    begun: Callable[[Task], TaskState] = lambda task: TaskState()
    idleness: Idleness | None = None

    @property
    def urgent(self) -> bool:
        """Whether its tasklets go before those of others."""
        return self.call is not None and self.unit.kind == "stream"


@dataclass(slots=True)
class Graph:
    """The tasklets of a unit by task id, in topological order."""

    sources: dict[str, SourceTasklet] = field(default_factory=dict[str, SourceTasklet])
    operators: dict[str, OperatorTasklet] = field(default_factory=dict[str, OperatorTasklet])
    sinks: dict[str, SinkTasklet] = field(default_factory=dict[str, SinkTasklet])
    replies: dict[str, ReplyTasklet] = field(default_factory=dict[str, ReplyTasklet])
    joint: dict[str, JointWriter] = field(default_factory=dict[str, JointWriter])
    """The writers that several tasks of a call share, by sink."""

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

    def close(self) -> None:
        """Close all tasklets."""
        for tasklet in self.all:
            tasklet.close()


def wire(running: Running) -> Graph:
    """Make the tasklets of a unit or call, with their state restored and nothing opened, and join them."""
    tasks, wake, graph = running.unit.tasks, running.services.scheduler.wake, Graph()
    edges = {task.id: [Edge() for _ in task.inputs] for task in tasks}
    behind: dict[str, list[Edge]] = {task.id: [] for task in tasks}
    for task in tasks:
        for edge, input_ in zip(edges[task.id], task.inputs, strict=True):
            behind[input_.producer].append(edge)
    try:
        for task in tasks:
            tasklet = _make(task, edges[task.id], behind[task.id], running, graph)
            if isinstance(tasklet, OperatorTasklet) and isinstance(tasklet.operator, TableReader):
                table = graph.operators[task.inputs[0].producer].operator
                assert isinstance(table, Table), "what is read is a table"
                tasklet.operator.reads(table)
            for edge in edges[task.id]:
                edge.wake_receiver = partial(wake, tasklet)
            for edge in behind[task.id]:
                edge.wake_sender = partial(wake, tasklet)
    except Exception:
        graph.close()  # sinks have threads already
        raise
    return graph


def _opening(task: Task, running: Running, graph: Graph) -> Callable[[], SinkWriter]:
    """What opens the writer of a task. All of a call that a sink gets is one version, whichever tasks it comes from."""
    opening = running.services.open_writer(task, running.unit, call=running.call)
    assert isinstance(task.op, To), "tasks at the end write"
    sink = task.op.sink
    beside = sum(isinstance(each.op, To) and each.op.sink == sink for each in running.unit.tasks)
    if running.call is None or beside == 1:
        return opening
    return graph.joint.setdefault(sink, JointWriter(opening, beside)).open


def _make(task: Task, inputs: list[Edge], outputs: list[Edge], running: Running, graph: Graph) -> AnyTasklet:
    unit, services, host, urgent = running.unit, running.services, running.host, running.urgent
    role = traits_of(task.op).role
    match role:
        case Role.SOURCE:
            source = services.source(task, unit, running.parameters, running.versions)
            reading = SourceTasklet(unit.name, task, source, outputs, host, ready=running.ready, urgent=urgent)
            return graph.sources.setdefault(task.id, reading)
        case Role.SINK:
            opening = _opening(task, running, graph)
            worker = Worker(f"{unit.name}-{task.id}", services.scheduler.post)
            of_call = running.call is not None
            writing = SinkTasklet(task, opening, worker, inputs[0], host, running.version, call=of_call, urgent=urgent)
            return graph.sinks.setdefault(task.id, writing)
        case Role.REPLY:
            return graph.replies.setdefault(task.id, ReplyTasklet(task.id, inputs[0], host))
        case Role.TRANSFORM | Role.CALL:
            begun, operator = running.begun(task), services.operator(task, unit, running.parameters)
            if begun.groups:
                operator.restore(begun.groups)
            follower = None if running.idleness is None else running.idleness.follower(task.id)
            working = OperatorTasklet(
                task.id, operator, inputs, outputs, host, urgent=urgent, done_before=begun.finished, follower=follower
            )
            return graph.operators.setdefault(task.id, working)
        case _:
            assert_never(role)
