"""A stream unit that runs: what it is made of, how it starts from its last snapshot, how its publish policies are
swapped when the program becomes another version, and how it ends.

What a swap changes is made ready before anything is touched (`swap_of`). Policies are taken out of a graph and put
into it between two steps, while the unit is quiesced; one gives nothing on, so the tasks around it notice nothing. How
snapshots are taken stands in `ghcm.runtime.snapshot.coordinator`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

from ghcm.errors import GhcmError, suggest
from ghcm.runtime.contract import INFINITY, NEVER, Operator, Table
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.engine.edge import Edge, Watermark
from ghcm.runtime.engine.host import Host, Saved, TaskState
from ghcm.runtime.engine.inlets import Ends
from ghcm.runtime.engine.instances import Instance
from ghcm.runtime.engine.operator_tasklet import OperatorTasklet
from ghcm.runtime.engine.publisher import Publisher
from ghcm.runtime.engine.routes import Direct
from ghcm.runtime.engine.scheduler import Scheduler
from ghcm.runtime.engine.services import Services
from ghcm.runtime.engine.unit_failure import unit_failure
from ghcm.runtime.engine.watermarks import Idleness
from ghcm.runtime.engine.wiring import AnyTasklet, Graph, Running, wire
from ghcm.runtime.histogram import Histogram
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.runtime.sinks.dead_letters import DeadLetterWriter
from ghcm.runtime.sinks.sink import load
from ghcm.runtime.snapshot.coordinator import DEAD, SnapshotCoordinator
from ghcm.runtime.snapshot.store import Snapshot
from ghcm.runtime.upgrade import alike, policies, without_policies
from ghcm.runtime.worker import Worker
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Publish, To
from ghcm.types import Struct

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

    keeps_state = True

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
        self._restored = Snapshot(0, {})
        self._opening: set[str] = set()
        load(services.program.sink(task.op.sink) for task in unit.tasks if isinstance(task.op, To))

    # --- starting ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load the last snapshot beside the loop, then build and open everything."""
        self.snapshots.load(self._loaded)

    def _loaded(self, snapshot: Snapshot) -> None:
        """`snapshot`: the last one, with number 0 where there is none."""
        if self.state is not State.STARTING:  # it was stopped meanwhile, and nobody would close what is made now
            return
        self._restored, idleness = snapshot, Idleness(self.unit)
        version, ready, begun = self.snapshots.version, self._ready, self._goes_on_from
        try:
            self.graph = wire(
                Running(self.unit, self._services, self, version, ready=ready, begun=begun, idleness=idleness)
            )
        except Exception as error:  # an operator that cannot be built fails its unit, not the slot
            self.failed("@start", error)
            return
        self._opening = {*self.graph.sinks, *([DEAD] if snapshot.number else [])}
        for name, sink in self.graph.sinks.items():
            sink.open(snapshot.versions.get(name), partial(self._opened, name))
        if snapshot.number:
            _log.info('unit "%s" goes on from snapshot %d', self.unit.name, snapshot.number)
            count = snapshot.counts.get("dead", 0)
            self._letters.recover(snapshot.versions.get(DEAD), count, lambda: self._opened(DEAD))
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
        self.publisher.send(self._restored.publications)
        for source in self.graph.sources.values():
            saved = self._saved(source.instance.task)
            try:
                source.open(saved.positions, finished=saved.finished)
            except Exception as error:  # a connector that cannot be read fails its unit, not the slot
                self.failed(source.instance.task, error)
                return

    def _goes_on_from(self, task: Task) -> TaskState:
        """A publish policy that began with a later version than the snapshot knows goes on from nothing; and what has
        ended before it began is not for it to count, nor to complete.
        """
        saved = self._saved(task.id)
        if isinstance(task.op, Publish):
            known = not self._restored.number or task.id in self._restored.tasks
            if not known or saved.since != self._services.began(self.unit.name, task.id):
                return TaskState(finished=all(self._saved(edge.producer).finished for edge in task.inputs))
        return saved

    def _saved(self, task: str) -> TaskState:
        """What a task goes on from; nothing where there is no snapshot or it did not know the task."""
        return self._restored.tasks.get(task, TaskState())

    def _ready(self) -> bool:
        """Whether sources may give anything."""
        return not self._letters.congested and self.snapshots.quiescing is None

    # --- changing ----------------------------------------------------------------------------------------------------

    def upgrade(self, swap: UnitSwap, services: Services) -> None:
        """Be another version of the unit, which differs in publish policies alone; while it is quiesced where any are
        dropped or added.
        """
        if self.state is State.RUNNING:
            for name in swap.dropped:
                _drop(self.graph, name)
                self.snapshots.forget(name)
            for name, operator in swap.added.items():
                if _add(self.graph, swap.unit.task(name), operator, self):
                    self.snapshots.finished(name, Saved(finished=True))
        self.unit, self._services = swap.unit, services
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

    def failed(self, task: str, error: Exception) -> None:
        """A part of the unit cannot go on, so the unit ends; what is committed stays and a restart goes on from
        there.
        """
        if self.state not in (State.STARTING, State.RUNNING):
            return
        self.error = unit_failure(self.unit, task, error, self._services.compiled.line)
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
            "snapshot_s": self.snapshots.took.document(),
            "snapshot_bytes": self.snapshots.size,
            "snapshot_bytes_written": self.snapshots.written,
            "published": self.publisher.sent,
            "tasks": {task: _status(tasklets) for task, tasklets in _by_task(self.graph).items()},
        }

    def _workers(self) -> list[Worker]:
        sinks = [sink.worker for sink in self.graph.sinks.values()]
        return [self.snapshots.saver, self._letters.worker, self.publisher.worker, *sinks]


