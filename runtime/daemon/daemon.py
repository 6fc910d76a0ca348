"""The daemon: owns a state directory, puts its parts together, answers requests, and lives until it is told to stop.

One asyncio loop that only decides; whatever blocks runs in the children or in threads beside it.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from ghcm.errors import GhcmError, listed, suggest, without_password
from ghcm.runtime.access.audit import AuditLog
from ghcm.runtime.daemon.backup import back_up_running
from ghcm.runtime.daemon.child import Child, follow, tail
from ghcm.runtime.daemon.control import ControlServer, Peer, listen
from ghcm.runtime.daemon.exposure import refuse_exposed
from ghcm.runtime.daemon.jobs import Jobs
from ghcm.runtime.daemon.locks import Lock
from ghcm.runtime.daemon.notification import keep_watchdog, notify
from ghcm.runtime.daemon.protocol import Document, call_document
from ghcm.runtime.daemon.resubmission import Again
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.daemon.warm_standby import WarmStandby
from ghcm.runtime.jobs.calls import CallState
from ghcm.runtime.jobs.store import Store, open_store
from ghcm.runtime.keeping import keep
from ghcm.runtime.settings import Settings
from ghcm.version import __version__

log = logging.getLogger("ghcm.daemon")

_BUSY_SECONDS = 1.0
"""How long the loop waits for others who write to the store; what becomes of jobs is noted when it can be."""

_LARGEST = 10**9
"""Number in a request: seconds, rows or lines."""

E = TypeVar("E", bound=Enum)

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_CHANGES = ("submit", "stop", "backup", "shutdown")
_REQUESTS = ("status", "redis", "submit", "list", "stop", "calls", "tables", "logs", "watch", "backup", "shutdown")


class Daemon:
    """Made only when the lock on the state directory is held. `standby` runs the first engine."""

    def __init__(
        self, settings: Settings, lock: Lock, store: Store, listener: socket.socket, standby: WarmStandby | None = None
    ) -> None:
        state = StateDirectory(settings.state)
        self.settings = settings
        self.state = state
        self.store = store
        self._lock = lock
        self.stopping = asyncio.Event()
        host, port = listener.getsockname()[:2]
        scheme = "http" if settings.http.certificate is None else "https"
        self.url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        self._watchers: set[asyncio.Queue[Document]] = set()
        self.warnings = _weaknesses(settings)
        for warning in self.warnings:
            log.warning("%s", warning)
        self.jobs = Jobs(settings, state, store, listener, self.tell, standby is None, standby)
        self.processes = self.jobs.processes
        self._audit = AuditLog(self.state.audit)
        self._control = ControlServer(
            self.state.control, lambda op, arguments: answers(self, op, arguments), self._note
        )

    async def run(self, ready: Callable[[Document], None]) -> None:
        """Start everything, go on with the jobs that were running, and stop everything in order when told to."""
        self.processes.start()
        jobs, leases = self.jobs, self.jobs.leases
        tasks = [asyncio.create_task(keep("the care for calls", jobs.calls.run), name="calls")]
        try:
            jobs.resume()  # before anybody can submit one, which would be taken for one of them
            renewing = partial(leases.keep, jobs.leased, jobs.lease_is_lost)
            tasks.append(asyncio.create_task(keep("the care for leases", renewing), name="leases"))
            tasks.append(asyncio.create_task(keep("housekeeping", jobs.housekeeping.run), name="housekeeping"))
            await self._control.open()
            ready(status(self))
            notify("READY=1")
            tasks.append(asyncio.create_task(keep_watchdog(), name="watchdog"))
            await self.stopping.wait()
        finally:
            log.info("stopping")
            notify("STOPPING=1")
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.processes.stop(jobs.leave)
            await self._control.close()
            await leases.close()
            await asyncio.to_thread(jobs.calls.close)

    def stop(self) -> None:
        """End in order."""
        self._lock.ending()
        self.stopping.set()

    def signalled(self, number: signal.Signals) -> None:
        """End in order; asked once more, at once: what runs is cut off, and runs again after the next start."""
        # The sender is not known: it is told to who blocks the signal alone, and children would inherit that.
        self._audit.note("shutdown", caller="", origin=f"signal {number.name}")
        if self.stopping.is_set() and number != signal.SIGHUP:  # a terminal that closes may say so twice
            log.info("stopping at once")
            self.jobs.cut_off()
        self.stop()

    async def watch(self, name: str) -> AsyncIterator[Document]:
        """Everything that happens from now on; begins with the jobs as they are."""
        queue: asyncio.Queue[Document] = asyncio.Queue()
        self._watchers.add(queue)
        try:
            if name == "http":
                self.processes.http_watches.set()
            running = self.store.jobs.find(over=False)
            yield {"event": "jobs", "jobs": [self.jobs.document(job) for job in running]}
            while True:
                yield await queue.get()
        finally:
            self._watchers.discard(queue)

    def _note(self, op: str, arguments: Document, peer: Peer) -> None:
        """Note who has something done; the HTTP process notes itself who has asked it."""
        http = self.processes.children.get("http")
        if op in _CHANGES and (http is None or http.pid != peer.process):
            about = {name: arguments.get(name) for name in ("job", "bundle", "again")}
            self._audit.note(op, caller=peer.user, origin=f"process {peer.process}", **about)

    def tell(self, event: Document) -> None:
        """Tell everyone who watches."""
        for queue in self._watchers:
            queue.put_nowait(event)


def _weaknesses(settings: Settings) -> list[str]:
    """What the Redis that the daemon was given does not outlive; the private one is known."""
    if settings.embedded:
        return []
    from ghcm.runtime.pubsub.durability import weaknesses  # with the client, which is large

    return weaknesses(settings.redis)


async def run(
    settings: Settings,
    ready: Callable[[Document], None],
    *,
    standby: WarmStandby | None = None,
    claimed: int | None = None,
) -> None:
    """Own the state directory and be the daemon until SIGTERM or SIGINT. `ready` is told the status once the control
    socket is open; `claimed` as for `Lock`. GhcmError if it cannot start.
    """
    state = StateDirectory(settings.state)
    lock = Lock(state, claimed)
    try:
        listener = listen(settings.http.host, settings.http.port)
        with listener:
            refuse_exposed(listener, settings, state.path)
            with contextlib.closing(open_store(state.store, busy=_BUSY_SECONDS)) as store:
                await _live(Daemon(settings, lock, store, listener, standby), ready)
    finally:
        lock.release()


async def _live(daemon: Daemon, ready: Callable[[Document], None]) -> None:
    """Run the daemon. No task or thread of it outlives this, since its store and its lock do not."""
    loop, others = asyncio.get_running_loop(), asyncio.all_tasks()
    for number in _SIGNALS:
        loop.add_signal_handler(number, daemon.signalled, number)
    log.info("daemon %d in %s, http at %s", os.getpid(), daemon.state.path, daemon.url)
    try:
        await daemon.run(ready)
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        left = asyncio.all_tasks() - others
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await loop.shutdown_default_executor()


# --- the requests of the control socket ------------------------------------------------------------------------------


async def answers(daemon: Daemon, op: str, arguments: Document) -> AsyncIterator[Document]:
    """The answers to one request; GhcmError where it cannot be done."""
    match op:
        case "status":
            yield status(daemon) | (daemon.jobs.progress() if arguments.get("units") else {})
        case "submit":
            yield await _submit(daemon, arguments)
        case "redis":
            yield {"url": daemon.processes.redis_url}
        case "list":
            yield {"jobs": [daemon.jobs.document(job) for job in daemon.store.jobs.find()]}
        case "stop":
            async for line in _stop(daemon, arguments):
                yield line
        case "calls":
            found = daemon.store.calls.find(
                _optional(arguments, "program"),
                _optional(arguments, "unit"),
                _one_of(CallState, arguments, "state"),
                int(_number(arguments, "limit", 100)),
            )
            await asyncio.to_thread(daemon.store.sync)
            yield {"calls": [call_document(call) for call in found]}
        case "tables":
            yield await daemon.jobs.look(_text(arguments, "job"), _tables(arguments), _text(arguments, "folder"))
        case "logs":
            async for line in _logs(daemon, arguments):
                yield line
        case "watch":
            async for event in daemon.watch(str(arguments.get("name", ""))):
                yield event
        case "backup":  # everything stands still meanwhile, this loop too
            back_up_running(daemon.state, daemon.store, Path(_text(arguments, "folder")))
            yield {"folder": _text(arguments, "folder")}
        case "shutdown":
            daemon.stop()
            yield {"stopping": True, "pid": os.getpid()}
        case _:
            raise GhcmError(f'the daemon knows no request "{op}"', code="GHCM-722", hint=suggest(op, _REQUESTS))


def status(daemon: Daemon) -> Document:
    """What runs, and where it is reached."""
    engines = {id: runner.child for id, runner in daemon.jobs.runners.items() if runner.child is not None}
    processes: list[Document] = [
        _process(name, child) for name, child in {**daemon.processes.children, **engines}.items()
    ]
    certificate = daemon.settings.http.certificate
    return {
        "pid": os.getpid(),
        "version": __version__,
        "state": str(daemon.state.path.absolute()),
        "url": daemon.url,
        "certificate": certificate and str(certificate.absolute()),
        "redis": without_password(daemon.processes.redis_url),
        "embedded": daemon.settings.embedded,
        "processes": processes,
        "warnings": daemon.warnings,
    }


def _process(name: str, child: Child) -> Document:
    """A process as JSON: "health" is what is to be thought of it, "reason" why."""
    health, reason = child.health
    state = {"state": child.phase.value, "health": health, "reason": reason}
    return {"name": name, "pid": child.pid, **state, "restarts": child.restarts}


async def _submit(daemon: Daemon, arguments: Document) -> Document:
    path, base = Path(_text(arguments, "bundle")), _optional(arguments, "base")
    if "programs" in arguments:
        await daemon.jobs.refuse_others(path, cast("list[str]", arguments["programs"]))
    folder = await daemon.jobs.last_folder(path) if base is None else Path(base)
    again = _one_of(Again, arguments, "again") or Again.UNSAID
    job, upgrade = await daemon.jobs.submit(path, folder, again, beside=bool(arguments.get("beside")))
    changed = {} if upgrade is None else {"growth": upgrade.document()}
    return {"job": daemon.jobs.document(job), **changed}


async def _stop(daemon: Daemon, arguments: Document) -> AsyncIterator[Document]:
    """How many calls are waited for, where there are any; then the job, and what became of those without an answer."""
    seconds = _number(arguments, "grace", daemon.settings.limits.grace)
    waiting: asyncio.Queue[int] = asyncio.Queue()
    stop = asyncio.ensure_future(daemon.jobs.stop(_text(arguments, "job"), seconds, waiting.put_nowait))
    told = asyncio.ensure_future(waiting.get())
    await asyncio.wait((stop, told), return_when=asyncio.FIRST_COMPLETED)
    if told.done():
        yield {"waiting": told.result(), "grace": seconds}
    told.cancel()
    job, settled = await stop
    yield {"job": daemon.jobs.document(job), "calls": {"kept": settled.kept, "answered": settled.answered}}


async def _logs(daemon: Daemon, arguments: Document) -> AsyncIterator[Document]:
    name = _text(arguments, "name")
    files = {path.stem: path for path in sorted(daemon.state.logs.glob("*.log"))}
    jobs = {job.program: job.id for job in reversed(daemon.store.jobs.find())}
    path = files.get(name) or files.get(jobs.get(name, ""))
    if path is None:
        known = ", ".join(f'"{each}"' for each in files) or "none"
        raise GhcmError(
            f'there is no log "{name}"', code="GHCM-726", detail=f"There are {known}.", hint=suggest(name, files)
        )
    for line in await asyncio.to_thread(tail, path, int(_number(arguments, "lines", 100))):
        yield {"line": line}
    if arguments.get("follow"):
        async for line in follow(path):
            yield {"line": line}


def _text(arguments: Document, name: str) -> str:
    found = _optional(arguments, name)
    if found is None:
        raise GhcmError(f'the request lacks "{name}"', code="GHCM-722")
    return found


def _tables(arguments: Document) -> list[tuple[str, str]]:
    try:
        return [(str(unit), str(name)) for unit, name in cast("list[tuple[str, str]]", arguments["tables"])]
    except (KeyError, TypeError, ValueError):
        raise GhcmError('the request lacks "tables"', code="GHCM-722") from None


def _optional(arguments: Document, name: str) -> str | None:
    found = arguments.get(name)
    return None if found is None else str(found)


def _number(arguments: Document, name: str, otherwise: float) -> float:
    found = arguments.get(name)
    if found is None:
        return otherwise
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= _LARGEST:
        message = f'"{name}" of the request has to be a number from 0 to {_LARGEST}'
        raise GhcmError(message, code="GHCM-722", detail=f"It is {found!r}.")
    return found


def _one_of(kind: type[E], arguments: Document, name: str) -> E | None:
    found, there = _optional(arguments, name), {str(each.value): each for each in kind}
    if found is not None and found not in there:
        detail = f"There are {listed(there)}."
        raise GhcmError(f'a request has no {name} "{found}"', code="GHCM-722", detail=detail)
    return None if found is None else there[found]
