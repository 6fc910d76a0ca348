"""A stream unit that runs: what it is made of, how it starts from its last snapshot and how it ends.

How snapshots are taken stands in `ghcm.runtime.snapshot.coordinator`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

from ghcm.errors import GhcmError, suggest
from ghcm.runtime.contract import INFINITY, NEVER, Operator, Table
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.engine.host import Saved
from ghcm.runtime.engine.publisher import Publisher
from ghcm.runtime.engine.scheduler import Scheduler
from ghcm.runtime.engine.services import Services
from ghcm.runtime.engine.tasklet import OperatorTasklet
from ghcm.runtime.engine.unit_failure import unit_failure
from ghcm.runtime.engine.watermarks import Idleness
from ghcm.runtime.engine.wiring import AnyTasklet, Begun, Graph, Running, wire
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.runtime.sinks.dead_letters import DeadLetterWriter
from ghcm.runtime.slot.policy_swap import add, drop
from ghcm.runtime.snapshot.coordinator import DEAD, SnapshotCoordinator
from ghcm.runtime.snapshot.store import Snapshot, TaskState
from ghcm.runtime.worker import Worker
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Publish

_log = logging.getLogger(__name__)


class State(Enum):
    """Where a unit stands."""

    STARTING = "starting"
    RUNNING = "running"
    FINISHED = "finished"
    """All inputs were read to the end and everything is committed."""
    FAILED = "failed"
    STOPPED = "stopped"


class UnitRun:
    """One running stream unit. All methods belong to the loop's thread. `changed` is called after each change of state
    and each commit.
    """

    def __init__(self, unit: Unit, services: Services, changed: Callable[[UnitRun], None]) -> None:
        self.unit = unit
        self.state = State.STARTING
        self.error: GhcmError | None = None
        self.graph = Graph()
        self.scheduler: Scheduler = services.scheduler
        self._services = services
        self._changed = changed
        self._letters = DeadLetterWriter(
            services.open_dead_writer(unit, "dead"),
            Worker(f"{unit.name}-dead", services.scheduler.post),
            lambda error: self.failed(DEAD, error),
        )
        self.publisher = Publisher(unit.name, services, lambda error: self.failed("publish", error), self._sent)
        self.snapshots = SnapshotCoordinator(
            unit, services, self._letters, self.publisher, self.failed, self._committed
        )
        self._restored: Snapshot | None = None
        self._opening: set[str] = set()

    # --- starting ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load the last snapshot beside the loop, then build and open everything."""
        self.snapshots.load(self._loaded)

    def _loaded(self, snapshot: Snapshot | None) -> None:
        self._restored = snapshot
        try:
            running = Running(
                self.unit,
                self._services,
                self,
                self.snapshots.version,
                ready=self._ready,
                begun=self._goes_on_from,
                idleness=Idleness(self.unit),
            )
            self.graph = wire(running)
        except Exception as error:  # an operator that cannot be built fails its unit, not the slot
            self.failed("@start", error)
            return
        if snapshot is not None:
            _log.info('unit "%s" goes on from snapshot %d', self.unit.name, snapshot.number)
        versions: Mapping[str, str] = snapshot.versions if snapshot is not None else {}
        self._opening = {*self.graph.sinks, *([DEAD] if snapshot is not None else [])}
        for name, sink in self.graph.sinks.items():
            sink.open(versions.get(name), partial(self._opened, name))
        if snapshot is not None:
            count = snapshot.counts.get("dead", 0)
            self._letters.recover(versions.get(DEAD), count, lambda: self._opened(DEAD))
        if not self._opening:
            self._open_sources()

    def _opened(self, name: str) -> None:
        self._opening.discard(name)
        if not self._opening and self.state is State.STARTING:
            self._open_sources()

    def _open_sources(self) -> None:
        self.state = State.RUNNING
        self.snapshots.open(self.graph)
        self._changed(self)
        if self._restored is not None:
            self.publisher.send(self._restored.publications)
        for name, source in self.graph.sources.items():
            saved = self._saved(name)
            try:
                source.open(saved.position, finished=saved.finished)
            except Exception as error:  # a connector that cannot be read fails its unit, not the slot
                self.failed(name, error)
                return

    def _goes_on_from(self, task: Task) -> Begun:
        """A publish policy that began with a later version than the snapshot knows goes on from nothing; and what has
        ended before it began is not for it to count, nor to complete.
        """
        snapshot, saved = self._restored, self._saved(task.id)
        if isinstance(task.op, Publish):
            known = snapshot is None or task.id in snapshot.tasks
            if not known or saved.since != self._services.began(self.unit.name, task.id):
                return Begun(finished=all(self._saved(edge.producer).finished for edge in task.inputs))
        return Begun(saved.groups, saved.finished)

    def _saved(self, task: str) -> TaskState:
        """What a task goes on from; nothing where there is no snapshot or it did not know the task."""
        return TaskState() if self._restored is None else self._restored.tasks.get(task, TaskState())

    def _ready(self) -> bool:
        """Whether sources may give anything."""
        return not (self._letters.congested or self.snapshots.quiescing)

    # --- changing ----------------------------------------------------------------------------------------------------

    def upgrade(self, unit: Unit, services: Services, dropped: Sequence[str], added: Mapping[str, Operator]) -> None:
        """Be another version of the unit, which differs in publish policies alone; while it is quiesced where any are
        dropped or added.
        """
        if self.state is State.RUNNING:
            for name in dropped:
                drop(self.graph, name)
                self.snapshots.forget(name)
            for name, operator in added.items():
                if add(self.graph, unit.task(name), operator, self):
                    self.snapshots.finished(name, Saved(finished=True))
        self.unit, self._services = unit, services
        self.publisher.services = self.snapshots.services = services

    # --- host (see host.Host) ----------------------------------------------------------------------------------------

    def mark_dirty(self) -> None:
        """Something has happened that the next snapshot has to hold."""
        self.snapshots.mark_dirty()

    def dead(self, letter: DeadLetter) -> None:
        """A record has failed; where too many wait for their commit, a snapshot is taken at once."""
        self._letters.note(letter)
        if self._letters.congested:
            self.snapshots.begin()

    def acknowledge(self, name: str, snapshot: int, saved: Saved) -> None:
        """A tasklet has passed the barrier."""
        self.snapshots.acknowledge(name, snapshot, saved)

    def finished(self, name: str, saved: Saved) -> None:
        """A tasklet has ended."""
        self.snapshots.finished(name, saved)
        self._perhaps_end()

    def _committed(self) -> None:
        self._changed(self)
        self._perhaps_end()

    def _sent(self) -> None:
        """An instruction has left; the next snapshot forgets those that have, lest a restart sends them again."""
        if not self.publisher.unsent:
            self.snapshots.mark_dirty()
        self._perhaps_end()

    # --- ending ------------------------------------------------------------------------------------------------------

    def _perhaps_end(self) -> None:
        if self.state is State.RUNNING and self.snapshots.ended() and not self.publisher.unsent:
            self._close(State.FINISHED)

    def failed(self, name: str, error: Exception) -> None:
        """A part of the unit cannot go on, so the unit ends; what is committed stays and a restart goes on from
        there.
        """
        if self.state not in (State.STARTING, State.RUNNING):
            return
        self.error = unit_failure(self.unit, name, error, self._services.compiled.line)
        self._close(State.FAILED)

    def stop(self) -> None:
        """End now, without a snapshot."""
        if self.state in (State.STARTING, State.RUNNING):
            self._close(State.STOPPED)

    def _close(self, state: State) -> None:
        self.state = state
        self.graph.close()
        self._letters.close()
        self.publisher.close()
        self.snapshots.close()
        self._changed(self)

    def join(self, deadline: float) -> None:
        """Wait until threads and files are given back, or for the deadline (monotonic clock); not in the loop."""
        for worker in self._workers():
            worker.join(deadline)

    # --- looking in --------------------------------------------------------------------------------------------------

    def table(self, task: str) -> tuple[Table, int]:
        """A named table and its watermark. GhcmError if the unit has none of that name."""
        if self.error is not None:
            raise self.error
        tasklet = self.graph.operators.get(task)
        if tasklet is None or not isinstance(tasklet.operator, Table):
            raise GhcmError(f'unit "{self.unit.name}" has no table "{task}"', code="GHCM-747")
        return tasklet.operator, tasklet.watermark

    def status(self) -> dict[str, object]:
        """Where it stands, as JSON."""
        troubles = [worker.troubled for worker in self._workers() if worker.troubled]
        return {
            "state": self.state.value,
            "reason": None if self.error is None else self.error.message,
            "trouble": troubles[0] if troubles else None,
            "dead": self._letters.count,
            "snapshots": self.snapshots.count,
            "last_commit": self.snapshots.last_commit,
            "published": self.publisher.sent,
            "tasks": {tasklet.name: tasklet_status(tasklet) for tasklet in self.graph.all},
        }

    def _workers(self) -> list[Worker]:
        sinks = [sink.worker for sink in self.graph.sinks.values()]
        return [self.snapshots.saver, self._letters.worker, self.publisher.worker, *sinks]


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


@dataclass(frozen=True, slots=True)
class Tables:
    """The named tables of these units, as responsive units read them. To be asked in the loop's thread, between two
    steps; GhcmError where there is no such unit or table.
    """

    runs: Mapping[str, UnitRun]

    def pairs(self, unit: str, task: str, key: object, one: bool) -> list[tuple[object, object]]:
        """The pairs of a table; only that of the key where `one` is asked for, which may be null."""
        table, _ = self._run(unit).table(task)
        if not one:
            return table.copy()
        if key is None:
            return [pair for pair in table.copy() if pair[0] is None]
        return table.copy(key)

    def watermark(self, unit: str, task: str) -> int:
        """The time that a table is as of: where event time says nothing, now."""
        watermark = self._run(unit).table(task)[1]
        return watermark if NEVER < watermark < INFINITY else now_us()

    def _run(self, unit: str) -> UnitRun:
        run = self.runs.get(unit)
        if run is None:
            raise GhcmError(f'unit "{unit}" does not run here', code="GHCM-747", hint=suggest(unit, self.runs))
        return run
