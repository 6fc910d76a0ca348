"""The Supervisor as an ASGI application: the endpoints of the present programs, exchanged when the programs change.

Follows the daemon's events over the control socket, so a program that is submitted can be called without a restart.
Apps are never changed: a new program is a new app instead of the old one, so OpenAPI always tells what there is.
"""

import asyncio
import contextlib
import gc
import logging
import shutil
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

import ghcm
from ghcm.errors import GhcmError
from ghcm.runtime.access.audit import AuditLog
from ghcm.runtime.access.tokens import TokenFile
from ghcm.runtime.daemon.protocol import LONGEST_LINE, decode, encode
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.keeping import keep
from ghcm.runtime.pubsub.cache import FEEDBACK_SECONDS
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.settings import Settings
from ghcm.supervisor import (
    call_routes,
    chart_routes,
    job_routes,
    pages,
    problems,
    sink_events,
    sink_routes,
    status_routes,
)
from ghcm.supervisor.access.identity import Identity
from ghcm.supervisor.access.issuer import issuer_of
from ghcm.supervisor.access.needs import UNKNOWN_CALLER, ask_at_each_route
from ghcm.supervisor.access.sessions import Ended, Sessions, key_in
from ghcm.supervisor.call_service import CallService
from ghcm.supervisor.catalogue import Catalogue, Reader
from ghcm.supervisor.charts.renderer import ChartRenderer
from ghcm.supervisor.gate import Gate, opened
from ghcm.supervisor.health import Readiness, answer_beats
from ghcm.supervisor.inbox import Inbox
from ghcm.supervisor.metrics import Metrics
from ghcm.supervisor.openapi import EVERYWHERE, Documented
from ghcm.supervisor.sink_routes import Shown
from ghcm.supervisor.sinks import SinkWatch

log = logging.getLogger("ghcm.supervisor")

FEEDBACK = "ghcm:feedback:supervisor"
"""The address that feedback to calls from outside goes to."""

_RETRY_SECONDS = 1.0
_BUSY_SECONDS = 2.0
"""How long a request waits for others who write to the store."""


