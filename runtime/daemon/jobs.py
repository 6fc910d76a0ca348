"""All jobs of the daemon: submitted, resumed, stopped, and brought to their end with the calls that they led to."""

import asyncio
import logging
import secrets
import socket
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ghcm.durable import sync
from ghcm.errors import GhcmError
from ghcm.runtime.access.scopes import ALL
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.call_reconciler import CallReconciler, Settled
from ghcm.runtime.daemon.child import Phase
from ghcm.runtime.daemon.housekeeping import Housekeeping
from ghcm.runtime.daemon.job_runner import REQUESTED, JobRunner, JobServices, Stop
from ghcm.runtime.daemon.locks import AppendLocks, Leases, owner_of
from ghcm.runtime.daemon.processes import Processes
from ghcm.runtime.daemon.protocol import Document, job_document
from ghcm.runtime.daemon.resubmission import Again, EarlierJobs, keep_bundle, own_call, upgrade_running
from ghcm.runtime.daemon.state import StateDirectory, note_base, note_job
from ghcm.runtime.daemon.warm_standby import WarmStandby
from ghcm.runtime.jobs.calls import DAEMON
from ghcm.runtime.jobs.store import Job, JobState, Store
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.embedded import embedded_url
from ghcm.runtime.pubsub.envelope import Failed, Instruction, now_us
from ghcm.runtime.settings import Settings
from ghcm.runtime.upgrade import Upgrade
from ghcm.signing import read_trusted
from ghcm.spg.graph import Program

log = logging.getLogger("ghcm.daemon")

T = TypeVar("T")

_BATCH_SECONDS = 24 * 3600
_LOOK_SECONDS = 0.1
_GIVE_UP_SECONDS = 3.0
"""How long Redis may take to give up a lease that nobody needs any more."""


