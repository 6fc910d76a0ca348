"""The daemon: starts and watches the processes, owns the jobs, answers the control socket.

One asyncio loop that only decides; whatever blocks runs in the children or in threads of the keepers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import signal
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path

from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon import commands
from ghcm.runtime.daemon.call_keeper import CallKeeper
from ghcm.runtime.daemon.child import Child, Phase, ending
from ghcm.runtime.daemon.control import ControlServer
from ghcm.runtime.daemon.job_keeper import Around, JobKeeper
from ghcm.runtime.daemon.lives import Lives
from ghcm.runtime.daemon.log_files import last_words
from ghcm.runtime.daemon.protocol import Document, job_document
from ghcm.runtime.daemon.requests import answers, status
from ghcm.runtime.daemon.spare import Spare
from ghcm.runtime.daemon.state import Lock, StateDirectory
from ghcm.runtime.jobs.job_list import Job, JobState
from ghcm.runtime.jobs.store import Store, open_store
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.embedded import EmbeddedRedis
from ghcm.runtime.pubsub.envelope import Instruction, now_us
from ghcm.runtime.settings import EMBEDDED, Settings
from ghcm.spg.graph import Program

__all__ = ["Daemon", "Options", "options", "run"]

log = logging.getLogger("ghcm.daemon")

_BATCH_SECONDS = 24 * 3600
_LOOK_SECONDS = 0.1
_HEAD_START_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Options:
    """What a daemon is told: its state directory, its Redis ("embedded" or a URL), where HTTP listens (port 0: any free
    one), the seconds that a call without a deadline has, and the deaths within a minute that are too many.
    `spare`: start an engine before there is a job for it.
    """

    state: StateDirectory
    redis: str = EMBEDDED
    host: str = "127.0.0.1"
    port: int = 8000
    call_timeout: float = 3600.0
    restarts: int = 5
    spare: bool = False


def options(settings: Settings, *, spare: bool = False) -> Options:
    """What the settings say to the daemon."""
    http, limits = settings.http, settings.limits
    state = StateDirectory(settings.state)
    return Options(state, settings.redis, http.host, http.port, settings.call_timeout, limits.restarts, spare)


class Daemon:
    """Runs until it is told to stop. Made only when the lock on the state directory is held."""

    def __init__(self, options: Options, store: Store, listener: socket.socket) -> None:
        self.options = options
        self.state = options.state
        self.store = store
        self.stopping = asyncio.Event()
        self.jobs: dict[str, JobKeeper] = {}
        self._server = EmbeddedRedis(self.state.redis) if options.redis == EMBEDDED else None
        self.redis_url = self._server.url if self._server is not None else options.redis
        self._listener = listener
        host, port = listener.getsockname()[:2]
        self.url = f"http://{host}:{port}"
        self._watchers: set[asyncio.Queue[Document]] = set()
        self._http_ready = asyncio.Event()
        self._first_runs = asyncio.Event()
        self._spark_deaths = 0
        self._spare = Spare(commands.spare(self.state))
        self._background: set[asyncio.Task[None]] = set()
        self.children: dict[str, Child] = {}
        connections = Connections(Path.cwd(), self.redis_url)
        self.calls = CallKeeper(store, connections, self._programs, options.call_timeout)
        self._control = ControlServer(self.state.control, lambda op, arguments: answers(self, op, arguments))

    async def run(self, ready: Callable[[Document], None]) -> None:
        """Start everything, go on with the jobs that were running, and stop everything in order when told to."""
        await self._control.open()
        ready(status(self))
        self._start_redis()
        if self.options.spare:
            await self._spare.start()
            self._spawn(self._start_http_second())
        else:
            self._start_http()
        keeping = asyncio.create_task(self.calls.run(), name="calls")
        try:
            for job in reversed(self.store.jobs.find(over=False)):
                self._resume(job)
            await self.stopping.wait()
        finally:
            log.info("stopping")
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await self._spare.stop()
            await self._stop_all()
            await self._control.close()
            await asyncio.to_thread(self.calls.close)

    # --- jobs --------------------------------------------------------------------------------------------------------

    async def submit(self, path: Path, base: Path) -> Job:
        """Take a bundle and start its job. GhcmError if the program runs already."""
        bundle = await asyncio.to_thread(Bundle.open, path)
        program = bundle.program
        for keeper in self.jobs.values():
            if keeper.program.name == program.name and not keeper.job.over:
                raise GhcmError(
                    f'program "{program.name}" runs already as job "{keeper.id}"',
                    code="GHCM-724",
                    hint=f"end it first: ghcm stop {keeper.id}",
                )
        id = f"{program.name}-{secrets.token_hex(3)}"
        copy = self.state.bundle(id)
        copy.parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(_copy, path, copy)
        self.state.base(id).write_text(str(base.absolute()), encoding="utf-8")
        job = self.store.jobs.submit(id, program.name, str(copy))
        log.info('job "%s" is submitted', id)
        self._start(job, program, base)
        return self.store.jobs.known(id)

    async def stop_job(self, name: str) -> Job:
        """End a job, given its id or its program's name."""
        keeper = self.find(name)
        await keeper.stop(reason="stopped by request")
        await self.calls.fail(keeper.program.name, f'program "{keeper.program.name}" was stopped')
        return keeper.job

    def _programs(self) -> list[Program]:
        return [keeper.program for keeper in self.jobs.values()]

    def find(self, name: str) -> JobKeeper:
        """The keeper of a job that is not over, by its id or its program's name."""
        for keeper in self.jobs.values():
            if name in (keeper.id, keeper.program.name) and not keeper.job.over:
                return keeper
        running = ", ".join(f'"{keeper.id}"' for keeper in self.jobs.values() if not keeper.job.over) or "none"
        raise GhcmError(f'no job "{name}" runs', code="GHCM-744", detail=f"Running: {running}.")

    def _resume(self, job: Job) -> None:
        """Go on with a job of an earlier daemon."""
        try:
            base = Path(self.state.base(job.id).read_text(encoding="utf-8"))
            program = Bundle.open(Path(job.bundle)).program
        except (GhcmError, OSError) as error:
            self.store.jobs.move(job.id, JobState.FAILED, f"its bundle cannot be read: {error}")
            return
        self._start(job, program, base)

    def _start(self, job: Job, program: Program, base: Path) -> None:
        command = commands.engine(self.state, self.redis_url, job, base)
        around = Around(self.store, self._job_changed, self._job_heard, self.options.restarts, self._spare.take)
        keeper = self.jobs[job.id] = JobKeeper(job, program, command, around)
        keeper.start()

    def _job_changed(self, keeper: JobKeeper) -> None:
        job = keeper.job
        log.info('job "%s": %s', job.id, job.state.value)
        self.tell({"event": "job", "job": self.document(job)})
        if job.state is JobState.RUNNING:
            self._first_runs.set()
        if job.state is JobState.RUNNING and keeper.begin_batches():
            self._spawn(self._start_batches(keeper))
        if keeper.inputs_done and keeper.begin_completion():
            self._spawn(self._complete(keeper))
        if job.over and keeper.begin_retirement():
            self._spawn(self._retire(keeper))
        if job.state is JobState.FAILED:
            log.error('job "%s" has failed: %s', job.id, job.reason)
            self._spawn(self.calls.fail(job.program, f'program "{job.program}" has failed: {job.reason}'))
        if keeper.child is not None and keeper.child.phase is Phase.WAITING:
            self.calls.send_again()

    def _job_heard(self, keeper: JobKeeper, report: Document) -> None:
        if report.get("event") != "running":
            self.tell({**report, "job": keeper.id, "event": f"job.{report.get('event')}"})

    async def _retire(self, keeper: JobKeeper) -> None:
        """Forget a job that is over, once its process has ended."""
        await keeper.leave()
        self.jobs.pop(keeper.id, None)
        if "spark" in self.children:
            self.children["spark"].tell({"op": "refresh"})

    async def _complete(self, keeper: JobKeeper) -> None:
        """Wait until the calls that the inputs led to are answered; then the job is done, unless it serves."""
        await keeper.batches_called.wait()
        while not keeper.job.over and self.store.calls.open_calls(keeper.program.name) > 0:
            await asyncio.sleep(_LOOK_SECONDS)  # executors end calls in the store, which tells nobody
        if not keeper.job.over:
            self.tell({"event": "job.complete", "job": keeper.id})
            if not keeper.serves:
                keeper.finish()

    async def _start_batches(self, keeper: JobKeeper) -> None:
        """Start Spark, and call the batch units that start by themselves, each once in the life of the job."""
        if keeper.batches:
            self._start_spark()
        for unit in keeper.batches:
            if not unit.responsive:
                deadline = now_us() + _BATCH_SECONDS * 1_000_000
                id = f"{keeper.id}.{unit.name}"
                instruction = Instruction(id, keeper.program.name, unit.name, deadline=deadline, publisher="daemon")
                if self.store.calls.get(id) is None:
                    await self.calls.call(keeper.program, instruction)
        keeper.batches_called.set()

    # --- processes ---------------------------------------------------------------------------------------------------

    def _start_redis(self) -> None:
        if self._server is None:
            self.calls.send_again()
            return
        socket_file = Path(self._server.url.removeprefix("unix://"))

        async def answering() -> None:
            await _answers_ping(socket_file)
            self.calls.send_again()

        command = commands.redis(self._server, self.state)
        self._keep("redis", Child(command, Lives(limit=None), started=answering, changed=self._processes_changed))

    async def _start_http_second(self) -> None:
        """Leave the processors to the first results; who calls meanwhile waits on the socket that listens already."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._first_runs.wait(), _HEAD_START_SECONDS)
        self._start_http()

    def _start_http(self) -> None:
        async def watching() -> None:
            await self._http_ready.wait()
            self._http_ready.clear()
            self.calls.send_again()  # what the one before had accepted and not sent

        command = commands.http(self.state, self.redis_url, self._listener.fileno())
        self._keep("http", Child(command, Lives(limit=None), started=watching, changed=self._processes_changed))

    def _start_spark(self) -> None:
        if "spark" in self.children:
            self.children["spark"].tell({"op": "refresh"})
            return
        command = commands.spark(self.state, self.redis_url)
        lives = Lives(limit=None)
        child = Child(
            command, lives, reported=self._spark_reported, died=self._spark_died, changed=self._processes_changed
        )
        self._keep("spark", child)

    def _spark_died(self, code: int) -> bool:
        """Calls survive a driver that dies, but not one that never gets as far as being ready."""
        self._spark_deaths += 1
        if self._spark_deaths >= self.options.restarts:
            reason = (
                f"the Spark driver died {self._spark_deaths} times before it was ready, the last time {ending(code)}"
            )
            last = last_words(self.state.logs / "spark.log")
            for keeper in self.jobs.values():
                units = [unit.name for unit in keeper.batches]
                self._spawn(self.calls.fail(keeper.program.name, reason + last, units))
        return True

    def _spark_reported(self, report: Document) -> None:
        if report.get("event") in ("ready", "running", "call"):
            self._spark_deaths = 0
        self.tell({**report, "event": f"spark.{report.get('event')}"})

    def _keep(self, name: str, child: Child) -> None:
        self.children[name] = child
        child.start()

    def _processes_changed(self) -> None:
        self.tell({"event": "processes"})

    async def _stop_all(self) -> None:
        """Callers first, then who answers them, the data's place last."""
        for names in (("http",), ("spark",), ("redis",)):
            if names == ("spark",):
                await asyncio.gather(*(keeper.leave() for keeper in self.jobs.values()))
            for name in names:
                if name in self.children:
                    await self.children[name].stop()

    # --- events ------------------------------------------------------------------------------------------------------

    async def watch(self, name: str) -> AsyncIterator[Document]:
        """Everything that happens from now on; begins with the jobs as they are."""
        queue: asyncio.Queue[Document] = asyncio.Queue()
        self._watchers.add(queue)
        try:
            if name == "http":
                self._http_ready.set()
            yield {"event": "jobs", "jobs": [self.document(job) for job in self.store.jobs.find(over=False)]}
            while True:
                yield await queue.get()
        finally:
            self._watchers.discard(queue)

    def document(self, job: Job) -> Document:
        """A job as JSON, with what only its keeper knows: whether all its inputs are read and written."""
        keeper = self.jobs.get(job.id)
        return {**job_document(job), "inputs_done": keeper is not None and keeper.inputs_done}

    def tell(self, event: Document) -> None:
        """Tell everyone who watches."""
        for queue in self._watchers:
            queue.put_nowait(event)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _copy(bundle: Path, copy: Path) -> None:
    if bundle.is_dir():
        shutil.copytree(bundle, copy)
    else:
        shutil.copyfile(bundle, copy)


