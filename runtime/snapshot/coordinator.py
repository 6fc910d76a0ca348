"""The snapshot coordinator of a running unit: one snapshot after the other, each in the same phases.

Barriers go out from all sources; every tasklet gives its state and every sink prepares a version; dead letters and the
manifest are written; the sinks commit; instructions leave. A crash before the manifest forgets the snapshot, one behind
it repeats the commits. When the unit starts and ends is decided by the unit itself (`ghcm.runtime.slot.unit`).
"""

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from ghcm.fence import hold
from ghcm.runtime.contract import Publication
from ghcm.runtime.contract import Timer as Timed
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.engine.host import Saved, TaskState
from ghcm.runtime.engine.publisher import Publisher
from ghcm.runtime.engine.scheduler import Timer
from ghcm.runtime.engine.services import Services, plain
from ghcm.runtime.engine.wiring import Graph
from ghcm.runtime.histogram import Histogram
from ghcm.runtime.sinks.dead_letters import DeadLetterWriter
from ghcm.runtime.snapshot.store import Size, Snapshot, SnapshotStore
from ghcm.runtime.worker import Worker
from ghcm.spg.graph import Unit

DEAD = "@dead"
"""The name under which the dead letters' version stands among those of the sinks."""

_FIRST_INTERVAL_S = 0.1
"""The first commit comes soon, so that someone who waits sees a result; then each interval is twice the one before."""
_SHARE_OF_SAVING = 0.1
_LONGEST_INTERVAL_S = 60.0
_NEVER = float("inf")


class Phase(Enum):
    """Where the snapshots of a unit stand."""

    UNOPENED = "unopened"
    """The unit does not run yet."""
    IDLE = "idle"
    """None is being taken; one is planned if the unit is dirty."""
    ALIGNING = "aligning"
    """Barriers are on their way: tasklets give their state, sinks prepare."""
    WRITING = "writing"
    """Dead letters and the manifest are written."""
    COMMITTING = "committing"
    """The manifest is there: sinks make their versions visible, then instructions leave."""
    QUIESCED = "quiesced"
    """Everything is committed and nothing is under way, until the unit resumes."""
    CLOSED = "closed"
    """The unit has ended."""


class _Event(Enum):
    """What moves a coordinator from one phase to another."""

    OPENED = "opened"
    BEGUN = "begun"
    ALIGNED = "aligned"
    WRITTEN = "written"
    COMMITTED = "committed"
    QUIESCED = "quiesced"
    RESUMED = "resumed"
    CLOSED = "closed"


@dataclass(slots=True)
class _Cut:
    """What belongs to one snapshot: `waiting` are the tasklets that its barrier has not passed, `commits` the sinks
    that have not committed.
    """

    number: int = 0
    started: float = 0.0
    waiting: set[str] = field(default_factory=set[str])
    saved: dict[str, Saved] = field(default_factory=dict[str, Saved])
    letters: list[DeadLetter] = field(default_factory=list[DeadLetter])
    publications: list[tuple[str, Publication]] = field(default_factory=list[tuple[str, Publication]])
    versions: dict[str, str] = field(default_factory=dict[str, str])
    documents: tuple[Mapping[str, object], ...] = ()
    commits: int = 0

    def take(self, saved: Saved) -> None:
        """Take what left the path of a tasklet."""
        self.letters += saved.letters
        self.publications += saved.publications


