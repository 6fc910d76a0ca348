"""The processes of the daemon: how each is started (command line, environment), and of those that all jobs share
(Redis, HTTP, the Spark driver, a warm standby) when they start and in which order they stop.

All of them take SIGTERM as the request to finish what is half done and end with 0. Keeping one alive is the business of
`Child`, what to do about calls that of whoever is told here.
"""

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ghcm.runtime.daemon.child import Child, RestartPolicy, ending, last_words
from ghcm.runtime.daemon.protocol import Document
from ghcm.runtime.daemon.spawning import Command
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.daemon.warm_standby import SLOT, WarmStandby
from ghcm.runtime.jobs.store import Job
from ghcm.runtime.pubsub.embedded import embedded_command
from ghcm.runtime.settings import REDIS, Settings

log = logging.getLogger("ghcm.daemon")

_HEAD_START_SECONDS = 3.0
_RELEASE_SECONDS = 15.0
_REDIS_SECONDS = 3.0
"""How long Redis may take to end where everything is cut off."""


@dataclass(eq=False)
class Processes:
    """`listener` is the socket that every HTTP process takes over from the one before. `tell` is told everything that
    happens; the others, that somebody died who may have held calls, and that Spark cannot be started, and why.
    """

    settings: Settings
    state: StateDirectory
    redis_url: str = field(repr=False)
    listener: socket.socket
    tell: Callable[[Document], None]
    calls_may_be_lost: Callable[[], None]
    spark_is_broken: Callable[[str], None]
    waits: bool = True
    """Whether what finds no room waits for it."""
    standby: WarmStandby | None = None
    children: dict[str, Child] = field(default_factory=dict[str, Child])
    http_watches: asyncio.Event = field(default_factory=asyncio.Event)
    first_results: asyncio.Event = field(default_factory=asyncio.Event)
    _spark_up: asyncio.Event = field(default_factory=asyncio.Event)
    _spark_deaths: int = 0
    _later: asyncio.Task[None] | None = None
    _released: dict[str, asyncio.Future[bool]] = field(default_factory=dict[str, asyncio.Future[bool]])

    def __post_init__(self) -> None:
        self._told = ("--state", str(self.state.path))
        leases = () if self.settings.embedded else ("--leases", str(self.state.leases))
        self._executors = (*self._told, *leases, *(() if self.waits else ("--no-wait",)))

    def start(self) -> None:
        """Start what is needed before there is a job."""
        self._start_redis()
        if self.standby is not None:
            self._later = asyncio.create_task(self._start_http_second(), name="http")
        else:
            self._start_http()

    def start_spark(self) -> None:
        """Start the Spark driver, or tell it that there is a new job."""
        if "spark" in self.children:
            self.refresh_spark()
            return
        command = self._command("spark", "ghcm.runtime.spark", *self._executors, patience=20.0)
        self._keep(command, started=self._spark_is_up, reported=self._heard, died=self._died)

    def engine(self, job: Job, base: Path) -> Command:
        """The engine process of one job: runs its stream units, writes its reports to standard output."""
        arguments = (*self._executors, "--bundle", job.bundle, "--job", job.id, "--base", str(base))
        return self._command(job.id, "ghcm.runtime.slot.process", *arguments, patience=30.0)

    def refresh_spark(self) -> None:
        """Tell the Spark driver that jobs have come or gone."""
        if "spark" in self.children:
            self.children["spark"].tell({"op": "refresh"})

    async def release_spark(self, job: str) -> None:
        """Have the Spark driver break off what it runs of a job that is over; returns when nothing of it runs any more,
        or after a while: a driver that hangs is no reason to wait for ever.
        """
        spark = self.children.get("spark")
        if spark is None or spark.pid is None:
            return
        released = self._released[job] = asyncio.get_running_loop().create_future()
        spark.tell({"op": "release", "job": job})
        try:
            done = await asyncio.wait_for(released, _RELEASE_SECONDS)
        except TimeoutError:
            done = False
        finally:
            self._released.pop(job, None)
        if not done:
            log.warning('what Spark runs of job "%s" could not be broken off', job)

    async def stop(self, executors: Callable[[], Awaitable[object]]) -> None:
        """Stop callers first, then who answers them (`executors` stops the engines), then Redis, which has the data."""
        if self._later is not None:
            self._later.cancel()
            await asyncio.gather(self._later, return_exceptions=True)
        await self._stop("http")
        await asyncio.gather(executors(), self._stop("spark"))
        await self._stop("redis")

    def kill(self) -> None:
        """End those that run calls or take them by force, and start none again; Redis has data, and a moment to end in
        order.
        """
        for name, child in self.children.items():
            if name == "redis":
                asyncio.get_running_loop().call_later(_REDIS_SECONDS, child.kill)
            else:
                child.kill()

    def _start_redis(self) -> None:
        if not self.settings.embedded:
            self.calls_may_be_lost()  # those that an earlier daemon had accepted and not sent
            return
        socket_path = Path(self.redis_url.removeprefix("unix://"))

        async def answering() -> None:
            await _answers_ping(socket_path)
            self.calls_may_be_lost()

        command = Command("redis", embedded_command(self.state.redis), self.state.logs / "redis.log")
        self._keep(command, started=answering, ping=lambda: _answers_ping(socket_path, loading=True))

    async def _start_http_second(self) -> None:
        """Leave the processors to the first results; who calls meanwhile waits on the socket that listens already."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.first_results.wait(), _HEAD_START_SECONDS)
        self._start_http()

    def _start_http(self) -> None:
        async def watching() -> None:
            await self.http_watches.wait()
            self.http_watches.clear()
            self.calls_may_be_lost()  # those that the one before had accepted and not sent

        listener = self.listener.fileno()
        bound = ("--host", self.settings.http.host, "--fd", str(listener))
        command = self._command("http", "ghcm.supervisor", *self._told, *bound, inherits=(listener,))
        self._keep(command, started=watching, reported=self._heard_of_http)

    async def _spark_is_up(self) -> None:
        self._spark_up.clear()
        await self._spark_up.wait()

    def _died(self, code: int) -> bool:
        """Calls survive a driver that dies, but not one that never gets as far as being ready."""
        self._spark_deaths += 1
        for released in self._released.values():
            if not released.done():
                released.set_result(True)  # nothing runs in a process that is dead
        if self._spark_deaths >= self.settings.restarts.limit:
            deaths = f"died {self._spark_deaths} times before it was ready"
            last = last_words(self.state.logs / "spark.log")
            self.spark_is_broken(f"the Spark driver {deaths}, the last time {ending(code)}{last}")
        return True

    def _heard(self, report: Document) -> None:
        if report.get("event") in ("ready", "running", "call"):
            self._spark_deaths = 0
            self._spark_up.set()
        released = self._released.get(str(report.get("job")))
        if report.get("event") == "released" and released is not None and not released.done():
            released.set_result(bool(report.get("done")))
        self.tell({**report, "event": f"spark.{report.get('event')}"})

    def _heard_of_http(self, report: Document) -> None:
        log.warning("http reports what is not known: %s", report)

    def _changed(self) -> None:
        self.tell({"event": "processes"})

    def _keep(
        self,
        command: Command,
        *,
        started: Callable[[], Awaitable[None]] | None = None,
        reported: Callable[[Document], None] | None = None,
        died: Callable[[int], bool] | None = None,
        ping: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Start a process that is always to be there."""
        child = self.children[command.name] = Child(
            command,
            RestartPolicy.of(self.settings.restarts, endless=True),
            started=started,
            reported=reported,
            died=died,
            hang=self.settings.restarts.hang,
            ping=ping,
            changed=self._changed,
        )
        child.start()

    def _command(
        self, name: str, module: str, *arguments: str, inherits: Sequence[int] = (), patience: float = 10.0
    ) -> Command:
        line = [sys.executable, "-u", "-m", module, *arguments]
        environment = {**SLOT, REDIS: self.redis_url}  # no arguments: everybody may read those, with the password
        return Command(name, line, self.state.logs / f"{name}.log", environment, inherits, patience)

    async def _stop(self, name: str) -> None:
        if name in self.children:
            await self.children[name].stop()


async def _answers_ping(path: Path, *, loading: bool = False) -> None:
    """Return when the Redis at this socket has loaded its data and answers; with `loading` any answer will do."""
    while True:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_unix_connection(str(path))
            writer.write(b"PING\r\n")
            answer = await reader.readline()
            writer.close()
            if answer.startswith(b"+PONG") or (loading and answer):
                return
        await asyncio.sleep(0.01)  # a server that starts has no way to tell