async def _answers_ping(path: Path) -> None:
    """Return when the Redis at this socket has loaded its data and answers."""
    while True:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_unix_connection(str(path))
            writer.write(b"PING\r\n")
            answer = await reader.readline()
            writer.close()
            if answer.startswith(b"+PONG"):
                return
        await asyncio.sleep(0.01)  # a server that starts has no way to tell


def run(options: Options, ready: Callable[[Document], None] = lambda _: None) -> None:
    """Own the state directory and be the daemon until SIGTERM or SIGINT. `ready` is told the status once the control
    socket is open. GhcmError if it cannot start.
    """
    lock = Lock(options.state)
    try:
        listener = _listen(options.host, options.port)
        with listener, contextlib.closing(open_store(options.state.store)) as store:
            asyncio.run(_live(options, store, listener, ready))
    finally:
        lock.release()


async def _live(options: Options, store: Store, listener: socket.socket, ready: Callable[[Document], None]) -> None:
    daemon = Daemon(options, store, listener)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, daemon.stopping.set)
    log.info("daemon %d in %s, http at %s", os.getpid(), options.state.path, daemon.url)
    await daemon.run(ready)


def _listen(host: str, port: int) -> socket.socket:
    """The socket that every successor of the HTTP process takes over, so that callers wait and are not refused."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise GhcmError(
            f"cannot listen on {host}:{port}: {error.strerror}",
            code="GHCM-725",
            hint="end who listens there, or choose another port: --port or GHCM_PORT; 0 takes any free one.",
        ) from error
    return listener
