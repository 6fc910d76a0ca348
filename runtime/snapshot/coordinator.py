"""The snapshots of a running unit, one round after the other.

A round goes: barriers from all sources; every tasklet gives its state and every sink prepares a version; the manifest
is written; the sinks commit; instructions leave. A crash before the manifest forgets the round, one behind it repeats
the commits. When the unit starts and ends is decided in `unit_run`.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from ghcm.runtime.contract import Publication
from ghcm.runtime.contract import Timer as Timed
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.engine.host import Saved
from ghcm.runtime.engine.publisher import Publisher
from ghcm.runtime.engine.scheduler import Timer
from ghcm.runtime.engine.services import Services, plain
from ghcm.runtime.engine.wiring import Graph
from ghcm.runtime.sinks.dead_letters import DeadLetterWriter
from ghcm.runtime.snapshot.store import Snapshot, SnapshotStore, TaskState
from ghcm.runtime.worker import Worker
from ghcm.spg.graph import Unit

DEAD = "@dead"
"""The name under which the dead letters' version stands among those of the sinks."""

_FIRST_INTERVAL_S = 0.1
"""The first commit comes soon, so that someone who waits sees a result; then each interval is twice the one before."""
_SHARE_OF_SAVING = 0.1
_LONGEST_INTERVAL_S = 60.0
_NEVER = float("inf")


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


