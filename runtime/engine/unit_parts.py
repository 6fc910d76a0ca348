"""What a stream unit that runs is made of: a tasklet for each task, its state restored; and how each of them stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ghcm.runtime.engine.edge import Edge, Inlet
from ghcm.runtime.engine.host import Host
from ghcm.runtime.engine.idleness import Idleness
from ghcm.runtime.engine.operator import INFINITY, NEVER
from ghcm.runtime.engine.reply_tasklet import ReplyTasklet
from ghcm.runtime.engine.scheduler import Scheduler
from ghcm.runtime.engine.services import Services
from ghcm.runtime.engine.sink_tasklet import SinkTasklet
from ghcm.runtime.engine.source_tasklet import SourceTasklet
from ghcm.runtime.engine.tasklet import OperatorTasklet
from ghcm.runtime.engine.wiring import AnyTasklet
from ghcm.runtime.engine.worker import Worker
from ghcm.runtime.snapshot.snapshot import Snapshot, TaskState
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Publish, To


class UnitParts:
    """The `Parts` of a unit that nobody calls. `ready` says whether it takes anything just now; `version` names what a
    sink commits with a snapshot; `restored` is the snapshot that the unit goes on from.
    """

    def __init__(
        self,
        unit: Unit,
        services: Services,
        host: Host,
        ready: Callable[[], bool],
        version: Callable[[int, str], str],
        restored: Snapshot | None,
    ) -> None:
        self.scheduler: Scheduler = services.scheduler
        self._unit = unit
        self._services = services
        self._host = host
        self._ready = ready
        self._version = version
        self._restored = restored
        self._idleness = Idleness(unit)

    def source(self, task: Task, outputs: Sequence[Inlet]) -> SourceTasklet:
        """The tasklet of a source."""
        return SourceTasklet(
            task.id,
            self._services.source(task, self._unit, {}, {}),
            outputs,
            self._host,
            letter=self._services.letter(task, self._unit),
            ready=self._ready,
        )

    def operator(self, task: Task, inputs: Sequence[Edge], outputs: Sequence[Inlet]) -> OperatorTasklet:
        """The tasklet of an operator with its state restored."""
        saved = self._begun(task) if isinstance(task.op, Publish) else saved_state(self._restored, task.id)
        operator = self._services.operator(task, self._unit, {})
        if saved.groups:
            operator.restore(saved.groups)
        return OperatorTasklet(
            task.id,
            operator,
            inputs,
            outputs,
            self._host,
            done_before=saved.finished,
            member=self._idleness.member(task.id),
        )

    def _begun(self, policy: Task) -> TaskState:
        """What a publish policy goes on from: nothing where it began with a later version than the snapshot knows."""
        snapshot = self._restored
        if snapshot is None or policy.id in snapshot.tasks:
            saved = saved_state(snapshot, policy.id)
            if saved.since == self._services.began(self._unit.name, policy.id):
                return saved
        # What has ended before the policy began is not for it to count, nor to complete.
        return TaskState(finished=all(saved_state(snapshot, edge.producer).finished for edge in policy.inputs))

    def sink(self, task: Task, edge: Edge) -> SinkTasklet:
        """The tasklet of a sink."""
        assert isinstance(task.op, To)
        return SinkTasklet(
            task.id,
            task.op.sink,
            self._services.open_writer(task, self._unit),
            Worker(f"{self._unit.name}-{task.id}", self.scheduler.post),
            edge,
            self._host,
            lambda snapshot: self._version(snapshot, task.id),
        )

    def reply(self, task: Task, edge: Edge) -> ReplyTasklet:
        """Only calls have replies."""
        raise AssertionError("a unit that nobody calls cannot reply")


def saved_state(snapshot: Snapshot | None, task: str) -> TaskState:
    """What a task goes on from; nothing where there is no snapshot or it did not know the task."""
    return TaskState() if snapshot is None else snapshot.tasks.get(task, TaskState())


def tasklet_status(tasklet: AnyTasklet) -> dict[str, object]:
    """How a tasklet stands, as JSON."""
    return {
        "in": tasklet.counters.taken,
        "out": tasklet.counters.given,
        "dead": tasklet.counters.dead,
        "backlog": tasklet.backlog(),
        "watermark": _moment(tasklet) if isinstance(tasklet, OperatorTasklet) else None,
    }


def _moment(tasklet: OperatorTasklet) -> int | None:
    """The watermark where it is a time."""
    return tasklet.watermark if NEVER < tasklet.watermark < INFINITY else None
