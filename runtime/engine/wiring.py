"""From the tasks of a unit to tasklets with edges between them; the same for a unit that runs for ever and for one
call.

One slot: every exchange is a hand-over within it, from each instance of a task to those of the next. Who opens sources
and sinks, and what a barrier means, is the caller's business (`Host`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias, assert_never

from ghcm.runtime.contract import Table, TableReader
from ghcm.runtime.engine.edge import Edge
from ghcm.runtime.engine.host import Host, TaskState
from ghcm.runtime.engine.inlets import Ends
from ghcm.runtime.engine.instances import Instance, instances, taken_over
from ghcm.runtime.engine.operator_tasklet import OperatorTasklet
from ghcm.runtime.engine.routes import route
from ghcm.runtime.engine.services import Services
from ghcm.runtime.engine.sink_tasklet import ReplyTasklet, SinkTasklet
from ghcm.runtime.engine.source_tasklet import SourceTasklet
from ghcm.runtime.engine.watermarks import Idleness
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.sinks.joint import JointWriter
from ghcm.runtime.worker import Worker
from ghcm.spg.graph import Broadcast, Exchange, Forward, Global, Hash, Program, Rebalance, Task, Unit
from ghcm.spg.ops import AggregateByKey, Count, GroupByKey, Publish, ReadTable, ReduceByKey, To
from ghcm.spg.stages import unites
from ghcm.spg.traits import Role, traits_of
from ghcm.types import Shape

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
    """The tasklets of a unit by the names of their instances, in topological order."""

    sources: dict[str, SourceTasklet] = field(default_factory=dict[str, SourceTasklet])
    operators: dict[str, OperatorTasklet] = field(default_factory=dict[str, OperatorTasklet])
    sinks: dict[str, SinkTasklet] = field(default_factory=dict[str, SinkTasklet])
    replies: dict[str, ReplyTasklet] = field(default_factory=dict[str, ReplyTasklet])
    joint: dict[str, JointWriter] = field(default_factory=dict[str, JointWriter])
    """The writers that several tasks of a call share, by sink."""

    @property
    def names(self) -> set[str]:
        """The names of all instances."""
        return {*self.sources, *self.operators, *self.sinks, *self.replies}

    @property
    def all(self) -> list[AnyTasklet]:
        """All tasklets."""
        return [*self.sources.values(), *self.operators.values(), *self.sinks.values(), *self.replies.values()]

    @property
    def producers(self) -> list[SourceTasklet | OperatorTasklet]:
        """The tasklets that have an outbox."""
        return [*self.sources.values(), *self.operators.values()]

    def producers_of(self, task: str) -> list[SourceTasklet | OperatorTasklet]:
        """The instances of a task that gives something on, by number."""
        return [each for each in self.producers if each.instance.task == task]

    def close(self) -> None:
        """Close all tasklets."""
        for tasklet in self.all:
            tasklet.close()


def wire(running: Running) -> Graph:
    """Make the tasklets of a unit or call, with their state restored and nothing opened, and join them."""
    tasks, wake, graph = running.unit.tasks, running.services.scheduler.wake, Graph()
    ends = _edges(running.unit)
    try:
        for task in tasks:
            for instance in instances(task):
                mine = ends[instance]
                tasklet = _make(task, instance, mine, running, graph)
                if isinstance(tasklet, OperatorTasklet) and isinstance(tasklet.operator, TableReader):
                    table = graph.producers_of(task.inputs[0].producer)[instance.number]
                    assert isinstance(table, OperatorTasklet) and isinstance(table.operator, Table), "a table is read"
                    tasklet.operator.reads(table.operator)
                for edge in mine.edges:
                    edge.wake_receiver = partial(wake, tasklet)
                for edge in (edge for route_ in mine.routes for edge in route_.edges):
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


def _edges(unit: Unit) -> dict[Instance, Ends]:
    """All edges of a unit, by the instances at their ends."""
    ends = {instance: Ends() for task in unit.tasks for instance in instances(task)}
    above: dict[str, set[str]] = {}
    for task in unit.tasks:
        before, origins = 0, [{each.producer, *above[each.producer]} for each in task.inputs]
        above[task.id] = set[str]().union(*origins)
        for ordinal, input_ in enumerate(task.inputs):
            shared = any(origins[ordinal] & other for at, other in enumerate(origins) if at != ordinal)
            producer = unit.task(input_.producer)
            for sender in instances(producer):
                edges: list[Edge] = []
                for number in _receivers(task, input_.exchange, sender, before):
                    edge = Edge(shared=shared)
                    edges.append(edge)
                    receiver = ends[Instance(task.id, number, task.parallelism)]
                    receiver.edges.append(edge)
                    receiver.ordinals.append(ordinal)
                ends[sender].routes.append(route(input_.exchange, edges, producer.schema))
            before += producer.parallelism
    return ends


def _receivers(task: Task, exchange: Exchange, sender: Instance, before: int) -> Sequence[int]:
    """The instances of a task to which an instance before it has an edge; as many as `before` stand at other inputs in
    front of it, by which those of a union are dealt out.
    """
    match exchange:
        case Forward():
            return ((sender.number + before if unites(task.op) else sender.number) % task.parallelism,)
        case Global():
            return (0,)
        case Hash() | Broadcast() | Rebalance():
            return range(task.parallelism)
        case _:
            assert_never(exchange)


def _make(task: Task, instance: Instance, ends: Ends, running: Running, graph: Graph) -> AnyTasklet:
    unit, services, host, urgent = running.unit, running.services, running.host, running.urgent
    name, role = instance.name, traits_of(task.op).role
    match role:
        case Role.SOURCE:
            source = services.source(task, unit, running.parameters, running.versions)
            reading = SourceTasklet(
                unit.name, task, instance, source, ends.routes, host, ready=running.ready, urgent=urgent
            )
            return graph.sources.setdefault(name, reading)
        case Role.SINK:
            opening = _opening(task, running, graph)
            worker = Worker(f"{unit.name}-{task.id}", services.scheduler.post)
            of_call = running.call is not None
            edges = ends.edges
            writing = SinkTasklet(task, opening, worker, edges, host, running.version, call=of_call, urgent=urgent)
            return graph.sinks.setdefault(name, writing)
        case Role.REPLY:
            return graph.replies.setdefault(name, ReplyTasklet(task.id, ends.edges[0], host))
        case Role.TRANSFORM | Role.CALL:
            return graph.operators.setdefault(name, _operator(task, instance, ends, running))
        case _:
            assert_never(role)


def _operator(task: Task, instance: Instance, ends: Ends, running: Running) -> OperatorTasklet:
    begun, operator = running.begun(task), running.services.operator(task, running.unit, running.parameters)
    for groups in taken_over(task, instance, begun.groups):
        operator.restore(groups)
    return OperatorTasklet(
        instance,
        operator,
        ends,
        running.host,
        urgent=running.urgent,
        done_before=begun.finished,
        computes=not running.urgent and _may_compute(task, running.unit, running.services.program),
        follower=None if running.idleness is None else running.idleness.follower(instance.name),
    )


def _may_compute(task: Task, unit: Unit, program: Program) -> bool:
    """Whether a compute thread may process its batches: not where calls read its table, lest they wait for it, nor
    where it publishes, which is the loop's to do. Of other tables only groups have large steps.
    """
    if task.collection.shape is not Shape.TABLE:
        return not isinstance(task.op, Publish)
    tasks = (each.op for other in program.units for each in other.tasks)
    read = any(isinstance(op, ReadTable) and (op.unit, op.task) == (unit.name, task.id) for op in tasks)
    return isinstance(task.op, AggregateByKey | Count | GroupByKey | ReduceByKey) and not read
