"""The endpoints that hand programs to the daemon and end them, as its control socket does for its own user.

A program is code that runs with the rights of the daemon. Whoever submits one needs a token that says so, also where
HTTP asks nobody else for one: any user of a machine reaches its loopback address.

Annotations are evaluated (no `from __future__ import annotations`), as FastAPI asks for.
"""

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request, Response
from starlette.requests import ClientDisconnect

from ghcm.errors import GhcmError
from ghcm.runtime.access.scopes import Action
from ghcm.runtime.daemon.protocol import Document, asked, job_document
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import Job, JobState, Store
from ghcm.runtime.unpacking import MOST_BYTES
from ghcm.supervisor import documents
from ghcm.supervisor.access.callers import asking
from ghcm.supervisor.access.needs import needs, needs_somewhere, note
from ghcm.supervisor.documents import JobDocument, StoppedDocument, SubmittedDocument
from ghcm.supervisor.gate import BUNDLE, BUNDLE_TOO_LARGE
from ghcm.supervisor.problems import PROBLEM, Problem

_STATUS = {
    **dict.fromkeys(("GHCM-351", "GHCM-625"), 403),
    **dict.fromkeys(("GHCM-744",), 404),
    **dict.fromkeys(
        ("GHCM-606", "GHCM-607", "GHCM-608", "GHCM-724", "GHCM-729", "GHCM-735", "GHCM-756", "GHCM-757"), 409
    ),
    **dict.fromkeys(("GHCM-610", "GHCM-611", "GHCM-612", "GHCM-613", "GHCM-614"), 422),
    **dict.fromkeys(("GHCM-616", "GHCM-723", "GHCM-755"), 503),
}
"""Of what the daemon says of a program that it does not take."""

_FOUND: dict[int | str, dict[str, Any]] = {
    404: PROBLEM | {"description": "There is no such program, or it does not run."}
}

_NOT_TAKEN: dict[int | str, dict[str, Any]] = {
    403: PROBLEM | {"description": "The token has no scope for this program, or nobody who is trusted has signed it."},
    409: PROBLEM | {"description": "What runs, or ran before, does not go with it; the hint says what to do."},
}
_BODY = {
    "requestBody": {
        "required": True,
        "description": "A bundle, as `ghcm build` writes it.",
        "content": {BUNDLE: {"schema": {"type": "string", "format": "binary"}}},
    }
}
_UPLOADS = 4
"""Bundles that are taken at once; the next waits, and its bytes with it."""

_LOOK_SECONDS = 0.1
_UNDECIDED = (JobState.SUBMITTED, JobState.STARTING)

Again = Annotated[
    Literal["resume", "fresh"] | None,
    Query(description="Go on where the program's last job ended; or read everything again, and append it."),
]
Beside = Annotated[bool, Query(description="Append to sinks even if another job appends to them.")]
Folder = Annotated[
    str | None,
    Query(
        max_length=4096,
        description="A folder of the server, where relative paths start; by default that of the program's last job, or"
        " the one that the daemon was started in.",
    ),
]
Grace = Annotated[
    float | None, Query(ge=0, le=600, description="Seconds that calls may take; by default what `[limits] grace` says.")
]
Wait = Annotated[float | None, Query(ge=0, le=60, description="Wait so many seconds for the job to run, or to fail.")]


