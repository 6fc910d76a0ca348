"""One job: its engine process kept alive, its state in the store moved as the process reports.

Knows nothing of other jobs. Calls of its units are the business of `CallReconciler`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, cast

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.call_reconciler import CallReconciler
from ghcm.runtime.daemon.child import Child, Phase, RestartPolicy, last_words
from ghcm.runtime.daemon.protocol import Document, error_document, raised
from ghcm.runtime.daemon.spawning import Command
from ghcm.runtime.jobs.store import Job, JobState, Store
from ghcm.runtime.retry import NO_ROOM, REFUSED, Restarts
from ghcm.runtime.upgrade import Since
from ghcm.spg.graph import Program, Unit

log = logging.getLogger("ghcm.daemon")

_PROGRESS_SECONDS = 5.0
"""A commit after so long a life is progress; a process that trips over the same record again and again may commit too,
but soon after its start.
"""

_SAVE_SECONDS = 0.5

_PASSES = frozenset((NO_ROOM, "GHCM-740"))
"""No room on a disk or in Redis, and a store that cannot be used: an engine that ends with them goes on from its last
snapshot when there is room.
"""
_PASSES_LATER = frozenset((REFUSED, "GHCM-739"))
"""A Redis or Kafka that refuses whoever asks, as with another password or without rights: a job that has run before
waits until that is mended.
"""

_GONE = error_document(GhcmError("the engine ended before it answered", code="GHCM-747", hint="ask again."))
_ENDED = error_document(GhcmError("the engine ended before it had changed", code="GHCM-755", hint="submit again."))


@dataclass(frozen=True, slots=True)
class JobServices:
    """What a job has to do with: the store, who is told of each change of its state and of each report, what becomes of
    an engine that dies, who may have a standby process, and whether it `waits` where there is no room.
    """

    store: Store
    changed: Callable[[JobRunner], None]
    heard: Callable[[JobRunner, Document], None]
    restarts: Restarts
    standby: Callable[[Command], asyncio.subprocess.Process | None] | None
    waits: bool = True


class JobRunner:
    """Keeps one job. `command` starts its engine process."""

    def __init__(self, job: Job, program: Program, command: Command, around: JobServices) -> None:
        self.id = job.id
        self.program = program
        self.version = job.version
        self.inputs_done = False
        self.progress: Document = {}
        """How the units of the engine stand, as it last said."""
        self.batches_called = asyncio.Event()
        self._begun: set[str] = set()
        self._waiting = ""
        self._moves = deque[Callable[[], object]]()
        """What has become of the job and is not in the store yet."""
        self.unnoted = ""
        """Why the store did not take it."""
        self._up = asyncio.Event()
        self.upgraded: asyncio.Future[Document] | None = None
        self._looks: dict[str, asyncio.Future[Document]] = {}
        self._around = around
        self._stopped = False
        self._stopping = False
        self._command = command
        native = any("native" in unit.engines for unit in program.units)
        self.child: Child | None = self._engine() if native else None

    @property
    def job(self) -> Job:
        """The job as stored."""
        return self._around.store.jobs.known(self.id)

    @property
    def batches(self) -> list[Unit]:
        """The batch units."""
        return [unit for unit in self.program.units if unit.kind == "batch"]

    @property
    def needs_spark(self) -> bool:
        """Whether a unit runs on Spark whatever its input is."""
        return any(unit.engines == ("spark",) for unit in self.program.units)

    @property
    def serves(self) -> bool:
        """Whether it has units that can be called at any time, so that it never ends by itself."""
        return any(unit.responsive for unit in self.program.units)

    def _engine(self) -> Child:
        return Child(
            self._command,
            RestartPolicy.of(self._around.restarts),
            hang=self._around.restarts.hang,
            started=self._is_up,
            reported=self._reported,
            died=self._died,
            changed=self._child_changed,
            standby=self._around.standby,
        )

    async def _is_up(self) -> None:
        """Return when the units of the engine process have opened their sources and sinks."""
        self._up.clear()
        await self._up.wait()

    @property
    def runs(self) -> bool:
        """Whether its engine process is there and has not ended by itself."""
        return self.child is not None and self.child.phase in (Phase.STARTING, Phase.RUNNING, Phase.WAITING)

    async def upgrade(self, version: int, bundle: Path, since: Since) -> None:
        """Have the engine process run another version of the program, which it notes in the store. GhcmError if it
        does not, whatever comes in between; then nothing has changed.
        """
        if self.child is None or self.child.pid is None:
            raise GhcmError(f'the engine of job "{self.id}" is being started', code="GHCM-755", hint="submit again.")
        self.upgraded = asyncio.get_running_loop().create_future()
        try:
            self.child.tell({"op": "grow", "version": version, "bundle": str(bundle), "since": since})
            raised(await self.upgraded)
        finally:
            self.upgraded = None

    async def look(self, tables: Sequence[tuple[str, str]], folder: str) -> Document:
        """Have the engine process write named tables into a folder: what each is as of. GhcmError if it does not."""
        if self.child is None or self.child.pid is None:
            raise GhcmError(f'job "{self.id}" has no engine that runs', code="GHCM-747", hint="ask again in a moment.")
        look = self._looks[folder] = asyncio.get_running_loop().create_future()
        try:
            self.child.tell({"op": "tables", "tables": tables, "folder": folder})
            return {"as_of": raised(await look)["as_of"]}
        finally:
            self._looks.pop(folder, None)

    @property
    def present(self) -> Program | None:
        """The program as the store has it; None while that is another version than is known here. From any thread."""
        version = self.version  # before the program, which is set first
        program = self.program
        return program if self.job.version == version else None

    def adopt(self, program: Program, version: int) -> None:
        """Note that the job is another version of its program; start an engine process where it needs one now."""
        if version < self.version:  # of two that were read side by side the later one holds
            return
        self.program = program
        self.version = version
        answers = any("native" in unit.engines and (unit.responsive or unit.kind == "batch") for unit in program.units)
        if answers and not self.runs and not (self._stopping or self._stopped):
            self.child = self.child or self._engine()
            self.child.start()

    def _tell_upgraded(self, answer: Document) -> None:
        if self.upgraded is not None and not self.upgraded.done():
            self.upgraded.set_result(answer)

    def _engine_ended(self) -> None:
        """Tell everyone who waits for an answer of the engine process that there will be none."""
        self._tell_upgraded(_ENDED)
        for look in self._looks.values():
            if not look.done():
                look.set_result(_GONE)

    def start(self) -> None:
        """Start the engine process, where the program has units that it can run."""
        self._move(JobState.STARTING)
        if self.child is not None:
            self.child.start()
        else:
            self.inputs_done = True
            self._move(JobState.RUNNING)

    def take_no_more(self) -> None:
        """Note that it is being stopped: it takes no more calls, and an engine that dies is not started again."""
        self._stopping = True
        self._move(JobState.STOPPING)

    async def stop(self, *, reason: str) -> None:
        """End the process and the job for good."""
        await self.leave()
        self._move(JobState.STOPPED, reason)
        while self._moves:
            await asyncio.sleep(_SAVE_SECONDS)

    async def leave(self) -> None:
        """End the process but not the job: another daemon goes on with it."""
        self._stopped = True
        if self.child is not None:
            await self.child.stop()

    def finish(self) -> None:
        """Note that everything was read, written and answered."""
        self._move(JobState.DONE)

    def first(self, what: Literal["batches", "completion", "retirement"]) -> bool:
        """Whether to start its batch units, wait for its end, or forget it, now: each true once."""
        again = what in self._begun
        self._begun.add(what)
        return not again

    def fail(self, reason: str, error: GhcmError | None = None) -> None:
        """Note that it cannot go on."""
        self._stopped = True
        self._move(JobState.FAILED, reason, error)

    def _reported(self, report: Document) -> None:
        match report.get("event"):
            case "running":
                self._up.set()
                self._move(JobState.RUNNING)
            case "commit":
                if self.child is not None and self.child.age > _PROGRESS_SECONDS:
                    self.child.progressed()
            case "progress":
                self.progress = cast("Document", report["status"])
            case "status" | "savepoint" | "stopped" | "spark_wanted":
                pass
            case "grown" | "not_grown":
                self._tell_upgraded(report)
            case "tables":
                look = self._looks.get(str(report["folder"]))
                if look is not None and not look.done():
                    look.set_result(report)
                return
            case "done":
                self.inputs_done = True
                self._around.changed(self)
            case "failed":
                error = GhcmError.of(cast("Document", report["error"]))
                passes = error.code in _PASSES or (error.code in _PASSES_LATER and self.job.started is not None)
                if passes and self._around.waits and self.child is not None:
                    self.child.policy.waits = True
                    self._waiting = f"{error.message}. It goes on when that has passed."
                    return
                self.fail(f"{error.message}. {error.detail}" if error.detail else error.message, error)
            case _:
                log.warning("%s reports what is not known: %s", self.id, report)
        self._around.heard(self, report)

    def _died(self, code: int) -> bool:
        """Whether to start the process again."""
        self._engine_ended()
        if self._stopped or self._stopping or (code == 0 and self.inputs_done):
            return False
        self._move(JobState.STARTING, self._waiting, restarted=True)
        self._waiting = ""
        return True

    def _child_changed(self) -> None:
        if not self.runs:
            self._engine_ended()
        if self.child is not None and self.child.phase is Phase.FAILED:
            self._move(JobState.FAILED, self.child.reason + last_words(self._command.log))
        self._around.changed(self)

    def _move(
        self, state: JobState, reason: str = "", error: GhcmError | None = None, *, restarted: bool = False
    ) -> None:
        if self._stopping and state in (JobState.STARTING, JobState.RUNNING):
            return  # it was still being started
        move = partial(self._around.store.jobs.move, self.id, state, reason, error=error, restarted=restarted)
        self._moves.append(move)
        if len(self._moves) == 1:
            self._save()

    def _save(self) -> None:
        """Note in the store what has become of the job; again in a moment where it cannot be written to."""
        while self._moves:
            try:
                self._moves[0]()
            except GhcmError as refused:
                if refused.code != "GHCM-740":
                    raise
                log.warning('what has become of job "%s" is not noted yet: %s', self.id, refused)
                self.unnoted = f"what has become of it cannot be noted yet: {refused.message}"
                asyncio.get_running_loop().call_later(_SAVE_SECONDS, self._save)
                return
            self._moves.popleft()
            self.unnoted = ""
            self._around.changed(self)


REQUESTED = "stopped by request"

_CALL_LOOK_SECONDS = 0.1


@dataclass
class Stop:
    """One stop. `waiting` is told how many calls are waited for, where there are any."""

    runner: JobRunner
    calls: CallReconciler
    waiting: Callable[[int], None]
    _end: float = float("inf")

    def hurry(self, grace: float) -> None:
        """Wait for calls no longer than so many seconds from now."""
        self._end = min(self._end, asyncio.get_running_loop().time() + grace)

    async def run(self) -> None:
        """Stop the job; it has ended for good when this returns."""
        runner = self.runner
        runner.take_no_more()
        native = [unit.name for unit in runner.program.units if "native" in unit.engines]
        spark = [unit.name for unit in runner.program.units if "native" not in unit.engines]
        count = await self._open([*native, *spark])
        if count:
            self.waiting(count)
        if runner.runs:
            await self._drain(native)
        await runner.leave()
        await self._drain(spark)
        await runner.stop(reason=REQUESTED)

    async def _drain(self, units: Sequence[str]) -> None:
        """Wait until the open calls of these units have their answers, or the grace is over."""
        loop = asyncio.get_running_loop()
        while not self.runner.job.over and await self._open(units):
            left = self._end - loop.time()
            if left <= 0:
                return
            await asyncio.sleep(min(left, _CALL_LOOK_SECONDS))  # executors end calls in the store, which tells nobody

    async def _open(self, units: Sequence[str]) -> int:
        return await self.calls.open(self.runner.program.name, units)
