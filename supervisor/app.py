"""The Supervisor as an ASGI application: the endpoints of the present programs, exchanged when the programs change.

Follows the daemon's events over the control socket, so a program that is submitted can be called without a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import time
from dataclasses import dataclass, field
from pathlib import Path

import redis
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.protocol import LONGEST_LINE, decode, encode
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import Store, open_store
from ghcm.runtime.pubsub.cache import AsyncMessageCache, Inbox
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import LIMIT
from ghcm.runtime.settings import Settings
from ghcm.supervisor import problems
from ghcm.supervisor.call_service import CallService
from ghcm.supervisor.catalogue import Catalogue, Reader
from ghcm.supervisor.charts.renderer import ChartRenderer
from ghcm.supervisor.problems import Problem
from ghcm.supervisor.routes import build
from ghcm.supervisor.sinks import SinkWatches

log = logging.getLogger("ghcm.supervisor")

FEEDBACK = "ghcm:feedback:supervisor"
"""The address that feedback to calls from outside goes to."""

_RETRY_SECONDS = 1.0


@dataclass(slots=True)
class Supervisor:
    """One HTTP process. `url` is the Redis of caches and sinks; `state` where jobs and calls are."""

    state: StateDirectory
    url: str
    settings: Settings = field(default_factory=Settings)
    _store: Store | None = None
    _mail: AsyncMessageCache | None = None
    _service: CallService | None = None
    _app: ASGIApp | None = None
    _reader: Reader = field(default_factory=Reader)
    _bases: dict[Path, Connections] = field(default_factory=dict[Path, Connections])
    _catalogue: Catalogue = field(default_factory=lambda: Catalogue({}, {}))
    _watches: SinkWatches = field(default_factory=SinkWatches)
    _renderer: ChartRenderer = field(default_factory=ChartRenderer)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            await limited(self._app, LIMIT)(scope, receive, send)

    async def open(self) -> None:
        """Open what calls need and begin to follow the daemon."""
        self._store = open_store(self.state.store)
        self._mail = self._connections_at(self.state.path).async_cache(FEEDBACK)
        inbox = Inbox(self._mail, FEEDBACK)
        self._service = CallService(
            self._store, inbox, self._connections_at(self.state.path).async_cache, self.settings
        )
        # Feedback of long ago is in the store; a minute covers clocks that differ.
        since = f"{int((time.time() - 60) * 1000)}-0"
        self._tasks.append(asyncio.create_task(inbox.serve(since), name="feedback"))
        self.refresh()
        self._tasks.append(asyncio.create_task(self._follow(), name="daemon"))
        self._renderer.open()

    async def close(self) -> None:
        """Give everything back."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._renderer.close()
        if self._mail is not None:
            await self._mail.close()
        if self._service is not None:
            await self._service.close()
        for connections in self._bases.values():
            await connections.aclose()
        if self._store is not None:
            self._store.close()

    def refresh(self) -> None:
        """Offer the programs that are there now."""
        assert self._store is not None and self._service is not None
        jobs = [(job, self._base(job.id)) for job in self._store.jobs.find()]
        self._catalogue, errors = self._reader.catalogue(jobs)
        for error in errors:
            log.error("%s", error)
        self._app = build(self._catalogue, self._service, self._connections, self._ready, self._watches, self._renderer)
        # What the app consists of stays: a collection that walks through it would hold up the calls of that moment.
        gc.collect()
        gc.freeze()

    async def _ready(self) -> bool:
        try:
            await asyncio.to_thread(self._ping)
        except (redis.RedisError, GhcmError):
            return False
        return True

    def _ping(self) -> None:
        self._connections_at(self.state.path).redis().exists(FEEDBACK)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            match (await receive())["type"]:
                case "lifespan.startup":
                    await self.open()
                    await send({"type": "lifespan.startup.complete"})
                case "lifespan.shutdown":
                    await self.close()
                    await send({"type": "lifespan.shutdown.complete"})
                    return
                case _:
                    pass

    async def _follow(self) -> None:
        """Refresh when the daemon says that its jobs have changed. The daemon outlives us; we end with it."""
        changed = asyncio.Event()
        refreshing = asyncio.create_task(self._keep_fresh(changed), name="refresh")
        try:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_unix_connection(str(self.state.control), limit=LONGEST_LINE)
                with contextlib.closing(writer):
                    writer.write(encode({"op": "watch", "name": "http"}))
                    while line := await reader.readline():
                        if decode(line).get("event") in ("job", "jobs"):
                            changed.set()
        finally:
            refreshing.cancel()

    async def _keep_fresh(self, changed: asyncio.Event) -> None:
        """Refresh once for all changes that have come meanwhile: calls are held up as long as it takes."""
        while True:
            await changed.wait()
            changed.clear()
            try:
                self.refresh()
            except Exception as error:  # the store is away, or a bundle: what is offered stays as it is until then
                log.error("the programs that are there cannot be seen just now: %s", error, exc_info=error)
                await asyncio.sleep(_RETRY_SECONDS)
                changed.set()

    def _connections(self, program: str) -> Connections:
        return self._connections_at(self._catalogue.any_program(program).base)

    def _connections_at(self, base: Path) -> Connections:
        found = self._bases.get(base)
        if found is None:
            found = self._bases[base] = Connections(base, self.url)
        return found

    def _base(self, job: str) -> Path:
        try:
            return Path(self.state.base(job).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Path.cwd()


def limited(app: ASGIApp, limit: int) -> ASGIApp:
    """The app, for requests of at most `limit` bytes; larger ones are answered with 413 and not read further."""
    answer = problems.response(
        Problem(
            413,
            "GHCM-331",
            f"the request is too large: the limit is {limit:,} bytes",
            detail="Parameters travel in an instruction, which holds references and no data.",
            hint="put the data in a sink and pass where it is.",
        )
    )

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        body = None if declared.isdigit() and int(declared) > limit else await _read(receive, limit)
        if body is None:
            await answer(scope, receive, send)
            return
        unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return unread.pop() if unread else await receive()

        await app(scope, replay, send)

    return call


async def _read(receive: Receive, limit: int) -> bytes | None:
    """The body of a request, or None if it is over the limit."""
    body = b""
    while True:
        message = await receive()
        part: bytes = message.get("body", b"")
        body += part
        if len(body) > limit:
            return None
        if not message.get("more_body", False):
            return body