@dataclass(frozen=True, slots=True)
class Jobs:
    """What the endpoints of jobs speak to; `seconds` is how long a bundle may take to come."""

    state: StateDirectory
    store: Store
    seconds: float
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_UPLOADS))

    async def submit(self, request: Request, **said: object) -> Document:
        """What the daemon answers to the bundle in a request, or why it does not take it."""
        programs = asking(request.scope).programs(Action.SUBMIT)
        async with self._room, self._received(request) as bundle:
            try:
                return await asked(self.state.control, "submit", bundle=str(bundle), programs=programs, **said)
            except GhcmError as error:
                raise _refusal(error, str(bundle)) from error

    async def stop(self, program: str, grace: float | None) -> Document:
        """What the daemon answers once the program has stopped."""
        try:
            return await asked(self.state.control, "stop", job=program, grace=grace)
        except GhcmError as error:
            raise _refusal(error) from error

    async def latest(self, program: str, wait: float) -> Job:
        """The latest job of a program; once it runs or is over, or after so many seconds."""
        end = asyncio.get_running_loop().time() + wait
        while True:
            found = await asyncio.to_thread(self.store.jobs.find, program)
            if not found:
                raise Problem(404, "GHCM-321", f'there is no program "{program}"')
            if found[0].state not in _UNDECIDED or asyncio.get_running_loop().time() >= end:
                return found[0]
            await asyncio.sleep(_LOOK_SECONDS)

    @asynccontextmanager
    async def _received(self, request: Request) -> AsyncGenerator[Path]:
        """The body of a request as a file, for the time of the block."""
        _refuse_media_type(request)
        self.state.incoming.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.state.incoming, suffix=".ghcm") as file:
            size = 0
            try:
                async with asyncio.timeout(self.seconds):
                    async for part in request.stream():
                        if (size := size + len(part)) > MOST_BYTES:
                            raise BUNDLE_TOO_LARGE
                        await asyncio.to_thread(file.write, part)
                file.flush()
            except (TimeoutError, ClientDisconnect):
                message = f"the bundle did not come within {self.seconds:g} s"
                raise Problem(
                    408, "GHCM-333", message, hint="send it at once, or have [http] body_time raised."
                ) from None
            except OSError as error:
                message = f"the bundle cannot be kept: {(error.strerror or str(error)).lower()}"
                raise Problem(503, "GHCM-731", message, hint="have room made on the disk of the state.") from error
            yield Path(file.name)


def add(app: FastAPI, jobs: Jobs) -> None:
    """The endpoints of jobs."""

    @app.post(
        "/programs",
        tags=["jobs"],
        summary="Submit a program, or a change of one that runs",
        status_code=201,
        response_model=SubmittedDocument,
        responses=_NOT_TAKEN | {200: {"model": SubmittedDocument, "description": "The program that runs has changed."}},
        openapi_extra=_BODY,
    )
    @needs_somewhere(Action.SUBMIT)
    async def submit(
        request: Request, response: Response, again: Again = None, beside: Beside = False, directory: Folder = None
    ) -> SubmittedDocument:
        taken = await jobs.submit(request, again=again, beside=beside, base=_folder(directory))
        document = documents.submitted(taken)
        note(request.scope, program=document.program, job=document.id)
        response.status_code = 201 if document.changes is None else 200
        return document

    @app.get(
        "/programs/{program}/job", tags=["jobs"], summary="How the latest job of a program fares", responses=_FOUND
    )
    @needs(Action.READ, Action.SUBMIT)
    async def job(program: str, wait: Wait = None) -> JobDocument:
        return documents.job(job_document(await jobs.latest(program, wait or 0)))

    @app.delete("/programs/{program}", tags=["jobs"], summary="Stop a program", responses=_FOUND)
    @needs(Action.SUBMIT, noted="stop")
    async def stop(program: str, grace: Grace = None) -> StoppedDocument:
        return documents.stopped(await jobs.stop(program, grace))


def _refuse_media_type(request: Request) -> None:
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent != BUNDLE:
        message, hint = "the body is not sent as a bundle", f"add the header Content-Type: {BUNDLE}."
        raise Problem(415, "GHCM-324", message, detail=f"Its Content-Type is {sent}." if sent else "", hint=hint)


def _folder(directory: str | None) -> str | None:
    """Where the relative paths of a program start. Problem if it is no folder here."""
    if not directory:
        return None
    if not os.path.isdir(directory):  # `Path.is_dir` raises for names that are too long
        hint = "name one of the server, or leave it out."
        raise Problem(422, "GHCM-605", f'"{directory}" is no folder of the server', hint=hint)
    return str(Path(directory).absolute())


def _refusal(error: GhcmError, bundle: str = "") -> GhcmError:
    """What the caller is told, who need not know where his bundle lay."""
    status = _STATUS.get(error.code)
    if status is None:
        return error
    message = error.message.replace(f'"{bundle}"', "the body") if bundle else error.message
    return Problem(status, error.code, message, detail=error.detail, hint=error.hint)
