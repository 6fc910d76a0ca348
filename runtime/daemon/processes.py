"""The processes that all jobs share: Redis, HTTP, the Spark driver, a spare engine; when they start and in which order
they stop.

Keeping one alive is the business of `Child`, what to do about calls that of whoever is told here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from ghcm.runtime.daemon import commands
from ghcm.runtime.daemon.child import Child, ending
from ghcm.runtime.daemon.lives import Lives
from ghcm.runtime.daemon.log_files import last_words
from ghcm.runtime.daemon.options import Options
from ghcm.runtime.daemon.protocol import Document
from ghcm.runtime.daemon.spare import Spare
from ghcm.runtime.pubsub.embedded import embedded_url
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
        self.spare = Spare(commands.spare(options.state))
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
        if self._options.spare:
            await self.spare.start()
            self._later = asyncio.create_task(self._start_http_second(), name="http")
        else:
            self._start_http()

    def start_spark(self) -> None:
        """Start the Spark driver, or tell it that there is a new job."""
        if "spark" in self.children:
            self.refresh_spark()
            return
        command = commands.spark(self._state, self.redis_url)
        self._keep(
            "spark", Child(command, Lives(limit=None), reported=self._heard, died=self._died, changed=self._changed)
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
        """Stop callers first, then who answers them (`executors` stops the engines), then the place of the data."""
        if self._later is not None:
            self._later.cancel()
            await asyncio.gather(self._later, return_exceptions=True)
        await self._stop("http")
        await asyncio.gather(executors(), self._stop("spark"), self.spare.stop())
        await self._stop("redis")

    def _start_redis(self) -> None:
        if not self._embedded:
            self._listeners.calls_may_be_lost()  # those that an earlier daemon had accepted and not sent
            return
        socket_path = Path(self.redis_url.removeprefix("unix://"))

        async def answering() -> None:
            await _answers_ping(socket_path)
            self._listeners.calls_may_be_lost()

        command = commands.redis(self._state)
        self._keep("redis", Child(command, Lives(limit=None), started=answering, changed=self._changed))

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

        command = commands.http(self._state, self.redis_url, self._listener.fileno())
        self._keep("http", Child(command, Lives(limit=None), started=watching, changed=self._changed))

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