@dataclass(slots=True)
class Supervisor:
    """One HTTP process. `url` is the Redis of caches and sinks; `state` where jobs and calls are; `bound` the name or
    address that it listens at, `elsewhere` whether other machines reach it; with `beats` it is asked on standard input
    whether it is there.
    """

    state: StateDirectory
    url: str
    settings: Settings = field(default_factory=Settings)
    bound: str = "127.0.0.1"
    elsewhere: bool = False
    beats: bool = False
    app: FastAPI | None = field(default=None, init=False)
    _service: CallService | None = None
    _gate: ASGIApp | None = None
    _reader: Reader = field(default_factory=Reader)
    _bases: dict[Path, Connections] = field(default_factory=dict[Path, Connections])
    _catalogue: Catalogue = field(default_factory=lambda: Catalogue({}, {}))
    _watches: dict[tuple[str, str], SinkWatch] = field(default_factory=dict[tuple[str, str], SinkWatch])
    _renderer: ChartRenderer = field(default_factory=ChartRenderer)
    _readiness: Readiness | None = None
    _metrics: Metrics | None = None
    _jobs: job_routes.Jobs = field(init=False)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])
    _closing: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)
    _identity: Identity = field(init=False)
    _audit: AuditLog = field(init=False)

    def __post_init__(self) -> None:
        tokens = TokenFile(self.settings.tokens_at(self.state.path))
        self._audit = AuditLog(self.state.audit)
        self._identity = Identity(
            tokens,
            self.elsewhere or self.settings.access.required,
            self._audit,
            Sessions(key_in(self.state.session_key), tokens, Ended(self.state.sessions_ended)),
            issuer_of(self.settings.oidc),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._gate is not None:
            await self._gate(scope, receive, send)

    async def open(self) -> None:
        """Open what calls need and begin to follow the daemon."""
        store = self._closing.enter_context(contextlib.closing(open_store(self.state.store, busy=_BUSY_SECONDS)))
        connections = self._connections_at(self.state.path)
        mails = [connections.async_cache(road) for road in connections.roads(FEEDBACK)]
        inbox = Inbox(mails[0], FEEDBACK)
        self._service = CallService(store, inbox, connections.async_cache, self.settings)
        for close in (self._service.close, *(mail.close for mail in mails), self._renderer.close):
            self._closing.push_async_callback(close)
        # Feedback of long ago is in the store; that of the last minute covers clocks that differ.
        since = f"{int((time.time() - FEEDBACK_SECONDS) * 1000)}-0"
        for mail in mails:
            listening = partial(inbox.serve, since, mail)
            self._tasks.append(asyncio.create_task(keep("the ear for feedback", listening), name="feedback"))
        shutil.rmtree(self.state.incoming, ignore_errors=True)  # what the process before was being sent
        self._jobs = job_routes.Jobs(self.state, store, self.settings.http.body_time)
        self._readiness = Readiness(self.state, connections)
        self._metrics = Metrics(store, self._service.quotas.refused)
        self._closing.callback(self._readiness.close)
        self.refresh()
        self._tasks.append(asyncio.create_task(keep("the ear for the daemon", self._follow), name="daemon"))
        if self.beats:
            self._tasks.append(asyncio.create_task(answer_beats(), name="beats"))

    def end_waits(self) -> None:
        """Answer those who wait for calls with how these stand: the server ends."""
        if self._service is not None:
            self._service.ending = True

    async def close(self) -> None:
        """Give everything back."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._closing.aclose()

    def refresh(self) -> None:
        """Offer the programs that are there now."""
        assert self._service is not None
        jobs = [(job, self._base(job.id)) for job in self._service.store.jobs.find()]
        self._catalogue, errors = self._reader.catalogue(jobs)
        for error in errors:
            log.error("%s", error)
        self.app = self._built(self._catalogue, self._service)
        self._gate = opened(Gate(self._identity.known(self.app), self.bound, self._audit, self.settings.http))
        # What the app consists of stays: a collection that walks through it would hold up the calls of that moment. The
        # one before stood frozen too, and would for ever.
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    def _built(self, catalogue: Catalogue, service: CallService) -> FastAPI:
        """The app for these programs."""
        app = Documented(
            title="GHCM Supervisor",
            version=ghcm.__version__,
            description="Calls responsive units. Each has its endpoint, with the types of its parameters.",
            openapi_tags=[{"name": name, "description": f'Units of "{name}".'} for name in sorted(catalogue.programs)],
            responses=EVERYWHERE | UNKNOWN_CALLER,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,  # by the scheme that it sees itself, behind a proxy another than the browser's
        )
        problems.install(app)
        assert self._readiness is not None and self._metrics is not None
        status_routes.add(app, catalogue, self._readiness, self._metrics)
        calls = call_routes.Calls(catalogue, service, self._connections)
        for known in catalogue.programs.values():
            for unit in known.units.values():
                call_routes.add_unit(app, calls, unit)
        call_routes.add(app, calls)
        job_routes.add(app, self._jobs)
        call_routes.add_rows(app, calls)
        call_routes.add_charts(app, calls, self._renderer)
        shown = Shown(catalogue, self._connections, self._watches, self.state.dead)
        sink_routes.add(app, shown, self.settings.limits.rows)
        sink_events.add(app, shown, lambda: service.ending)
        chart_routes.add(app, shown, self._renderer, self.settings.limits.rows)
        pages.add(app, shown, self._renderer.warm)
        self._identity.add(app)
        ask_at_each_route(app, self._audit, service.made_by)
        return app

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
            kafka, patience = self.settings.kafka, self.settings.patience
            found = self._bases[base] = Connections(base, self.url, kafka, patience, self.settings.sql)
            self._closing.push_async_callback(found.aclose)
        return found

    def _base(self, job: str) -> Path:
        try:
            return self.state.folder_of(job)
        except GhcmError:  # such a job has failed
            return Path.cwd()
