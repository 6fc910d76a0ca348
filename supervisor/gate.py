"""The gate before all endpoints: it refuses requests that nobody who may call would send, before anything reads them.

What a page of another site has a visitor's browser send is told by its Host, Origin and Sec-Fetch-Site, and by what a
form cannot do: send JSON. A request that breaks off starts nothing. Who may call what is decided behind it.
"""

import asyncio
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ghcm.runtime.access.audit import AuditLog
from ghcm.runtime.pubsub.envelope import LIMIT
from ghcm.runtime.settings import Http
from ghcm.runtime.unpacking import MOST_BYTES
from ghcm.supervisor import problems
from ghcm.supervisor.access.callers import origin_of
from ghcm.supervisor.problems import Problem

_LOOPBACK = ("localhost", "127.0.0.1", "::1")

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/?#@]+)(:\d*)?", re.IGNORECASE | re.ASCII)
"""What the header of a host looks like: a name or an address, and perhaps a port."""

_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

_ALWAYS = {
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""What every answer tells browsers unless it says otherwise: show it to no other site, run nothing of it, keep it on no
disk, and tell nobody else where it was.
"""

_TOO_LARGE = Problem(
    413,
    "GHCM-331",
    f"the request is too large: the limit is {LIMIT:,} bytes",
    detail="Parameters travel in an instruction, which holds references and no data.",
    hint="put the data in a sink and pass where it is.",
)

BUNDLE = "application/octet-stream"
"""How bundles are sent: as no form can be, and a page of another site only after it was allowed to."""

BUNDLE_TOO_LARGE = Problem(
    413,
    "GHCM-331",
    f"the bundle is too large: the limit is {MOST_BYTES:,} bytes",
    detail="A bundle holds code, and no data.",
    hint="put the data where the program reads it.",
)


@dataclass(frozen=True, slots=True)
class Gate:
    """ASGI, in front of `app`. `bound` is the name or address that the server was told to listen at; `hosts` and
    `origins` are those of `http` in the settings.
    """

    app: ASGIApp
    bound: str
    audit: AuditLog
    http: Http = field(default_factory=Http)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it with a problem."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, send = Headers(scope=scope), self._guarded(send, scope)
        try:
            self._refuse_host(headers, scope)
            self._refuse_foreign(headers, scope)
            _refuse_media_type(headers, scope)
            _refuse_length(headers, scope)
            body = b"" if _holds_bundle(scope) else await _read(receive, self.http.body_time)
        except Problem as problem:
            about = {"method": scope["method"], "path": scope["path"][:200], "status": problem.status}
            self.audit.refused(caller="", origin=origin_of(scope), **about, why=problem.message[:200])
            await problems.response(problem)(scope, receive, send)
            return
        if body is not None:  # a bundle is read by its route, once it is known who sends it
            await self.app(scope, receive if _holds_bundle(scope) else _replayed(body, receive), send)

    def _guarded(self, send: Send, scope: Scope) -> Send:
        always = _ALWAYS
        if scope["scheme"] == "https" and self.http.hsts:
            name = _split(f"//{Headers(scope=scope).get('host', '')}").hostname
            # Not of a name of this machine: browsers would ask all that listens here by TLS, for a year.
            always = _ALWAYS if name in _LOOPBACK else _ALWAYS | {"Strict-Transport-Security": self.http.hsts}

        async def told(message: Message) -> None:
            # What 304 says would replace what the browser was told with the page itself.
            if message["type"] == "http.response.start" and message["status"] != 304:
                headers = MutableHeaders(scope=message)
                for name, value in always.items():
                    headers.setdefault(name, value)
            await send(message)

        return told

    def _refuse_host(self, headers: Headers, scope: Scope) -> None:
        """A browser can be made to take a foreign name for this machine; then that name is the Host."""
        given = headers.getlist("host")
        name = _split(f"//{given[0]}").hostname if len(given) == 1 and _HOST.fullmatch(given[0]) else None
        here = scope.get("server") or ("", 0)
        if name not in (*_LOOPBACK, self.bound.lower(), here[0], *map(str.lower, self.http.hosts)):
            said = f'the host "{given[0]}" is not this server' if given else "the request names no host"
            hint = "ask for the name that the server listens at, or add yours to [http] hosts."
            raise Problem(421, "GHCM-332", said, hint=hint)

    def _refuse_foreign(self, headers: Headers, scope: Scope) -> None:
        """A page of another origin asks: it is told by browsers, which let no page change what they tell."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None and origin in self.http.origins:
            return
        foreign = origin is not None and _split(origin).netloc.lower() != headers.get("host", "").lower()
        if foreign or (site not in ("same-origin", "none") and not _follows_link(headers, scope)):
            who = f'the page at "{origin}"' if origin else "a page of another site"
            hint = "have the page served from here, or add its origin to [http] origins."
            raise Problem(403, "GHCM-332", f"{who} may not ask this server", hint=hint)


def opened(gate: Gate) -> ASGIApp:
    """The gate, with CORS for the origins that the settings name, if any."""
    if not gate.http.origins:
        return gate
    return CORSMiddleware(
        gate,
        allow_origins=gate.http.origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "Last-Event-ID"),
        expose_headers=("ETag", "Link", "Location", "Retry-After", "X-Total-Count"),
    )


def _split(address: str) -> SplitResult:
    """The parts of an address; all empty where it is none."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _follows_link(headers: Headers, scope: Scope) -> bool:
    """Whether somebody follows a link, which shows the answer to nobody else, and gets what is there for good."""
    shown = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return shown and scope["method"] in ("GET", "HEAD")


def _refuse_media_type(headers: Headers, scope: Scope) -> None:
    """Of what a page can send without asking first, nothing is JSON."""
    if scope["method"] != "POST":
        return
    sent = headers.get("content-type", "")
    media = sent.partition(";")[0].strip().lower()
    if _holds_bundle(scope) and media == BUNDLE:
        return
    if media != "application/json" and not (media.startswith("application/") and media.endswith("+json")):
        detail = f"Its Content-Type is {sent}." if sent else "It has no Content-Type."
        hint = "add the header Content-Type: application/json, also where there is no body."
        raise Problem(415, "GHCM-324", "the body of the call is not sent as JSON", detail=detail, hint=hint)


def _holds_bundle(scope: Scope) -> bool:
    """Whether the body is a program, which may be large."""
    return (scope["method"], scope["path"]) == ("POST", "/programs")


def _refuse_length(headers: Headers, scope: Scope) -> None:
    declared = headers.get("content-length", "0")
    limit, problem = (MOST_BYTES, BUNDLE_TOO_LARGE) if _holds_bundle(scope) else (LIMIT, _TOO_LARGE)
    if declared.isdigit() and int(declared) > limit:
        raise problem


async def _read(receive: Receive, seconds: float) -> bytes | None:
    """The body of a request; None where it breaks off. Problem where it is too large or takes longer than that."""
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                body += message.get("body", b"")
                if len(body) > LIMIT:
                    raise _TOO_LARGE
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        said = f"the body of the request did not come within {seconds:g} s"
        raise Problem(408, "GHCM-333", said, hint="send as much as Content-Length says.") from None


def _replayed(body: bytes, receive: Receive) -> Receive:
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return unread.pop() if unread else await receive()

    return replay