@dataclass(eq=False)
class Jobs:
    """`tell` is called with every event of a job, `listener` is the socket that HTTP processes listen on.

    Makes and owns the processes, the reconciler of calls and the leases; the daemon starts and stops them.
    """

    settings: Settings
    state: StateDirectory
    store: Store
    listener: socket.socket
    tell: Callable[[Document], None]
    waits: bool = True
    """Whether a job that finds no room waits for some; one that somebody stays with (`ghcm run`) tells it and ends."""
    standby: WarmStandby | None = None
    runners: dict[str, JobRunner] = field(default_factory=dict[str, JobRunner])
    _submitting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _background: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])
    _retirements: dict[str, asyncio.Task[Settled]] = field(default_factory=dict[str, asyncio.Task[Settled]])
    _stops: dict[str, Stop] = field(default_factory=dict[str, Stop])
    _stopping: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])

    def __post_init__(self) -> None:
        private, state = self.settings.embedded, self.state
        redis = embedded_url(state.redis) if private else self.settings.redis
        connections = Connections(Path.cwd(), redis, self.settings.kafka, self.settings.patience)
        times = self.settings.call_timeout, self.settings.keep.calls, self.settings.keep.answers
        self.calls = CallReconciler(self.store, connections, self.programs, self.present, *times)
        lost, broken = self.calls.send_again, self.spark_is_broken
        self.processes = Processes(
            self.settings, state, redis, self.listener, self.tell, lost, broken, self.waits, self.standby
        )
        seconds = self.settings.limits.lease
        self.leases = Leases(None if private else redis, owner_of(state.path), state.leases, seconds=seconds)
        self._append_locks = AppendLocks(state.path)
        self._snapshots = self.settings.snapshots_at(state.path)
        self._trusted = None if self.settings.trusted is None else read_trusted(self.settings.trusted)
        earlier = EarlierJobs(state, self.store, self._snapshots)
        self.housekeeping = Housekeeping(
            self.settings.keep, state, self.store, self._snapshots, earlier.may_have_written
        )

    async def submit(
        self, path: Path, base: Path, again: Again = Again.UNSAID, *, beside: bool = False
    ) -> tuple[Job, Upgrade | None]:
        """Take a bundle and start its job, or with `Again.RESUME` the latest job of its program where that ended; a
        program that runs here is upgraded (`resubmission`). The job, and what has changed where it was there.

        GhcmError if another daemon on the same Redis runs the program; if it has run before and would append to its
        sinks again, unless that is what `again` says; if what runs or is to be resumed cannot be upgraded;
        if another job that lives appends to the same folder, unless this one is to do so `beside` it; if it is not
        signed by who is trusted.
        """
        async with self._submitting:
            bundle = await asyncio.to_thread(self._open, path)
            program = bundle.program
            if (stopping := self._stopping.get(program.name)) is not None:
                await asyncio.wait((stopping,))
            here = self._running(program.name)
            if here and not self.waits:  # of a run that was cut off, in whose state this one runs
                await self.stop(here[0].id, 0.0, lambda _: None)
            elif here:
                return await self._upgrade(here[0], bundle, base, again, beside=beside)
            if (retirement := self._retirements.get(program.name)) is not None:
                await asyncio.wait((retirement,))
            resumed = await asyncio.to_thread(
                EarlierJobs(self.state, self.store, self._snapshots).resumed, bundle, base, again
            )
            if resumed is not None and resumed[1] is None:
                await asyncio.to_thread(self._open, Path(resumed[0].bundle))  # which an earlier daemon may have taken
            # Unique for ever, not only here: sinks keep the versions that jobs have written.
            id = resumed[0].id if resumed is not None else f"{program.name}-{secrets.token_hex(4)}"
            self._append_locks.take(id, program, base, beside=beside)
            try:
                await self.leases.take(program.name)
                job, upgrade = resumed or (await self._new(bundle, base, id), None)
            except BaseException:
                self._append_locks.drop(id)
                raise
            if beside:
                self.state.beside(id).touch()
                sync(self.state.beside(id).parent)
            if resumed is None:
                await self.calls.give_up(program.name)
            self._start(job, program, base)
            if resumed is not None:
                await self.calls.renew(program.name)
            await asyncio.to_thread(self.store.sync)
            return self.store.jobs.known(job.id), upgrade

    async def refuse_others(self, path: Path, programs: Sequence[str]) -> None:
        """GhcmError if a bundle is that of another program than these, as scopes name them."""
        name = (await asyncio.to_thread(self._open, path)).program.name
        if not {name, ALL} & set(programs):
            hint = f"take a token with the scope submit:{name}."
            raise GhcmError(f'program "{name}" may not be submitted', code="GHCM-351", hint=hint)

    async def last_folder(self, path: Path) -> Path:
        """Where relative paths of the program in a bundle start: where those of its last job do, if it has any, else
        where the daemon was started.
        """
        name = (await asyncio.to_thread(self._open, path)).program.name
        found = self.store.jobs.find(name)
        return self.state.folder_of(found[0].id) if found else Path.cwd()

    async def _upgrade(
        self, runner: JobRunner, bundle: Bundle, base: Path, again: Again, *, beside: bool
    ) -> tuple[Job, Upgrade]:
        taken = self._append_locks.take(runner.id, bundle.program, base, beside=beside)
        try:
            earlier = EarlierJobs(self.state, self.store, self._snapshots)
            changed = await upgrade_running(runner, bundle, base, again, earlier)
        except BaseException:
            self._append_locks.drop(runner.id, taken)
            raise
        await asyncio.to_thread(self.store.sync)
        await self._adopt(runner)
        return runner.job, changed

    async def _adopt(self, runner: JobRunner) -> None:
        """Let everyone know that the job is another version of its program now, which the store has already."""
        job = runner.job
        runner.adopt((await asyncio.to_thread(Bundle.open, Path(job.bundle))).program, job.version)
        log.info('job "%s" is version %d of its program', runner.id, runner.job.version)
        self.tell({"event": "job", "job": self.document(runner.job)})
        if runner.needs_spark:
            self.processes.start_spark()
        self.processes.refresh_spark()
        self.calls.send_again(died=False)  # some may wait for a unit that has gone and come again, or that is no more

    def _open(self, path: Path) -> Bundle:
        """A bundle that may run here. GhcmError if it cannot be opened or is not signed by who is trusted."""
        return Bundle.open(path, trusted=self._trusted)

    async def _new(self, bundle: Bundle, base: Path, id: str) -> Job:
        copy = self.state.bundle(id)
        await asyncio.to_thread(keep_bundle, bundle, copy)
        await asyncio.to_thread(note_job, self._snapshots, id, 1, copy, {})
        note_base(self.state.base(id), base)
        return self.store.jobs.submit(id, bundle.program.name, str(copy))

    def resume(self) -> None:
        """Go on with the jobs of an earlier daemon, and with the calls that were cut off with it."""
        self.store.calls.cut_off()
        for job in reversed(self.store.jobs.find(over=False)):
            if job.state is JobState.STOPPING:  # the one before was killed at it; the last snapshot is where it is
                self._spawn(self._settle(self.store.jobs.move(job.id, JobState.STOPPED, REQUESTED)))
            else:
                self._resume(job)

    def _resume(self, job: Job) -> None:
        """Start a job of an earlier daemon, unless its bundle is spoilt or another runs instead by now: then it fails,
        and it alone.
        """
        try:
            base, program = self.state.folder_of(job.id), self._open(Path(job.bundle)).program
            self._append_locks.take(job.id, program, base, beside=self.state.beside(job.id).exists())
        except GhcmError as error:
            log.error('job "%s" cannot go on: %s', job.id, error)
            reason = f"{error.message}. {error.detail}" if error.detail else error.message
            self._spawn(self._settle(self.store.jobs.move(job.id, JobState.FAILED, reason, error=error)))
        else:
            self._start(job, program, base)

    async def stop(self, name: str, grace: float, waiting: Callable[[int], None]) -> tuple[Job, Settled]:
        """End a job for good, given its id or its program's name, and what became of the calls that did not end within
        `grace` seconds; `waiting` is told how many calls that is waited for. A job that is being stopped is stopped
        sooner, if `grace` says so.
        """
        runner = self._find(name)
        program = runner.program.name
        if program not in self._stopping:
            self._stops[program] = Stop(runner, self.calls, waiting)
            self._stopping[program] = self._spawn(self._stop(self._stops[program]))
        self._stops[program].hurry(grace)
        await asyncio.shield(self._stopping[program])
        await asyncio.to_thread(self.store.sync)
        return runner.job, await asyncio.shield(self._retirements[program])

    async def _stop(self, stop: Stop) -> None:
        program = stop.runner.program.name
        try:
            await stop.run()
            await asyncio.wait((self._retirements[program],))
        finally:
            del self._stops[program], self._stopping[program]

    async def leave(self) -> None:
        """End all engine processes; another daemon goes on with the jobs."""
        await asyncio.gather(*(runner.leave() for runner in self.runners.values()))
        await asyncio.gather(*(self._give_up(program) for program in {each.name for each in self.programs()}))

    def cut_off(self) -> None:
        """End all processes by force; another daemon goes on with the jobs."""
        for runner in self.runners.values():
            if runner.child is not None:
                runner.child.kill()
        self.processes.kill()
        self._spawn(asyncio.to_thread(self.calls.hurry))

    def lease_is_lost(self, program: str, error: GhcmError) -> None:
        """End the job of a program that another daemon runs."""
        for runner in self._running(program):
            runner.fail(f"{error.message}. {error.detail}", error)

    def spark_is_broken(self, reason: str) -> None:
        """Answer the calls that Spark would have to."""
        for runner in self.runners.values():
            units = [unit.name for unit in runner.batches if "spark" in unit.engines]
            self._spawn(self.calls.fail(runner.program.name, reason, units))

    def leased(self) -> list[str]:
        """The names of the programs that are held against other daemons."""
        return [runner.program.name for runner in self._running()]

    def programs(self) -> list[Program]:
        """The programs that have a job."""
        return [runner.program for runner in self.runners.values()]

    async def look(self, name: str, tables: Sequence[tuple[str, str]], folder: str) -> Document:
        """See `JobRunner.look`, of a job that runs, by its id or its program."""
        return await self._find(name).look(tables, folder)

    def progress(self) -> Document:
        """How the units of all engines stand, by job, as they last said."""
        return {"units": {id: runner.progress.get("units", {}) for id, runner in self.runners.items()}}

    def present(self, name: str) -> Program | None:
        """The program of that name as its job is now; None while that changes. From any thread."""
        found = [runner for runner in list(self.runners.values()) if runner.program.name == name]
        return found[-1].present if found else None

    def document(self, job: Job) -> Document:
        """A job as JSON, with what only its runner knows: whether all its inputs are read and written, and why the
        store does not have its state.
        """
        document, runner = job_document(job), self.runners.get(job.id)
        if runner is not None and runner.unnoted:
            document["reason"] = runner.unnoted
        return {**document, "inputs_done": runner is not None and runner.inputs_done}

    def _running(self, program: str | None = None) -> list[JobRunner]:
        """The jobs that are not over, or those of one program; each is looked up in the store."""
        return [
            runner for runner in self.runners.values() if program in (None, runner.program.name) and not runner.job.over
        ]

    def _find(self, name: str) -> JobRunner:
        running = self._running()
        for runner in running:
            if name in (runner.id, runner.program.name):
                return runner
        known = ", ".join(f'"{runner.id}"' for runner in running) or "none"
        raise GhcmError(f'no job "{name}" runs', code="GHCM-744", detail=f"Running: {known}.")

    def _start(self, job: Job, program: Program, base: Path) -> None:
        command = self.processes.engine(job, base)
        standby = None if self.standby is None else self.standby.take
        around = JobServices(self.store, self._changed, self._heard, self.settings.restarts, standby, self.waits)
        runner = self.runners[job.id] = JobRunner(job, program, command, around)
        runner.start()

    def _changed(self, runner: JobRunner) -> None:
        job = runner.job
        log.info('job "%s": %s', job.id, job.state.value)
        self.tell({"event": "job", "job": self.document(job)})
        if job.state is JobState.RUNNING:
            self.processes.first_results.set()
            if runner.first("batches"):
                self._spawn(self._start_batches(runner))
        if runner.inputs_done and runner.first("completion"):
            self._spawn(self._complete(runner))
        if job.over and runner.first("retirement"):
            self._retirements[runner.program.name] = self._spawn(self._retire(runner))
        if runner.child is not None and runner.child.phase is Phase.WAITING:
            self.calls.send_again()

    def _heard(self, runner: JobRunner, report: Document) -> None:
        if report.get("event") == "grown" and runner.upgraded is None:  # nobody has waited for it so long
            self._spawn(self._adopt(runner))
        if report.get("event") == "spark_wanted":
            self.processes.start_spark()
        elif report.get("event") != "running":
            self.tell({**report, "job": runner.id, "event": f"job.{report.get('event')}"})

    async def _start_batches(self, runner: JobRunner) -> None:
        """Start Spark where it is needed, and call the batch units that start by themselves, each once in the life of
        the job.
        """
        if runner.needs_spark:
            self.processes.start_spark()
        try:
            for unit in runner.batches:
                id = own_call(runner.id, unit)
                known = self.store.calls.get(id)
                if not unit.responsive and (known is None or not known.own):
                    deadline = now_us() + _BATCH_SECONDS * 1_000_000
                    instruction = Instruction(id, runner.program.name, unit.name, deadline=deadline, publisher=DAEMON)
                    await self.calls.call(runner.program, instruction)
        except GhcmError as error:
            runner.fail(f"its batch units cannot be called: {error.message}")
        finally:
            runner.batches_called.set()

    async def _complete(self, runner: JobRunner) -> None:
        """Wait until the calls that the inputs led to are answered; then the job is done, unless it serves."""
        await runner.batches_called.wait()
        while not runner.job.over and self.store.calls.open_calls(runner.program.name) > 0:
            await asyncio.sleep(_LOOK_SECONDS)  # executors end calls in the store, which tells nobody
        if not runner.job.over:
            self.tell({"event": "job.complete", "job": runner.id})
            if not runner.serves:
                runner.finish()

    async def _retire(self, runner: JobRunner) -> Settled:
        """Forget a job that is over, once nothing of it runs and it is decided what becomes of its calls."""
        job = runner.job
        if job.state is JobState.FAILED:
            log.error('job "%s" has failed: %s', job.id, job.reason)
        await runner.leave()
        if runner.batches:
            await self.processes.release_spark(job.id)
        settled = await self._settle(job)
        await self._give_up(job.program)
        self._append_locks.drop(job.id)
        self.runners.pop(runner.id, None)
        return settled

    async def _settle(self, job: Job) -> Settled:
        why = Failed("GHCM-748", f'program "{job.program}" was stopped before the call was answered')
        if job.state is JobState.FAILED:
            why = Failed("GHCM-745", f'program "{job.program}" has failed: {job.reason}')
        try:
            return await self.calls.settle(job.program, why)
        except GhcmError as error:
            log.error('the open calls of "%s" end with their deadlines: %s', job.program, error)
            return Settled()

    async def _give_up(self, program: str) -> None:
        try:
            async with asyncio.timeout(_GIVE_UP_SECONDS):
                await self.leases.drop(program)
        except (GhcmError, TimeoutError) as error:  # it ends by itself soon
            log.warning('the lease on "%s" could not be given up: %s', program, f"{error}" or "Redis does not answer")

    def _spawn(self, work: Coroutine[None, None, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task
