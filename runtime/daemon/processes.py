"""The processes of the daemon: how each is started (command line, environment), and of those that all jobs share
(Redis, HTTP, the Spark driver, a warm standby) when they start and in which order they stop.

All of them take SIGTERM as the request to finish what is half done and end with 0. Keeping one alive is the business of
`Child`, what to do about calls that of whoever is told here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from ghcm.runtime.daemon.child import Child, Command, ending, last_words
from ghcm.runtime.daemon.protocol import Document
from ghcm.runtime.daemon.restarts import RestartPolicy
from ghcm.runtime.daemon.state import Options, StateDirectory
from ghcm.runtime.daemon.warm_standby import WarmStandby
from ghcm.runtime.jobs.store import Job
from ghcm.runtime.pubsub.embedded import embedded_command, embedded_url
from ghcm.runtime.settings import EMBEDDED

log = logging.getLogger("ghcm.daemon")

_HEAD_START_SECONDS = 3.0
_RELEASE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told: of everything that happens; that somebody died who may have held calls; that Spark cannot be
    started, and why.
    """

    tell: Callable[[Document], None]
    calls_may_be_lost: Callable[[], None]
    spark_is_broken: Callable[[str], None]


class Processes:
    """`listener` is the socket that every HTTP process takes over from the one before."""

    def __init__(self, options: Options, listener: socket.socket, listeners: Listeners) -> None:
        self.children: dict[str, Child] = {}
        self.standby = WarmStandby(standby_command(options.state))
        self.http_watches = asyncio.Event()
        self.first_results = asyncio.Event()
        self._options = options
        self._state = options.state
        self._embedded = options.redis == EMBEDDED
        self.redis_url = embedded_url(options.state.redis) if self._embedded else options.redis
        self._listener = listener
        self._listeners = listeners
        self._spark_deaths = 0
        self._later: asyncio.Task[None] | None = None
        self._released: dict[str, asyncio.Future[bool]] = {}

    async def start(self) -> None:
        """Start what is needed before there is a job."""
        self._start_redis()
        if self._options.standby:
            await self.standby.start()
            self._later = asyncio.create_task(self._start_http_second(), name="http")
        else:
            self._start_http()

    def start_spark(self) -> None:
        """Start the Spark driver, or tell it that there is a new job."""
        if "spark" in self.children:
            self.refresh_spark()
            return
        command = spark_command(self._state, self.redis_url)
        self._keep(
            "spark",
            Child(command, RestartPolicy(limit=None), reported=self._heard, died=self._died, changed=self._changed),
        )

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
        await asyncio.gather(executors(), self._stop("spark"), self.standby.stop())
        await self._stop("redis")

    def _start_redis(self) -> None:
        if not self._embedded:
            self._listeners.calls_may_be_lost()  # those that an earlier daemon had accepted and not sent
            return
        socket_path = Path(self.redis_url.removeprefix("unix://"))

        async def answering() -> None:
            await _answers_ping(socket_path)
            self._listeners.calls_may_be_lost()

        command = redis_command(self._state)
        self._keep("redis", Child(command, RestartPolicy(limit=None), started=answering, changed=self._changed))

    async def _start_http_second(self) -> None:
        """Leave the processors to the first results; who calls meanwhile waits on the socket that listens already."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.first_results.wait(), _HEAD_START_SECONDS)
        self._start_http()

    def _start_http(self) -> None:
        async def watching() -> None:
            await self.http_watches.wait()
            self.http_watches.clear()
            self._listeners.calls_may_be_lost()  # those that the one before had accepted and not sent

        command = http_command(self._state, self.redis_url, self._listener.fileno())
        self._keep("http", Child(command, RestartPolicy(limit=None), started=watching, changed=self._changed))

    def _died(self, code: int) -> bool:
        """Calls survive a driver that dies, but not one that never gets as far as being ready."""
        self._spark_deaths += 1
        for released in self._released.values():
            if not released.done():
                released.set_result(True)  # nothing runs in a process that is dead
        if self._spark_deaths >= self._options.restarts:
            deaths = f"died {self._spark_deaths} times before it was ready"
            last = last_words(self._state.logs / "spark.log")
            self._listeners.spark_is_broken(f"the Spark driver {deaths}, the last time {ending(code)}{last}")
        return True

    def _heard(self, report: Document) -> None:
        if report.get("event") in ("ready", "running", "call"):
            self._spark_deaths = 0
        released = self._released.get(str(report.get("job")))
        if report.get("event") == "released" and released is not None and not released.done():
            released.set_result(bool(report.get("done")))
        self._listeners.tell({**report, "event": f"spark.{report.get('event')}"})

    def _changed(self) -> None:
        self._listeners.tell({"event": "processes"})

    def _keep(self, name: str, child: Child) -> None:
        self.children[name] = child
        child.start()

    async def _stop(self, name: str) -> None:
        if name in self.children:
            await self.children[name].stop()


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


SLOT: dict[str, str] = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ARROW_NUM_THREADS"), "1"),
    "POLARS_MAX_THREADS": "2",
}
"""Thread pools of libraries, capped to what one slot may use: one thread for the loop, and of Polars one more, so that
the loop does not wait for what is decoded or saved beside it.
"""


def redis_command(state: StateDirectory) -> Command:
    """The private Redis."""
    return Command("redis", embedded_command(state.redis), state.logs / "redis.log")


def http_command(state: StateDirectory, url: str, listener: int) -> Command:
    """The Supervisor's HTTP process on a socket that is already bound."""
    arguments = ["--state", str(state.path), "--redis", url, "--fd", str(listener)]
    return _python("http", "ghcm.supervisor", arguments, state, inherits=(listener,))


def engine_command(state: StateDirectory, url: str, job: Job, base: Path) -> Command:
    """The engine process of one job: runs its stream units, writes its reports to standard output."""
    arguments = ["--bundle", job.bundle, "--job", job.id, "--state", str(state.path)]
    arguments += ["--base", str(base), "--redis", url]
    return _python(job.id, "ghcm.runtime.slot.process", arguments, state, patience=30.0)


def standby_command(state: StateDirectory) -> Command:
    """A process that becomes an engine."""
    return _python("spare", "ghcm.runtime.daemon.warm_standby", [], state)


def spark_command(state: StateDirectory, url: str) -> Command:
    """The Spark driver of all jobs."""
    return _python("spark", "ghcm.runtime.spark", ["--state", str(state.path), "--redis", url], state, patience=20.0)


def _python(
    name: str,
    module: str,
    arguments: list[str],
    state: StateDirectory,
    *,
    inherits: tuple[int, ...] = (),
    patience: float = 10.0,
) -> Command:
    line = [sys.executable, "-u", "-m", module, *arguments]
    return Command(name, line, state.logs / f"{name}.log", SLOT, inherits, patience)