def _by_task(graph: Graph) -> dict[str, list[AnyTasklet]]:
    """The instances of each task."""
    tasklets: dict[str, list[AnyTasklet]] = {}
    for each in graph.all:
        tasklets.setdefault(each.instance.task, []).append(each)
    return tasklets


def _status(tasklets: Sequence[AnyTasklet]) -> dict[str, object]:
    """How the instances of a task stand together, as JSON; their watermark where that is a time."""
    counters = [each.counters for each in tasklets]
    watermark = min((each.watermark for each in tasklets if isinstance(each, OperatorTasklet)), default=NEVER)
    return {
        "in": sum(each.taken for each in counters),
        "out": sum(each.given for each in counters),
        "dead": sum(each.dead for each in counters),
        "backlog": sum(each.backlog() for each in tasklets),
        "watermark": watermark if NEVER < watermark < INFINITY else None,
        "instances": len(tasklets),
        "in_bytes": sum(each.bytes_taken() for each in tasklets),
        "out_bytes": sum(each.given_bytes for each in counters),
        "busy_s": round(sum(each.steps.sum + each.beside_s for each in counters), 6),
        "batches": Histogram.together(each.batches for each in counters).document(),
        "latency_s": Histogram.together(each.latency for each in counters).document(),
        "steps_s": Histogram.together(each.steps for each in counters).document(),
    }


@dataclass(frozen=True, slots=True)
class TableCopy:
    """A table as it was between two steps; `as_of` a time (microseconds since 1970 UTC)."""

    columns: Struct
    rows: Sequence[Row]
    as_of: int


@dataclass(frozen=True, slots=True)
class Tables:
    """The named tables of these units, as responsive units read them. To be asked in the loop's thread, between two
    steps; GhcmError where there is no such unit or table.
    """

    runs: Mapping[str, UnitRun]

    def pairs(self, unit: str, task: str, key: object, one: bool) -> list[tuple[object, object]]:
        """The pairs of a table; only that of the key where `one` is asked for, which may be null."""
        wanted = key if one else None
        pairs = [pair for table in self._table(unit, task)[0] for pair in table.copy(wanted)]
        return [pair for pair in pairs if pair[0] is None] if one and key is None else pairs

    def watermark(self, unit: str, task: str) -> int:
        """The time that a table is as of: where event time says nothing, now."""
        watermark = self._table(unit, task)[1]
        return watermark if NEVER < watermark < INFINITY else now_us()

    def copy(self, unit: str, task: str) -> TableCopy:
        """All of a table."""
        rows, as_of = self.pairs(unit, task, None, False), self.watermark(unit, task)
        return TableCopy(self.runs[unit].unit.task(task).schema, rows, as_of)

    def _table(self, unit: str, task: str) -> tuple[list[Table], int]:
        """The instances of a table and their watermark."""
        run = self.runs.get(unit)
        if run is None:
            raise GhcmError(f'unit "{unit}" does not run here', code="GHCM-747", hint=suggest(unit, self.runs))
        if run.error is not None:
            raise run.error
        tasklets = [each for each in run.graph.operators.values() if each.instance.task == task]
        for each in tasklets:
            each.rest()
        tables: list[Table] = [each.operator for each in tasklets if isinstance(each.operator, Table)]
        if not tables:
            raise GhcmError(f'unit "{unit}" has no table "{task}"', code="GHCM-747")
        return tables, min(each.watermark for each in tasklets)


def _drop(graph: Graph, name: str) -> None:
    """Take a policy out."""
    tasklet = graph.operators.pop(name)
    tasklet.close()
    for producer in graph.producers:
        routes = producer.outbox.routes
        producer.outbox.routes = [each for each in routes if not any(edge in tasklet.edges for edge in each.edges)]


def _add(graph: Graph, task: Task, operator: Operator, host: Host) -> bool:
    """Put a policy behind the task that it reads; whether that task had ended, so that nothing will come."""
    [input_] = task.inputs
    producers = [each for each in graph.producers_of(input_.producer) if not each.ended]
    edges = [Edge() for _ in producers]
    tasklet = OperatorTasklet(Instance(task.id), operator, Ends(edges, [0] * len(edges)), host)
    graph.operators[task.id] = tasklet
    for producer, edge in zip(producers, edges, strict=True):
        edge.wake_receiver = partial(host.scheduler.wake, tasklet)
        edge.wake_sender = partial(host.scheduler.wake, producer)
        producer.outbox.routes.append(Direct(edge))
        if isinstance(producer, OperatorTasklet) and producer.watermark > NEVER:
            edge.offer(Watermark(producer.watermark))  # what closed before it began is not for it to wait for
    if not producers:
        tasklet.close()
    return not producers


@dataclass(frozen=True, slots=True)
class UnitSwap:
    """What becomes of a unit: itself in the new version, the policies that go, and the operators of those that come."""

    unit: Unit
    dropped: tuple[str, ...]
    added: Mapping[str, Operator]

    @property
    def changes(self) -> bool:
        """Whether it has to be quiesced for it."""
        return bool(self.dropped or self.added)


def swap_of(old: Unit, before: Services, after: Services) -> UnitSwap:
    """What becomes of a unit. GhcmError where its code cannot be loaded, or more than policies differs, which whoever
    compares programs should have refused.
    """
    new = after.program.unit(old.name)
    if not alike(without_policies(old), without_policies(new)):
        raise GhcmError(f'unit "{old.name}" cannot be changed while it runs', code="GHCM-608")
    was, is_ = policies(old), policies(new)
    kept = {name for name in is_ if name in was and before.began(old.name, name) == after.began(old.name, name)}
    added = {name: after.operator(task, new, {}) for name, task in is_.items() if name not in kept}
    return UnitSwap(new, tuple(name for name in was if name not in kept), added)