class Rounds:
    """Takes snapshots of a unit whose `graph` runs while it is `active`. Belongs to the loop's thread.

    One is taken when something has happened (`touched`) and the interval is over; the interval grows so that saving
    takes at most a tenth of the time. `committed` is called after each, `failed` when one cannot be taken.
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
        self.graph = Graph()
        self.active = False
        self.resting = False
        """Whether sources are to give nothing, because the unit is about to change."""
        self.began: Callable[[str], int] = partial(services.began, unit.name)
        self.count = 0
        self.last_commit: float | None = None
        self.saver = Worker(f"{unit.name}-snapshots", services.scheduler.post)
        self._unit = unit
        self._services = services
        self._letters = letters
        self._publisher = publisher
        self._failed = failed
        self._committed = committed
        self._store = SnapshotStore(services.state / "snapshots" / services.job / unit.name)
        self._run = uuid.uuid4().hex[:8]
        self._number = 0
        self._latest: dict[str, str] = {}
        self._round: _Round | None = None
        self._final: dict[str, Saved] = {}
        self._loose = _Round(0, set(), 0.0)
        self._dirty = False
        self._timer: Timer | None = None
        self._not_before = 0.0
        self._interval = min(_FIRST_INTERVAL_S, services.commit_s)
        self._waiting: list[Callable[[], None]] = []
        self._quiet = False
        self._rests = 0

    def load(self, done: Callable[[Snapshot | None], None]) -> None:
        """Load the last snapshot beside the loop, then call `done` with it."""

        def load() -> tuple[Snapshot | None, int]:
            return self._store.latest(), self._store.newest_number()

        def loaded(found: tuple[Snapshot | None, int]) -> None:
            snapshot, self._number = found
            if snapshot is not None:
                self._latest = dict(snapshot.latest)
            done(snapshot)

        self.saver.submit(load, loaded, lambda error: self._failed("@snapshots", error))

    def version(self, snapshot: int, name: str) -> str:
        """Unique for ever: a run that ended before its commit shares no version with the next."""
        return plain(f"{self._services.job}-{self._unit.name}-{name}-{snapshot:010d}-{self._run}")

    # --- when --------------------------------------------------------------------------------------------------------

    @property
    def settled(self) -> bool:
        """Whether everything that happened is committed."""
        return self._round is None and not (self._dirty or self._loose.letters or self._loose.publications)

    @property
    def taking(self) -> bool:
        """Whether a snapshot is being taken."""
        return self._round is not None

    @property
    def all_finished(self) -> bool:
        """Whether every tasklet has ended."""
        return len(self._final) == len(self.graph.names)

    def touched(self) -> None:
        """Something has happened that a snapshot has to hold."""
        if not self._dirty and self._timer is not None:  # planned for an operator, maybe later than the interval
            self._timer.cancelled = True
            self._timer = None
        self._dirty = True
        self.plan()

    def plan(self) -> None:
        """Take a snapshot when the interval is over, or when an operator wants to be flushed, unless one is planned."""
        due = self._due()
        if self._timer is None and self._round is None and self.active and (self._dirty or due != _NEVER):
            wanted = time.monotonic() + self._interval if self._dirty else _NEVER
            self._timer = self._services.scheduler.at(max(self._not_before, min(wanted, due)), self.begin)

    def savepoint(self, done: Callable[[], None]) -> None:
        """Take a snapshot that holds everything up to now, then call `done`."""
        if not self.active:
            done()
        elif self._round is not None:
            self._waiting.append(lambda: self.savepoint(done))
        else:
            self._waiting.append(done)
            self.begin()

    def rest(self, done: Callable[[], None]) -> None:
        """Have the sources give nothing more, take a snapshot of all that they gave, then call `done` and take none
        until `go_on`: nothing is under way then, and everything is committed.
        """
        self.resting = True
        self._rests += 1
        number = self._rests

        def rested() -> None:
            # Unless whoever asked has given up: its snapshot may have taken until the next asks.
            self._quiet |= self.resting and number == self._rests
            done()

        self.savepoint(rested)

    def go_on(self) -> None:
        """End the rest, or what has begun of it."""
        self.resting = self._quiet = False
        for source in self.graph.sources.values():
            self._services.scheduler.wake(source)
        if self._waiting:
            self.begin()
        self.plan()
        if self.active:
            self._committed()

    def forget(self, name: str) -> None:
        """A tasklet is no longer part of the unit."""
        self._final.pop(name, None)

    def _due(self) -> float:
        """When an operator wants to be flushed (monotonic clock)."""
        dues = [
            due
            for tasklet in self.graph.operators.values()
            if not tasklet.ended and isinstance(tasklet.operator, Timed) and (due := tasklet.operator.due()) is not None
        ]
        return time.monotonic() + max(0.0, (min(dues) - self._services.now()) / 1e6) if dues else _NEVER

    # --- barriers ----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Take a snapshot now, unless one is being taken."""
        if self._timer is not None:
            self._timer.cancelled = True
            self._timer = None
        if self._round is not None or not self.active or self._quiet:
            return
        self._number += 1
        self._dirty = False
        unfinished = {name for name in self.graph.names if name not in self._final} | set(self.graph.sinks)
        nobody = not unfinished
        self._round, self._loose = self._loose, _Round(0, set(), 0.0)
        self._round.number, self._round.waiting, self._round.started = self._number, unfinished, time.monotonic()
        self._round.saved = {name: saved for name, saved in self._final.items() if name not in unfinished}
        for name, source in self.graph.sources.items():
            if name in unfinished:
                source.inject(self._number)
        for sink in self.graph.sinks.values():
            if sink.ended:
                sink.prepare(self._number)
        if nobody:
            self._saved(self._round)

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
            self._saved(round_)

    def finished(self, name: str, saved: Saved) -> None:
        """A tasklet has ended; it belongs to the present snapshot if the barrier will not come any more."""
        self._final[name] = Saved(saved.state, position=saved.position, finished=True)
        round_ = self._round
        if round_ is None or name not in round_.waiting:
            self._loose.letters += saved.letters
            self._loose.publications += saved.publications
        elif name in self.graph.sinks:
            self.graph.sinks[name].prepare(round_.number)
        else:
            self.acknowledge(name, round_.number, saved)

    # --- commit ------------------------------------------------------------------------------------------------------

    def _saved(self, round_: _Round) -> None:
        """Everything is saved and prepared: dead letters, then the manifest, then the commits."""

        def with_letters(dead: str | None) -> None:
            versions = {name: saved.version for name, saved in round_.saved.items() if saved.version is not None}
            self._latest |= {self.graph.sinks[name].sink: version for name, version in versions.items()}
            versions |= {DEAD: dead} if dead is not None else {}
            documents = tuple(
                self._publisher.document(task, publication, self._latest) for task, publication in round_.publications
            )
            snapshot = self._snapshot(round_, versions, documents)
            self.saver.submit(
                lambda: self._store.write(snapshot),
                lambda _: self._commit(round_, versions, documents),
                lambda error: self._failed("@snapshots", error),
            )

        self._letters.prepare(round_.letters, self.version(round_.number, DEAD), with_letters)

    def _snapshot(
        self, round_: _Round, versions: Mapping[str, str], documents: tuple[Mapping[str, object], ...]
    ) -> Snapshot:
        tasks = {
            name: TaskState(saved.state, saved.position, saved.finished, self.began(name))
            for name, saved in round_.saved.items()
            if name not in self.graph.sinks
        }
        publications = (*self._publisher.unsent, *documents)
        counts = {"dead": self._letters.count}
        return Snapshot(round_.number, tasks, dict(versions), dict(self._latest), publications, counts)

    def _commit(self, round_: _Round, versions: Mapping[str, str], documents: tuple[Mapping[str, object], ...]) -> None:
        """The manifest is written: the sinks commit, then instructions leave."""
        round_.commits = len(self.graph.sinks) + 1

        def committed() -> None:
            round_.commits -= 1
            if not round_.commits:
                self._publisher.send(documents)
                self._end(round_)

        for name, sink in self.graph.sinks.items():
            sink.commit(versions.get(name), committed)
        self._letters.commit(versions.get(DEAD), committed)

    def _end(self, round_: _Round) -> None:
        cost = time.monotonic() - round_.started
        pause = max(self._interval, min(_LONGEST_INTERVAL_S, cost * (1 / _SHARE_OF_SAVING - 1)))
        self._not_before = round_.started + pause
        self._interval = min(2 * self._interval, self._services.commit_s)
        self._round = None
        self.last_commit = time.time()
        self.count += 1
        for sink in self.graph.sinks.values():
            sink.release()
        for source in self.graph.sources.values():
            self._services.scheduler.wake(source)
        self._call_waiting()
        self.plan()
        self._committed()

    def close(self) -> None:
        """Take no more; whoever waits for a savepoint waits no longer."""
        self.active = False
        if self._timer is not None:
            self._timer.cancelled = True
        self.saver.close()
        self._call_waiting()

    def _call_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call()
