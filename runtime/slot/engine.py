"""The native engine: runs the units of a program in one slot, embedded in the caller's process.

`run()` reads bounded inputs to their end; `start()`, `savepoint()` and `stop()` are for what runs for ever. `process`
runs an engine as a process of its own. Many slots will share a job's units; everything here but the choice of a
single slot is meant to stay.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar

from ghcm.errors import GhcmError, suggest
from ghcm.places import Place
from ghcm.runtime.calls.responder import Responder, Responders
from ghcm.runtime.contract import Context, Form
from ghcm.runtime.engine.scheduler import Scheduler
from ghcm.runtime.engine.services import Build, Compiled, Services
from ghcm.runtime.formats.file_pieces import FIRST_PIECE
from ghcm.runtime.jobs.calls import CallStore
from ghcm.runtime.operators import build as build_operator
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.slot.batch_loop import BatchLoop
from ghcm.runtime.slot.unit import State, TableCopy, Tables, UnitRun, UnitSwap, swap_of
from ghcm.runtime.upgrade import Since
from ghcm.spg.graph import Unit

_log = logging.getLogger(__name__)

T = TypeVar("T")

_LAST_WORDS_S = 8.0


class Engine:
    """Runs units of a compiled program: streams by themselves, responsive and batch units when they are called.

    `units`: names, None for all that it can run. `job` names the run across restarts: an engine of the same job and
    state directory goes on where the last one was; `snapshots`: where those are instead. `serve`: answer calls of
    responsive and batch units until stopped; without it `run` leaves them out. `changed` is called in the loop when a
    unit has changed its state or committed. `build`: how operators are made, for tests of the engine itself. `now`: the
    clock (microseconds since 1970) that operators go by. `since`: the versions in which publish policies began.
    `piece`: bytes of a file that are read first, later ones are larger. `waits`: calls that find no room, or a Redis
    that refuses, wait for that to pass. `spark_wanted` is called, from any thread, when a batch call was left to Spark.
    `parallelism`: how many instances tasks have that can be divided, in place of those of the plan; a later run may
    have others.
    """

    def __init__(  # noqa: PLR0913 - the options of a run, by name
        self,
        compiled: Compiled,
        units: Sequence[str] | None = None,
        *,
        connections: Connections | None = None,
        state: Path | None = None,
        snapshots: Place | None = None,
        job: str | None = None,
        form: Form = "auto",
        commit_s: float = 1.0,
        calls: CallStore | None = None,
        serve: bool = False,
        build: Build = build_operator,
        tame_collector: bool = False,
        changed: Callable[[], None] | None = None,
        now: Callable[[], int] | None = None,
        since: Since | None = None,
        piece: int = FIRST_PIECE,
        kept_snapshots: int = 2,
        waits: bool = False,
        spark_wanted: Callable[[], None] = lambda: None,
        parallelism: int | None = None,
    ) -> None:
        self._scheduler = Scheduler(tame_collector=tame_collector)
        program = compiled.plan
        self.job = job if job is not None else program.name
        base = Path.cwd()
        home = state if state is not None else base / ".ghcm"
        self._runs: dict[str, UnitRun] = {}
        self._tables = Tables(self._runs)
        self._services = Services(
            compiled,
            connections if connections is not None else Connections(base),
            self._scheduler,
            build,
            self.job,
            home,
            snapshots if snapshots is not None else home / "snapshots",
            form,
            commit_s,
            self._tables.pairs,
            None if calls is None else calls.accept_own,
            now or Context().now,
            since or {},
            piece,
            (lambda: None) if calls is None else calls.sync,
            kept_snapshots,
            waits,
            parallelism,
        )
        self._answers = serve
        self._responders = Responders(self.job, calls, self._watermark, spark_wanted)
        self._batches = BatchLoop(self._scheduler, self._failed, tame_collector=tame_collector)
        for unit in _choose(self._services.program.units, units):
            if unit.kind == "stream" and not unit.responsive:
                self._runs[unit.name] = UnitRun(unit, self._services, self._unit_changed)
            elif serve:
                self._responders.add(unit, self._services_of(unit, self._services))
        self._changed = changed
        self._started = time.time()
        self._ended = Event()
        self._ready = Event()
        self._closed = False
        self._error: BaseException | None = None
        self._thread = Thread(target=self._loop, name="ghcm-slot", daemon=True)

    # --- life --------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until all bounded inputs are read to the end, final windows are closed and sinks are committed.

        GhcmError if a unit fails. With `serve`, calls are answered meanwhile and until the streams have ended.
        """
        self.start()
        try:
            self.wait()
        finally:
            self.close()
        self.check()

    def start(self) -> None:
        """Begin; returns at once."""

        def begin() -> None:
            for run in self._runs.values():
                run.start()
            self._perhaps_serve()
            self._perhaps_ended()

        self._scheduler.post(begin)
        self._thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until every stream unit has ended, one way or another; whether they have."""
        return self._ended.wait(timeout)

    def savepoint(self, timeout: float | None = None) -> bool:
        """Take a snapshot of every unit that runs and commit its sinks; whether that was done in time."""
        runs = [run for run in self._runs.values() if run.state in (State.STARTING, State.RUNNING)]
        return not self._left_by(runs, lambda run, done: run.snapshots.savepoint(done), timeout)

    def stop(self, timeout: float = 30.0) -> bool:
        """Take no more calls, answer those at hand, take a savepoint and end; whether all that was done in time
        (seconds, for all of it).

        If not, a restart repeats what was not saved.
        """
        done, end = True, time.monotonic() + timeout
        if self._thread.is_alive():
            for responder in self.call(self._responders.all):
                done &= responder.drain(max(0.0, end - time.monotonic()))
            done &= self.savepoint(max(0.0, end - time.monotonic()))
        self.close()
        return done

    def upgrade(self, compiled: Compiled, since: Since, commit: Callable[[], None], timeout: float = 20.0) -> None:
        """Be another version of the program from now on: responsive units and publish policies may differ, nothing
        else. Units whose policies differ are quiesced for the time of a commit; the others notice nothing. `commit`
        makes the version that of the job; once it has returned, nothing of the old version happens any more. GhcmError
        where that cannot be; then nothing has changed. Not in the loop.
        """
        services = self._services.upgraded(compiled, since)
        swaps = {name: swap_of(run.unit, self._services, services) for name, run in self._runs.items()}
        units = _choose(services.program.units, None)
        for unit in units:
            services.code(unit)
        changing = [self._runs[name] for name, swap in swaps.items() if swap.changes]
        try:
            if not self._ready.wait(timeout):
                raise GhcmError("the units are still being started", code="GHCM-755", hint="submit again.")
            self._quiesce(changing, timeout)
            self.check()
            commit()
            self.call(lambda: self._swap(services, swaps, [unit for unit in units if unit.name not in swaps]))
        finally:
            self.call(lambda: _resume(changing))

    def close(self) -> None:
        """End now and give everything back. What was not committed is not."""
        if self._closed:
            return
        self._closed = True

        def end() -> None:
            for run in self._runs.values():
                run.stop()
            for responder in self._responders.all():
                responder.close()
            self._scheduler.stop()

        if self._thread.is_alive():
            self._scheduler.post(end)
            self._thread.join()
            self._batches.close()
            deadline = time.monotonic() + _LAST_WORDS_S
            parts: list[UnitRun | Responder] = [*self._runs.values(), *self._responders.all()]
            for part in parts:
                part.join(deadline)

    def check(self) -> None:
        """GhcmError if a unit has failed."""
        if (error := self.error) is not None:
            raise error

    def __enter__(self) -> Engine:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def error(self) -> GhcmError | None:
        """Why a unit, or the engine, has failed."""
        if self._error is not None:
            failure = GhcmError("the engine has failed", code="GHCM-701", detail=f"{self._error}.")
            failure.__cause__ = self._error
            return failure
        return next((run.error for run in self._runs.values() if run.error is not None), None)

    @property
    def starting(self) -> bool:
        """Whether a unit has not opened its connectors yet."""
        return any(run.state is State.STARTING for run in self._runs.values())

    @property
    def turn(self) -> int | None:
        """The number of what the loop does at this moment; None while it waits, or has ended. From any thread."""
        return None if self._scheduler.waiting or not self._thread.is_alive() else self._scheduler.turns

    @property
    def unheard(self) -> str:
        """A unit whose calls would not come to it now; empty where there is none. From any thread."""
        return next((each.unit.name for each in self._responders.all() if not each.takes), "")

    @property
    def commits(self) -> int:
        """Snapshots taken by all units since the start."""
        return sum(run.snapshots.count for run in self._runs.values())

    @property
    def serves(self) -> bool:
        """Whether it answers calls, so that it goes on when its inputs have ended."""
        return len(self._responders) > 0

    @property
    def ended(self) -> bool:
        """Whether every stream unit that reads by itself has ended."""
        return self._ended.is_set()

    # --- looking in --------------------------------------------------------------------------------------------------

    def status(self) -> dict[str, object]:
        """How every unit stands, as JSON."""

        def status() -> dict[str, object]:
            units = {name: run.status() for name, run in self._runs.items()}
            units |= self._responders.status()
            return {
                "job": self.job,
                "units": units,
                "ended": self._ended.is_set(),
                "busy_s": round(self._scheduler.busy_s, 3),
                "held_s": self._scheduler.held.document(),
                "up_s": round(time.time() - self._started, 3),
            }

        return self.call(status)

    def tables(self, asked: Sequence[tuple[str, str]], timeout: float = 2.0) -> list[TableCopy]:
        """Named tables, by unit and name, all as they are between the same two steps. GhcmError where there is no such
        unit or table, or where units have not got their state back in time.
        """
        if not self._ready.wait(timeout):
            raise GhcmError("the units are still being started", code="GHCM-747", hint="ask again in a moment.")
        return self.call(lambda: [self._tables.copy(unit, name) for unit, name in asked])

    def call(self, function: Callable[[], T]) -> T:
        """What the function gives when it is called between two steps of the slot."""
        return self._scheduler.call(function) if self._thread.is_alive() else function()

    # --- upgrading ---------------------------------------------------------------------------------------------------

    def _quiesce(self, runs: Sequence[UnitRun], timeout: float) -> None:
        """Return when nothing is under way in these units; in the loop of each, snapshots wait until it resumes."""
        left = self._left_by(runs, lambda run, done: run.snapshots.quiesce(done), timeout) if runs else []
        if left:
            names = " and ".join(f'"{name}"' for name in left)
            raise GhcmError(
                f"unit {names} has not come to a commit within {timeout:.0f} seconds",
                code="GHCM-755",
                detail="Nothing was changed.",
                hint="see what its sinks wait for: ghcm logs has it. Then submit again.",
            )

    def _left_by(
        self, runs: Sequence[UnitRun], ask: Callable[[UnitRun, Callable[[], None]], None], timeout: float | None
    ) -> list[str]:
        """Ask each of these units for something, in the loop, and wait until all have done it; the names of those that
        have not in time.
        """
        left, all_done = {run.unit.name for run in runs}, Event()

        def one_done(name: str) -> None:
            left.discard(name)
            if not left:
                all_done.set()

        def begin() -> None:
            if not left:
                all_done.set()
            for run in runs:
                ask(run, partial(one_done, run.unit.name))

        self._scheduler.post(begin)
        return [] if all_done.wait(timeout) else sorted(left.copy())

    def _swap(self, services: Services, swaps: Mapping[str, UnitSwap], called: Sequence[Unit]) -> None:
        """Be the other version, between two steps."""
        self._services = services
        for name, swap in swaps.items():
            self._runs[name].upgrade(swap, services)
        self._responders.upgrade(called if self._answers else (), lambda unit: self._services_of(unit, services))

    # --- the loop ----------------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        try:
            self._scheduler.run()
        except BaseException as error:  # a bug of the engine: everything ends, and `check` says so
            _log.exception("the engine has failed")
            self._failed(error)

    def _failed(self, error: BaseException) -> None:
        self._error = error
        self._ended.set()
        if self._changed is not None:
            self._changed()

    def _services_of(self, unit: Unit, services: Services) -> Services:
        return self._batches.services(services) if unit.kind == "batch" else services

    def _watermark(self, unit: str, task: str) -> int:
        """See `Tables.watermark`; from any thread."""
        return self._scheduler.call(lambda: self._tables.watermark(unit, task))

    def _unit_changed(self, run: UnitRun) -> None:
        if run.state is not State.RUNNING:
            _log.info('unit "%s": %s', run.unit.name, run.state.value)
        self._perhaps_serve()
        self._perhaps_ended()
        if self._changed is not None:
            self._changed()

    def _perhaps_serve(self) -> None:
        """Take calls once every unit has its state back, so that none is answered from an empty table."""
        if not self._responders.started and not self.starting:
            self._ready.set()
            self._responders.start()

    def _perhaps_ended(self) -> None:
        if all(run.state not in (State.STARTING, State.RUNNING) for run in self._runs.values()):
            self._ended.set()


def _resume(runs: Sequence[UnitRun]) -> None:
    for run in runs:
        run.snapshots.resume()


def _choose(units: Sequence[Unit], names: Sequence[str] | None) -> list[Unit]:
    known = {unit.name: unit for unit in units if "native" in unit.engines}
    if names is None:
        return list(known.values())
    for name in names:
        if name not in known:
            message = f'the native engine has no unit "{name}" to run'
            raise GhcmError(message, code="GHCM-611", hint=suggest(name, known))
    return [known[name] for name in names]
