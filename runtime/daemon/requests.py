"""What the daemon does for each request of the control socket."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from ghcm.errors import GhcmError, suggest
from ghcm.runtime.daemon.log_files import follow, tail
from ghcm.runtime.daemon.protocol import Document, call_document
from ghcm.runtime.daemon.reruns import Again
from ghcm.runtime.jobs.calls import CallState
from ghcm.runtime.settings import EMBEDDED
from ghcm.version import __version__

if TYPE_CHECKING:
    from ghcm.runtime.daemon.daemon import Daemon


_REQUESTS = ("status", "submit", "list", "stop", "calls", "logs", "watch", "shutdown")


async def answers(daemon: Daemon, op: str, arguments: Document) -> AsyncIterator[Document]:
    """The answers to one request; GhcmError where it cannot be done."""
    match op:
        case "status":
            yield status(daemon)
        case "submit":
            path, base = Path(_text(arguments, "bundle")), Path(_text(arguments, "base"))
            again = Again(_optional(arguments, "again") or Again.UNSAID.value)
            beside = bool(arguments.get("beside"))
            job, growth = await daemon.jobs.submit(path, base, again, beside=beside)
            changed = {} if growth is None else {"growth": growth.document()}
            yield {"job": daemon.jobs.document(job), **changed}
        case "list":
            yield {"jobs": [daemon.jobs.document(job) for job in daemon.store.jobs.find()]}
        case "stop":
            async for line in _stop(daemon, arguments):
                yield line
        case "calls":
            state = arguments.get("state")
            found = daemon.store.calls.find(
                _optional(arguments, "program"),
                _optional(arguments, "unit"),
                None if state is None else CallState(str(state)),
                int(str(arguments.get("limit", 100))),
            )
            yield {"calls": [call_document(call) for call in found]}
        case "logs":
            async for line in _logs(daemon, arguments):
                yield line
        case "watch":
            async for event in daemon.watch(str(arguments.get("name", ""))):
                yield event
        case "shutdown":
            yield {"stopping": True}
            daemon.stopping.set()
        case _:
            raise GhcmError(f'the daemon knows no request "{op}"', code="GHCM-722", hint=suggest(op, _REQUESTS))


def status(daemon: Daemon) -> Document:
    """What runs, and where it is reached."""
    processes: list[Document] = [
        {"name": name, "pid": child.pid, "state": child.phase.value, "restarts": child.restarts}
        for name, child in daemon.children.items()
    ]
    return {
        "pid": os.getpid(),
        "version": __version__,
        "state": str(daemon.state.path.absolute()),
        "url": daemon.url,
        "redis": daemon.processes.redis_url,
        "embedded": daemon.options.redis == EMBEDDED,
        "processes": processes,
    }


async def _stop(daemon: Daemon, arguments: Document) -> AsyncIterator[Document]:
    """How many calls are waited for, where there are any; then the job, and what became of those without an answer."""
    grace = arguments.get("grace")
    seconds = daemon.options.grace if grace is None else float(str(grace))
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
    for line in await asyncio.to_thread(tail, path, int(str(arguments.get("lines", 100)))):
        yield {"line": line}
    if arguments.get("follow"):
        async for line in follow(path):
            yield {"line": line}


def _text(arguments: Document, name: str) -> str:
    found = _optional(arguments, name)
    if found is None:
        raise GhcmError(f'the request lacks "{name}"', code="GHCM-722")
    return found


def _optional(arguments: Document, name: str) -> str | None:
    found = arguments.get(name)
    return None if found is None else str(found)
