"""A stream unit that runs: its tasklets, its snapshots and its end.

A snapshot goes: barriers from all sources; every tasklet gives its state and every sink prepares a version; the
manifest is written; the sinks commit; instructions leave. A crash before the manifest forgets the snapshot, one
behind it repeats the commits.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from ghcm.errors import GhcmError
from ghcm.runtime.dead_letter import DeadLetter
from ghcm.runtime.edge import Edge, Inlet
from ghcm.runtime.letters import Letters
from ghcm.runtime.operator import INFINITY, NEVER, Publication, Table
from ghcm.runtime.operator import Timer as Timed
from ghcm.runtime.publisher import Publisher
from ghcm.runtime.reply_tasklet import ReplyTasklet
from ghcm.runtime.scheduler import Scheduler, Timer
from ghcm.runtime.services import Services, plain
from ghcm.runtime.sink_tasklet import SinkTasklet
from ghcm.runtime.snapshot import Snapshot, SnapshotStore, TaskState
from ghcm.runtime.source_tasklet import SourceTasklet
from ghcm.runtime.tasklet import OperatorTasklet, Saved
from ghcm.runtime.unit_failure import unit_failure
from ghcm.runtime.wiring import Graph, wire
from ghcm.runtime.worker import Worker
from ghcm.spg.graph import Mode, Task, Unit
from ghcm.spg.ops import To

__all__ = ["State", "UnitRun"]

_log = logging.getLogger(__name__)

_SHARE_OF_SAVING = 0.1
_LONGEST_INTERVAL_S = 60.0
_DEAD = "@dead"


class State(Enum):
    """Where a unit stands."""

    STARTING = "starting"
    RUNNING = "running"
    FINISHED = "finished"
    """All inputs were read to the end and everything is committed."""
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(slots=True)
class _Round:
    """A snapshot that is being taken."""

    number: int
    waiting: set[str]
    started: float
    saved: dict[str, Saved] = field(default_factory=dict[str, Saved])
    letters: list[DeadLetter] = field(default_factory=list[DeadLetter])
    publications: list[tuple[str, Publication]] = field(default_factory=list[tuple[str, Publication]])
    commits: int = 0


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
        self.last_commit: float | None = None
        self.snapshots = 0
        self._services = services
        self._changed = changed
        self._store = SnapshotStore(services.state / "snapshots" / services.job / unit.name)
        self._saver = Worker(f"{unit.name}-snapshots", services.scheduler.post)
        self._letters = Letters(
            services.open_dead_writer(unit, "dead"),
            Worker(f"{unit.name}-dead", services.scheduler.post),
            lambda error: self.failed(_DEAD, error),
        )
        self.publisher = Publisher(
            services.program,
            unit.name,
            services.job,
            services.connections,
            Worker(f"{unit.name}-calls", services.scheduler.post),
            lambda error: self.failed("publish", error),
            services.accept,
        )
        self.publisher.on_sent = self._perhaps_end
        self._restored: Snapshot | None = None
        self._run_id = uuid.uuid4().hex[:8]
        self._number = 0
        self._latest: dict[str, str] = {}
        self._round: _Round | None = None
        self._final: dict[str, Saved] = {}
        self._loose = _Round(0, set(), 0.0)
        self._dirty = False
        self._timer: Timer | None = None
        self._not_before = 0.0
        self._after_round: list[Callable[[], None]] = []
        self._opening: set[str] = set()

    # --- starting ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load the last snapshot beside the loop, then build and open everything."""

        def load() -> tuple[Snapshot | None, int]:
            return self._store.latest(), self._store.newest_number()

        self._saver.submit(load, self._loaded, lambda error: self.failed("@snapshots", error))

    def _loaded(self, found: tuple[Snapshot | None, int]) -> None:
        self._restored, self._number = found
        snapshot = self._restored
        try:
            self.graph = wire(self.unit, self)
        except Exception as error:  # an operator that cannot be built fails its unit, not the slot
            self.failed("@start", error)
            return
        for tasklet in self.graph.producers:
            tasklet.outbox.on_letter = self._letter
        if snapshot is not None:
            _log.info('unit "%s" goes on from snapshot %d', self.unit.name, snapshot.number)
            self._latest = dict(snapshot.latest)
        versions = snapshot.versions if snapshot is not None else {}
        self._opening = {*self.graph.sinks, *([_DEAD] if snapshot is not None else [])}
        for name, sink in self.graph.sinks.items():
            sink.open(versions.get(name), partial(self._opened, name))
        if snapshot is not None:
            count = snapshot.counts.get("dead", 0)
            self._letters.recover(versions.get(_DEAD), count, lambda: self._opened(_DEAD))
        if not self._opening:
            self._open_sources()

    def _opened(self, name: str) -> None:
        self._opening.discard(name)
        if not self._opening and self.state is State.STARTING:
            self._open_sources()

    def _open_sources(self) -> None:
        self.state = State.RUNNING
        self._changed(self)
        if self._restored is not None:
            self.publisher.send(self._restored.publications)
        for name, source in self.graph.sources.items():
            saved = self._saved_state(name)
            try:
                source.open(saved.position, finished=saved.finished)
            except Exception as error:  # a place that cannot be read fails its unit, not the slot
                self.failed(name, error)
                return
        if self._timer_due() != float("inf"):
            self._plan()

    def _saved_state(self, task: str) -> TaskState:
        return TaskState() if self._restored is None else self._restored.tasks.get(task, TaskState())

    # --- parts (see wiring.Parts) ------------------------------------------------------------------------------------

    def source(self, task: Task, outputs: Sequence[Inlet]) -> SourceTasklet:
        """The tasklet of a source."""
        return SourceTasklet(
            task.id,
            self._services.source(task, self.unit, {}, {}),
            outputs,
            self,
            letter=self._services.letter(task, self.unit),
            ready=lambda: not self._letters.congested,
        )

    def operator(self, task: Task, inputs: Sequence[Edge], outputs: Sequence[Inlet]) -> OperatorTasklet:
        """The tasklet of an operator with its state restored."""
        saved = self._saved_state(task.id)
        operator = self._services.operator(task, self.unit, {})
        if saved.groups:
            operator.restore(saved.groups)
        return OperatorTasklet(task.id, operator, inputs, outputs, self, done_before=saved.finished)

    def sink(self, task: Task, edge: Edge) -> SinkTasklet:
        """The tasklet of a sink."""
        assert isinstance(task.op, To)
        tasklet = SinkTasklet(
            task.id,
            task.op.sink,
            self._services.open_writer(task, self.unit),
            Worker(f"{self.unit.name}-{task.id}", self.scheduler.post),
            edge,
            self,
            lambda snapshot: self._version(snapshot, task.id),
            whole=self._services.program.sink(task.op.sink).mode is Mode.REPLACE and task.collection.bounded,
        )
        tasklet.restore(self._saved_state(task.id))
        return tasklet

    def reply(self, task: Task, edge: Edge) -> ReplyTasklet:
        """Only calls have replies."""
        raise AssertionError("a unit that nobody calls cannot reply")

    def _version(self, snapshot: int, name: str) -> str:
        """Unique for ever: a run that ended before its commit shares no version with the next."""
        return plain(f"{self._services.job}-{self.unit.name}-{name}-{snapshot:010d}-{self._run_id}")

    # --- snapshots (see tasklet.Host) --------------------------------------------------------------------------------

    def touched(self) -> None:
        """Something has happened that a snapshot has to hold: one is taken when the interval is over."""
        self._dirty = True
        self._plan()

    def _plan(self) -> None:
        if self._timer is None and self._round is None and self.state is State.RUNNING:
            due = max(self._not_before, time.monotonic() + self._services.commit_s)
            due = min(due, max(self._timer_due(), self._not_before))
            self._timer = self.scheduler.at(due, self.begin)

    def _timer_due(self) -> float:
        """When an operator wants to be flushed (monotonic clock)."""
        dues = [
            due
            for tasklet in self.graph.operators.values()
            if isinstance(tasklet.operator, Timed) and (due := tasklet.operator.due()) is not None
        ]
        if not dues:
            return float("inf")
        return time.monotonic() + max(0.0, (min(dues) - self._services.now()) / 1e6)

    def begin(self) -> None:
        """Take a snapshot now, unless one is being taken."""
        if self._timer is not None:
            self._timer.cancelled = True
            self._timer = None
        if self._round is not None or self.state is not State.RUNNING:
            return
        self._number += 1
        self._dirty = False
        names = self.graph.names
        unfinished = {name for name in names if name not in self._final} | set(self.graph.sinks)
        nobody = not unfinished
        loose, self._loose = self._loose, _Round(0, set(), 0.0)
        self._round = _Round(self._number, unfinished, time.monotonic())
        self._round.letters += loose.letters
        self._round.publications += loose.publications
        self._round.saved |= {name: saved for name, saved in self._final.items() if name not in unfinished}
        for name, source in self.graph.sources.items():
            if name in unfinished:
                source.inject(self._number)
        for sink in self.graph.sinks.values():
            if sink.ended:
                sink.prepare(self._number)
        if nobody:
            self._saved()

    def acknowledge(self, name: str, snapshot: int, saved: Saved) -> None:
        """A tasklet has passed the barrier."""
        round_ = self._round
        if round_ is None or round_.number != snapshot or name not in round_.waiting:
            return
        round_.waiting.discard(name)
        round_.saved[name] = saved
        round_.letters += saved.letters
        round_.publications += saved.publications
        if not round_.waiting:
            self._saved()

    def finished(self, name: str, saved: Saved) -> None:
        """A tasklet has ended; it belongs to the present snapshot if the barrier will not come any more."""
        self._final[name] = Saved(saved.state, position=saved.position, finished=True)
        round_ = self._round
        if round_ is not None and name in round_.waiting:
            if name in self.graph.sinks:
                self.graph.sinks[name].prepare(round_.number)
            else:
                self.acknowledge(name, round_.number, saved)
        else:
            self._loose.letters += saved.letters
            self._loose.publications += saved.publications
            self._dirty |= bool(saved.letters or saved.publications)
        self._perhaps_end()

    def _saved(self) -> None:
        """Everything is saved and prepared: dead letters, then the manifest."""
        round_ = self._round
        assert round_ is not None

        def with_letters(dead: str | None) -> None:
            versions = {name: saved.version for name, saved in round_.saved.items() if saved.version is not None}
            for name, version in versions.items():
                self._latest[self.graph.sinks[name].sink] = version
            documents = tuple(
                self.publisher.document(task, publication, self._latest) for task, publication in round_.publications
            )
            tasks = {
                name: TaskState(saved.state, saved.position, saved.finished)
                for name, saved in round_.saved.items()
                if name not in self.graph.sinks or saved.state or saved.finished
            }
            if dead is not None:
                versions[_DEAD] = dead
            snapshot = Snapshot(
                round_.number,
                tasks,
                versions,
                dict(self._latest),
                (*self.publisher.unsent, *documents),
                {"dead": self._letters.count},
                complete=self._all_finished and not self._dirty,
            )
            self._saver.submit(
                lambda: self._store.write(snapshot),
                lambda _: self._commit(round_, versions, documents),
                lambda error: self.failed("@snapshots", error),
            )

        self._letters.prepare(round_.letters, self._version(round_.number, _DEAD), with_letters)

    def _commit(self, round_: _Round, versions: Mapping[str, str], documents: tuple[Mapping[str, object], ...]) -> None:
        """The manifest is written: the sinks commit, then instructions leave."""
        round_.commits = len(self.graph.sinks) + 1

        def committed() -> None:
            round_.commits -= 1
            if not round_.commits:
                self.publisher.send(documents)
                self._end_round(round_)

        for name, sink in self.graph.sinks.items():
            sink.commit(versions.get(name), committed)
        self._letters.commit(versions.get(_DEAD), committed)

    def _end_round(self, round_: _Round) -> None:
        now = time.monotonic()
        cost = now - round_.started
        pause = max(self._services.commit_s, min(_LONGEST_INTERVAL_S, cost * (1 / _SHARE_OF_SAVING - 1)))
        self._not_before = round_.started + pause
        self._round = None
        self.last_commit = time.time()
        self.snapshots += 1
        self._changed(self)
        for sink in self.graph.sinks.values():
            sink.release()
        for source in self.graph.sources.values():
            self.scheduler.wake(source)
        waiting, self._after_round = self._after_round, []
        for call in waiting:
            call()
        if self._dirty or self._timer_due() != float("inf"):
            self._plan()
        self._perhaps_end()

    def savepoint(self, done: Callable[[], None]) -> None:
        """Take a snapshot that holds everything up to now, then call `done`."""
        if self.state is not State.RUNNING:
            done()
        elif self._round is not None:
            self._after_round.append(lambda: self.savepoint(done))
        else:
            self._after_round.append(done)
            self.begin()

    def _letter(self, letter: DeadLetter) -> None:
        self._letters.note(letter)
        if self._letters.congested:
            self.begin()

    # --- ending ------------------------------------------------------------------------------------------------------

    @property
    def _all_finished(self) -> bool:
        return len(self._final) == len(self.graph.names)

    def _perhaps_end(self) -> None:
        if not self._all_finished or self._round is not None or self.state is not State.RUNNING:
            return
        if self._dirty or self._loose.letters or self._loose.publications:
            self.begin()
        elif not self.publisher.unsent:
            self._close(State.FINISHED)

    def failed(self, name: str, error: Exception) -> None:
        """A part of the unit cannot go on, so the unit ends; what is committed stays and a restart goes on from
        there.
        """
        if self.state not in (State.STARTING, State.RUNNING):
            return
        self.error = unit_failure(self.unit, name, error)
        self._close(State.FAILED)

    def stop(self) -> None:
        """End now, without a snapshot."""
        if self.state in (State.STARTING, State.RUNNING):
            self._close(State.STOPPED)

    def _close(self, state: State) -> None:
        self.state = state
        if self._timer is not None:
            self._timer.cancelled = True
        for source in self.graph.sources.values():
            source.close()
        for operator in self.graph.operators.values():
            operator.close()
        for sink in self.graph.sinks.values():
            sink.close()
        self._letters.close()
        self.publisher.close()
        self._saver.close()
        waiting, self._after_round = self._after_round, []
        for call in waiting:
            call()
        self._changed(self)

    def join(self) -> None:
        """Wait until threads and files are given back; not in the loop."""
        for worker in self._workers():
            worker.join()

    # --- looking in --------------------------------------------------------------------------------------------------

    def table(self, task: str) -> tuple[Table, int]:
        """A named table and its watermark. GhcmError if the unit has none of that name."""
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
            "snapshots": self.snapshots,
            "last_commit": self.last_commit,
            "published": self.publisher.sent,
            "tasks": {
                tasklet.name: {
                    "in": tasklet.counters.taken,
                    "out": tasklet.counters.given,
                    "dead": tasklet.counters.dead,
                    "backlog": tasklet.backlog(),
                    "watermark": _moment(tasklet) if isinstance(tasklet, OperatorTasklet) else None,
                }
                for tasklet in self.graph.all
            },
        }

    def _workers(self) -> list[Worker]:
        return [self._saver, self._letters.worker, self.publisher.worker] + [
            sink.worker for sink in self.graph.sinks.values()
        ]


def _moment(tasklet: OperatorTasklet) -> int | None:
    """The watermark where it is a time."""
    return tasklet.watermark if NEVER < tasklet.watermark < INFINITY else None
