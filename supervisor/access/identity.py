"""Who asks: the caller of a request, by what it brings."""

from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from ghcm.errors import GhcmError
from ghcm.runtime.access.audit import AuditLog
from ghcm.runtime.access.scopes import ANYONE, LOCAL, Caller
from ghcm.runtime.access.tokens import TokenFile
from ghcm.supervisor import problems
from ghcm.supervisor.access.needs import origin_of
from ghcm.supervisor.problems import Problem

_HINT = "see that it is whole, neither expired nor revoked: ghcm token list."


@dataclass(frozen=True, slots=True)
class Identity:
    """Finds callers. Where a token is not `required`, whoever brings none is taken for one on this machine."""

    tokens: TokenFile
    required: bool
    audit: AuditLog

    def caller(self, connection: HTTPConnection) -> Caller:
        """Who asks; Problem 401 where the request brings what is no token."""
        kind, _, text = connection.headers.get("authorization", "").partition(" ")
        if not kind:
            return ANYONE if self.required else LOCAL
        if kind.lower() != "bearer":
            raise Problem(
                401, "GHCM-350", f'callers are not known by "{kind}"', hint="send Authorization: Bearer TOKEN."
            )
        token = self.tokens.find(text.strip())
        if token is None:
            raise Problem(401, "GHCM-350", "the token is none of this server's", hint=_HINT)
        return Caller(f"{token.name} ({token.id})", token.scopes)

    def known(self, app: ASGIApp) -> ASGIApp:
        """The app, for requests whose `state` has its `caller`; what brings a wrong token does not reach it."""

        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                try:
                    caller = self.caller(HTTPConnection(scope))
                except GhcmError as error:
                    about = {"method": scope["method"], "path": scope["path"][:200], "why": error.message}
                    self.audit.refused(caller="", origin=origin_of(scope), **about)
                    await problems.response(problems.problem_of(error))(scope, receive, send)
                    return
                scope.setdefault("state", {})["caller"] = caller
            await app(scope, receive, send)

        return call
