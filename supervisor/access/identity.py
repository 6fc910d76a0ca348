"""Who asks: the caller of a request, by what it brings; and the routes by which people sign in."""

import asyncio
import time
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Body, FastAPI, Request, Response
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from ghcm.errors import GhcmError
from ghcm.runtime.access.audit import AuditLog
from ghcm.runtime.access.scopes import ANYONE, LOCAL, Caller
from ghcm.runtime.access.tokens import TokenFile
from ghcm.supervisor import problems
from ghcm.supervisor.access.callers import origin_of
from ghcm.supervisor.access.issuer import Issuer
from ghcm.supervisor.access.needs import Open, open_to
from ghcm.supervisor.access.sessions import COOKIES, Session, Sessions
from ghcm.supervisor.problems import Problem

_HINT = "see that it is whole, neither expired nor revoked: ghcm token list."
_OF_ISSUER_SECONDS = 8 * 3600
"""How long who has signed in with a token of an issuer may look: a day of work. Such a token itself lasts minutes."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Finds callers. Where a token is not `required`, whoever brings none is taken for one on this machine."""

    tokens: TokenFile
    required: bool
    audit: AuditLog
    sessions: Sessions
    issuer: Issuer | None = None

    async def caller(self, connection: HTTPConnection) -> Caller:
        """Who asks; Problem 401 where the request brings what is no token."""
        kind, _, text = connection.headers.get("authorization", "").partition(" ")
        if not kind:
            return self.sessions.caller(connection) or (ANYONE if self.required else LOCAL)
        if kind.lower() != "bearer":
            # What was sent is not shown: it may be a token, and what is refused is noted.
            message, hint = (
                "callers are known by Bearer, and the request has another",
                "send Authorization: Bearer TOKEN.",
            )
            raise Problem(401, "GHCM-350", message, hint=hint)
        found, _, _ = await self._bearer(text.strip())
        return found

    async def begin_session(self, text: str) -> tuple[Caller, Session]:
        """A session of whoever bears this token; Problem 401 if it is none."""
        caller, token, expires = await self._bearer(text.strip())
        return caller, self.sessions.begin(caller, token, expires)

    async def _bearer(self, text: str) -> tuple[Caller, str | None, float]:
        """Who bears a token, the id of it if it is ours, and until when he may look by it."""
        token = self.tokens.find(text)
        if token is not None:
            return Caller(f"{token.name} ({token.id})", token.scopes), token.id, token.expires
        caller = None if self.issuer is None else await self.issuer.caller(text)
        if caller is None:
            raise Problem(401, "GHCM-350", "the token is none of this server's", hint=_HINT)
        return caller, None, time.time() + _OF_ISSUER_SECONDS

    def known(self, app: ASGIApp) -> ASGIApp:
        """The app, for requests whose `state` has its `caller`; what brings a wrong token does not reach it."""

        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                try:
                    caller = await self.caller(HTTPConnection(scope))
                except GhcmError as error:
                    self._refused(scope, error)
                    await problems.response(problems.problem_of(error))(scope, receive, send)
                    return
                scope.setdefault("state", {})["caller"] = caller
            await app(scope, receive, send)

        return call

    def _refused(self, scope: Scope, error: GhcmError) -> None:
        about = {"method": scope["method"], "path": scope["path"][:200], "why": error.message}
        self.audit.refused(caller="", origin=origin_of(scope), **about)

    def add(self, app: FastAPI) -> None:
        """Add the routes by which people sign in and out."""

        @app.post("/sign-in", tags=["status"], summary="Look from now on by a cookie", status_code=204)
        @open_to(Open.EVERYONE)
        async def sign_in(request: Request, token: Annotated[str, Body(embed=True, max_length=16_384)]) -> Response:
            try:
                caller, session = await self.begin_session(token)
            except GhcmError as error:
                self._refused(request.scope, error)
                raise
            await asyncio.to_thread(self.sessions.end, request)
            self.audit.note("sign in", caller=str(caller), origin=origin_of(request.scope))
            return _with_cookie(request, session.value, session.seconds)

        @app.delete("/sign-in", tags=["status"], summary="Look no more", status_code=204)
        @open_to(Open.EVERYONE)
        async def sign_out(request: Request) -> Response:
            await asyncio.to_thread(self.sessions.end, request)
            answer = _with_cookie(request, "", 0)
            answer.headers["Clear-Site-Data"] = '"cache", "storage"'
            return answer


def _with_cookie(request: Request, value: str, seconds: int) -> Response:
    """An answer that sets the cookie, for this site alone, and for TLS alone where the browser has come by it."""
    answer = Response(status_code=204)
    secure = "https" in (request.url.scheme, urlsplit(request.headers.get("origin", "")).scheme)
    name = COOKIES[secure]
    answer.set_cookie(name, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="strict")
    return answer
