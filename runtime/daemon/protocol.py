"""What is said over the control socket: one JSON object a line; a request, then its answers.

::

    {"op": "status"}                                          {"pid": 1, "url": "http://...", "processes": [...], ...}
    {"op": "status", "units": true}                           with "units" of engines by job
    {"op": "redis"}                                           {"url": "redis://:password@..."}
    {"op": "submit", "bundle": "/x/a.ghcm", "base": "/x",
     "again": "resume", "programs": ["a"]}                    {"job": {...}}, with "growth" where it ran already
    {"op": "list"}                                            {"jobs": [...]}
    {"op": "stop", "job": "a", "grace": 30}                   {"waiting": 2, "grace": 30}, {"job", "calls"}
    {"op": "calls", "program": "a", "limit": 100}             {"calls": [...]}
    {"op": "tables", "job": "a", "folder": "/x",
     "tables": [["unit", "table"]]}                           {"as_of": [...]}, and /x/0.arrow, and so on
    {"op": "logs", "name": "http", "follow": true}            {"line": "..."}, and so on
    {"op": "watch"}                                           {"event": "job", "job": {...}}, and so on, without end
    {"op": "shutdown"}                                        {"stopping": true, "pid": 1}
    what cannot be done                                       {"error": {"code", "message", "detail", "hint", "place"}}

The last line of each answer that ends is `{"end": true}`, unless it is an error.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.envelope import to_json

if TYPE_CHECKING:
    from ghcm.runtime.jobs.calls import Call
    from ghcm.runtime.jobs.store import Job

Document: TypeAlias = dict[str, object]

LONGEST_LINE = 4 * 1024 * 1024
_HEARD_S = 0.25


def encode(document: Mapping[str, object]) -> bytes:
    """One line."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str).encode() + b"\n"


def decode(line: bytes) -> Document:
    """The object on a line; GhcmError if there is none."""
    try:
        found = json.loads(line)
    except ValueError as error:
        raise GhcmError("the request is no JSON", code="GHCM-722", detail=str(error)) from error
    if not isinstance(found, dict):
        raise GhcmError("the request is no JSON object", code="GHCM-722")
    return cast("Document", found)


def error_document(error: GhcmError) -> Document:
    """An error as an answer."""
    return {"error": error.document()}


def raised(answer: Document) -> Document:
    """The answer, or its error raised."""
    error = answer.get("error")
    if isinstance(error, dict) and "message" in error:
        raise GhcmError.of(cast("Document", error))
    return answer


def job_document(job: Job) -> Document:
    """A job as JSON."""
    return {
        "id": job.id,
        "program": job.program,
        "state": job.state.value,
        "reason": job.reason,
        "error": job.error and job.error.document(),
        "restarts": job.restarts,
        "submitted": job.submitted,
        "started": job.started,
        "ended": job.ended,
        "version": job.version,
    }


def call_document(call: Call) -> Document:
    """A call as JSON: what was asked, and the latest feedback."""
    return {
        "id": call.id,
        "program": call.program,
        "unit": call.unit,
        "state": call.state.value,
        "parameters": dict(call.instruction.parameters),
        "publisher": call.instruction.publisher,
        "deadline": call.instruction.deadline,
        "accepted": call.accepted,
        "started": call.started,
        "ended": call.ended,
        "attempts": call.attempts,
        "next_attempt": call.next_attempt,
        "feedback": to_json(call.feedback),
    }


def _lines(connection: socket.socket) -> Iterator[bytes]:
    """The lines as they come. Nothing is waited for without end: a Ctrl-C that comes just before a read would be heard
    only after it.
    """
    connection.settimeout(_HEARD_S)
    begun: list[bytes] = []
    while True:
        try:
            data = connection.recv(65536)
        except TimeoutError:
            continue
        if not data:
            return
        *whole, rest = data.split(b"\n")
        for line in whole:
            yield b"".join([*begun, line])
            begun.clear()
        begun.append(rest)


async def asked(path: Path, op: str, **arguments: object) -> Document:
    """The last answer to a request, for an asyncio loop; GhcmError as from `Control`."""
    try:
        reader, writer = await asyncio.open_unix_connection(str(path), limit=LONGEST_LINE)
    except OSError as error:
        raise _nobody(path, error) from None
    answer: Document | None = None
    with closing(writer):
        writer.write(encode({"op": op, **{name: value for name, value in arguments.items() if value is not None}}))
        while line := await reader.readline():
            found = raised(decode(line))
            if found.get("end") and answer is not None:
                return answer
            answer = found
    raise _gone()


@dataclass(slots=True)
class Control:
    """The client's side, blocking: one connection for each request."""

    path: Path

    def ask(self, op: str, **arguments: object) -> Document:
        """The answer to a request; GhcmError if it is an error or nobody listens."""
        return next(iter(self.stream(op, **arguments)))

    def stream(self, op: str, **arguments: object) -> Iterator[Document]:
        """The answers to a request, as they come."""
        with self._connect() as connection:
            connection.sendall(encode({"op": op, **arguments}))
            for line in _lines(connection):
                answer = raised(decode(line))
                if answer.get("end"):
                    return
                yield answer
        if op not in ("watch", "logs", "shutdown"):
            raise _gone()

    def listening(self) -> bool:
        """Whether a daemon answers there."""
        try:
            self._connect().close()
        except GhcmError:
            return False
        return True

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(self.path))
        except OSError as error:
            connection.close()
            raise _nobody(self.path, error) from None
        return connection


def _nobody(path: Path, error: OSError) -> GhcmError:
    runs = [each.parent for each in path.parent.glob("runs/*/control.sock") if Control(each).listening()]
    started = f'what "ghcm run" serves here is at --state {runs[0]}' if runs else '"ghcm supervise" starts one'
    return GhcmError(
        "no daemon runs here",
        code="GHCM-723",
        detail=f"Nothing answers at {path} ({error.strerror}).",
        hint=f"{started}; --state or GHCM_STATE names the state directory of another.",
    )


def _gone() -> GhcmError:
    return GhcmError("the daemon ended before it answered", code="GHCM-723", hint="see its log in the state.")