class SnapshotCoordinator:
    """Takes the snapshots of a unit from `open` to `close`. Belongs to the loop's thread.

    One is taken when the unit is dirty and the interval is over; the interval grows so that saving takes at most a
    tenth of the time. `committed` is called after each, `failed` when one cannot be taken.
    """

    def __init__(
        self,
        unit: Unit,
        services: Services,
        letters: DeadLetterWriter,
        publisher: Publisher,
        failed: Callable[[str, Exception], None],
        committed: Callable[[], None],
    ) -> None:
        self.took = Histogram()
        """Seconds from the barriers of each to its commit."""
        self.size = self.written = 0
        """Bytes of the last one, and bytes that were written for all."""
        self.last_commit: float | None = None
        self.saver = Worker(f"{unit.name}-snapshots", services.scheduler.post)
        self._unit = unit
        self.services = services
        self._letters = letters
        self._publisher = publisher
        self._failed = failed
        self._committed = committed
        self._store = SnapshotStore(services.snapshots / services.job / unit.name, services.kept_snapshots)
        self._run = uuid.uuid4().hex[:8]
        self._phase = Phase.UNOPENED
        self._graph = Graph()
        self._number = 0
        self._latest: dict[str, str] = {}
        self._final: dict[str, Saved] = {}
        self._present = _Cut()
        self._next = _Cut()
        self._dirty = False
        self._timer: Timer | None = None
        self._not_before = 0.0
        self._interval = min(_FIRST_INTERVAL_S, services.commit_s)
        self._waiting: list[Callable[[], None]] = []
        self.quiescing: object | None = None
        """Stands for whoever has asked last for a unit at rest, until the unit resumes; sources are to give nothing."""

    @property
    def count(self) -> int:
        """How many were taken."""
        return self.took.count

    def load(self, done: Callable[[Snapshot], None]) -> None:
        """Load the last snapshot beside the loop, then call `done` with it; where there is none, with one without
        content and the number 0.
        """

        def load() -> tuple[Snapshot, int]:
            return self._store.latest() or Snapshot(0, {}), self._store.newest_number()

        def loaded(found: tuple[Snapshot, int]) -> None:
            snapshot, self._number = found
            self._latest = dict(snapshot.latest)
            done(snapshot)

        self.saver.submit(load, loaded, lambda error: self._failed("@snapshots", error))

    def open(self, graph: Graph) -> None:
        """The unit runs as this graph, whose tasklets may come and go by a policy swap."""
        self._graph = graph
        self._step(_Event.OPENED)

    def close(self) -> None:
        """Take no more; whoever waits for a savepoint waits no longer."""
        self._step(_Event.CLOSED)

    def version(self, snapshot: int, name: str) -> str:
        """Unique for ever: a run that ended before its commit shares no version with the next."""
        return plain(f"{self.services.job}-{self._unit.name}-{name}-{snapshot:010d}-{self._run}")

    # --- phases ------------------------------------------------------------------------------------------------------

    def _step(self, event: _Event) -> None:
        """Go on to the phase that an event leads to and do what it begins with."""
        match self._phase, event:
            case Phase.UNOPENED, _Event.OPENED:
                self._enter(Phase.IDLE)
                self.plan()
            case Phase.IDLE, _Event.BEGUN:
                self._enter(Phase.ALIGNING)
                self._send_barriers()
            case Phase.ALIGNING, _Event.ALIGNED:
                cut = self._present
                self._enter(Phase.WRITING)
                self._letters.prepare(cut.letters, self.version(cut.number, DEAD), self._write_manifest)
            case Phase.WRITING, _Event.WRITTEN:
                self._enter(Phase.COMMITTING)
                self._commit()
            case Phase.COMMITTING, _Event.COMMITTED:
                self._enter(Phase.IDLE)
                self._finish()
            case Phase.IDLE, _Event.QUIESCED:
                self._enter(Phase.QUIESCED)
            case Phase.QUIESCED, _Event.RESUMED:
                self._enter(Phase.IDLE)
            case _, _Event.CLOSED:
                self._enter(Phase.CLOSED)
                self.saver.close()
                self._call_waiting()
            case _:  # whatever else may come is too early or too late, and then not wanted
                pass

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        if phase is not Phase.IDLE and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # --- when --------------------------------------------------------------------------------------------------------

    def mark_dirty(self) -> None:
        """Something has happened that a snapshot has to hold."""
        if not self._dirty and self._timer is not None:  # planned for an operator, maybe later than the interval
            self._timer.cancel()
            self._timer = None
        self._dirty = True
        self.plan()

    def plan(self) -> None:
        """Take a snapshot when the interval is over, or when an operator wants to be flushed, unless one is planned."""
        if self._phase is not Phase.IDLE or self._timer is not None:
            return
        due = self._due()
        if self._dirty or due != _NEVER:
            wanted = time.monotonic() + self._interval if self._dirty else _NEVER
            self._timer = self.services.scheduler.at(max(self._not_before, min(wanted, due)), self.begin)

    def begin(self) -> None:
        """Take a snapshot now, unless one is being taken or the unit is at rest."""
        self._step(_Event.BEGUN)

    def savepoint(self, done: Callable[[], None]) -> None:
        """Take a snapshot that holds everything up to now, then call `done`."""
        match self._phase:
            case Phase.UNOPENED | Phase.CLOSED:
                done()
            case Phase.ALIGNING | Phase.WRITING | Phase.COMMITTING:
                self._waiting.append(lambda: self.savepoint(done))
            case Phase.IDLE | Phase.QUIESCED:
                self._waiting.append(done)
                self.begin()

    def quiesce(self, done: Callable[[], None]) -> None:
        """Have the sources give nothing more, take a snapshot of all that they gave, then call `done` and take none
        until `resume`: nothing is under way then, and everything is committed.
        """
        asked = self.quiescing = object()

        def quiesced() -> None:
            if self.quiescing is asked:  # else whoever asked has given up, and its snapshot took until the next asks
                self._step(_Event.QUIESCED)
            done()

        self.savepoint(quiesced)

    def resume(self) -> None:
        """End the rest, or what has begun of it."""
        self.quiescing = None
        self._step(_Event.RESUMED)
        for source in self._graph.sources.values():
            self.services.scheduler.wake(source)
        if self._waiting:
            self.begin()
        self.plan()
        if self._phase not in (Phase.UNOPENED, Phase.CLOSED):
            self._committed()

    def ended(self) -> bool:
        """Whether every tasklet has ended and everything is committed. Takes the snapshot that is missing for that."""
        if len(self._final) < len(self._graph.names) or self._phase not in (Phase.IDLE, Phase.QUIESCED):
            return False
        if self._dirty or self._next.letters or self._next.publications:
            self.begin()
            return False
        return True

    def forget(self, name: str) -> None:
        """A tasklet is no longer part of the unit."""
        self._final.pop(name, None)

    def _due(self) -> float:
        """When an operator wants to be flushed (monotonic clock)."""
        dues = [
            due
            for tasklet in self._graph.operators.values()
            if not tasklet.ended and isinstance(tasklet.operator, Timed) and (due := tasklet.operator.due()) is not None
        ]
        return time.monotonic() + max(0.0, (min(dues) - self.services.now()) / 1e6) if dues else _NEVER

    # --- barriers ----------------------------------------------------------------------------------------------------

    def _send_barriers(self) -> None:
        self._number += 1
        self._dirty = False
        cut, self._present, self._next = self._next, self._next, _Cut()
        cut.number, cut.started = self._number, time.monotonic()
        cut.waiting = {name for name in self._graph.names if name not in self._final} | set(self._graph.sinks)
        cut.saved = {name: saved for name, saved in self._final.items() if name not in cut.waiting}
        for source in [source for name, source in self._graph.sources.items() if name in cut.waiting]:
            source.inject(cut.number)
        for sink in self._graph.sinks.values():
            if sink.ended:
                sink.prepare(cut.number)
        if not cut.waiting:
            self._step(_Event.ALIGNED)

    def acknowledge(self, name: str, snapshot: int, saved: Saved) -> None:
        """A tasklet has passed the barrier."""
        cut = self._present
        if self._phase is not Phase.ALIGNING or cut.number != snapshot or name not in cut.waiting:
            return
        cut.waiting.discard(name)
        cut.saved[name] = saved
        cut.take(saved)
        if not cut.waiting:
            self._step(_Event.ALIGNED)

    def finished(self, name: str, saved: Saved) -> None:
        """A tasklet has ended; it belongs to the present snapshot if the barrier will not come any more."""
        self._final[name] = Saved(saved.state, position=saved.position, finished=True)
        if self._phase is not Phase.ALIGNING or name not in self._present.waiting:
            self._next.take(saved)
        elif name in self._graph.sinks:
            self._graph.sinks[name].prepare(self._present.number)
        else:
            self.acknowledge(name, self._present.number, saved)

    # --- commit ------------------------------------------------------------------------------------------------------

    def _write_manifest(self, dead: str | None) -> None:
        cut = self._present
        cut.versions = {name: saved.version for name, saved in cut.saved.items() if saved.version is not None}
        self._latest |= {self._graph.sinks[name].sink: version for name, version in cut.versions.items()}
        cut.versions |= {DEAD: dead} if dead is not None else {}
        cut.documents = tuple(
            self._publisher.document(task, publication, self._latest) for task, publication in cut.publications
        )
        snapshot = self._snapshot(cut)

        def save() -> Size:
            hold(self.services.connections.fence)
            self.services.sync_calls()  # before a snapshot is on disk that has them no more, since they were sent
            return self._store.write(snapshot)

        def saved(size: Size) -> None:
            self.size, self.written = size.whole, self.written + size.written
            self._step(_Event.WRITTEN)

        self.saver.submit(save, saved, lambda error: self._failed("@snapshots", error))

    def _snapshot(self, cut: _Cut) -> Snapshot:
        saved: dict[str, list[Saved]] = {}
        for tasklet in self._graph.all:
            if tasklet.name not in self._graph.sinks and tasklet.name in cut.saved:
                saved.setdefault(tasklet.instance.task, []).append(cut.saved[tasklet.name])
        began = self.services.began
        tasks = {task: TaskState.of(each, began(self._unit.name, task)) for task, each in saved.items()}
        publications = (*self._publisher.unsent, *cut.documents)
        counts = {"dead": self._letters.count}
        return Snapshot(cut.number, tasks, dict(cut.versions), dict(self._latest), publications, counts)

    def _commit(self) -> None:
        """The manifest is written: the sinks commit, then instructions leave."""
        cut = self._present
        cut.commits = len(self._graph.sinks) + 1
        for name, sink in self._graph.sinks.items():
            sink.commit(cut.versions.get(name), partial(self._sink_committed, cut))
        self._letters.commit(cut.versions.get(DEAD), partial(self._sink_committed, cut))

    def _sink_committed(self, cut: _Cut) -> None:
        cut.commits -= 1
        if not cut.commits:
            self._publisher.send(cut.documents)
            self._step(_Event.COMMITTED)

    def _finish(self) -> None:
        """Let the unit go on, and plan the next."""
        cost = time.monotonic() - self._present.started
        pause = max(self._interval, min(_LONGEST_INTERVAL_S, cost * (1 / _SHARE_OF_SAVING - 1)))
        self._not_before = self._present.started + pause
        self._interval = min(2 * self._interval, self.services.commit_s)
        self._present = _Cut()  # what it held may be as large as the unit's state
        self.last_commit = time.time()
        self.took.note(cost)
        for source in self._graph.sources.values():
            self.services.scheduler.wake(source)
        self._call_waiting()
        self.plan()
        self._committed()

    def _call_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call()
