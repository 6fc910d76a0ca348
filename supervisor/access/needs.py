"""What each route asks of its caller, declared beside the route and checked here for all of them.

A route that declares nothing cannot be served: the app refuses to be built.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar
from urllib.parse import quote

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ghcm.runtime.access.audit import AuditLog
from ghcm.runtime.access.scopes import ALL, ANYONE, Action, Caller
from ghcm.supervisor.access.callers import asking, origin_of, publisher_of
from ghcm.supervisor.problems import PROBLEM, Problem

UNKNOWN_CALLER: dict[int | str, dict[str, Any]] = {
    401: PROBLEM | {"description": "The request brings no token, or one that is not valid."},
    403: PROBLEM | {"description": "The token has no scope for this, or a page of another server asks."},
}
"""What OpenAPI is told of every route."""

Endpoint = TypeVar("Endpoint", bound=Callable[..., object])


class Open(Enum):
    """Routes that ask for no action."""

    EVERYONE = "everyone"
    """Also who has not said who he is."""
    CALLERS = "callers"
    """Whoever has any scope: what is answered is what he may see."""
    OF_PROGRAM = "callers of the program"
    """Whoever has any scope on the program of the path."""


@dataclass(frozen=True, slots=True)
class Need:
    """One of these actions on the program and unit of the path, or what `open_to` says; `place` has what the path names
    without a parameter. `somewhere`: on any program, and the route sees to which. `noted`: what the audit log calls it.
    """

    actions: tuple[Action, ...] = ()
    open_to: Open | None = None
    place: Mapping[str, str] = field(default_factory=dict[str, str])
    somewhere: bool = False
    noted: str = ""

    def met_by(self, caller: Caller, place: Mapping[str, str]) -> bool:
        """Whether this caller may use the route, with these parameters in the path."""
        there = {**place, **self.place}
        program, unit = there.get("program", ALL), there.get("unit", ALL)
        match self.open_to:
            case Open.EVERYONE:
                return True
            case Open.CALLERS:
                return bool(caller.scopes)
            case Open.OF_PROGRAM:
                return caller.sees(program)
            case None if self.somewhere:
                return any(caller.programs(action) for action in self.actions)
            case None:
                return any(caller.may(action, program, unit) for action in self.actions)

    def own_alone(self, caller: Caller, place: Mapping[str, str]) -> bool:
        """Whether the caller may use the route for calls of his own alone: to call is to follow what one has called."""
        program, unit = place.get("program", ALL), place.get("unit", ALL)
        return self.actions == (Action.READ, Action.CALL) and not caller.may(Action.READ, program, unit)

    @property
    def changes(self) -> bool:
        """Whether whoever uses the route does something, and does not only look."""
        return Action.READ not in self.actions and self.open_to is None

    def shown(self, place: Mapping[str, str]) -> str:
        """The scope that is asked for, for people."""
        there = {**place, **self.place}
        where = "/".join(there[name] for name in ("program", "unit") if name in there) or ALL
        return f"{self.actions[0] if self.actions else Action.READ}:{where}"


def needs(*actions: Action, program: str = "", unit: str = "", noted: str = "") -> Callable[[Endpoint], Endpoint]:
    """Declare that a route needs one of these actions on what its path names, or on this program and unit."""
    place = {name: value for name, value in (("program", program), ("unit", unit)) if value}
    return _declared(Need(actions, place=place, noted=noted))


def needs_somewhere(action: Action) -> Callable[[Endpoint], Endpoint]:
    """Declare that a route needs this action on some program; the route itself sees to it on which."""
    return _declared(Need((action,), somewhere=True))


def note(scope: Scope, **about: str | None) -> None:
    """What the audit log is to say of a request beside what its path names."""
    scope["state"].setdefault("noted", {}).update(about)


def open_to(whom: Open) -> Callable[[Endpoint], Endpoint]:
    """Declare that a route asks for no action."""
    return _declared(Need(open_to=whom))


def need_of(route: object) -> Need:
    """What a route has declared; TypeError if it has not."""
    found = vars(route.endpoint).get("need") if isinstance(route, Route) else None
    if not isinstance(found, Need):
        raise TypeError(f"{route} does not declare what it needs: see ghcm.supervisor.access.needs")
    return found


MadeBy = Callable[[str], str | None]
"""The publisher of the call of an id; None where there is no such call."""


def ask_at_each_route(app: FastAPI, audit: AuditLog, made_by: MadeBy) -> None:
    """Have every route ask before it is served, and note who calls, cancels and is refused; TypeError where one
    declares nothing. To be told when all are there.
    """
    for route in app.routes:
        own = (app.openapi_url, app.docs_url, app.redoc_url, app.swagger_ui_oauth2_redirect_url)
        if isinstance(route, Route) and route.path in own:
            open_to(Open.CALLERS)(route.endpoint)  # FastAPI's own
        need = need_of(route)
        assert isinstance(route, Route)
        route.app = _asking(route.app, need, audit, made_by)


def _declared(need: Need) -> Callable[[Endpoint], Endpoint]:
    def declare(endpoint: Endpoint) -> Endpoint:
        vars(endpoint)["need"] = need
        return endpoint

    return declare


def _asking(app: ASGIApp, need: Need, audit: AuditLog, made_by: MadeBy) -> ASGIApp:
    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        caller, place = asking(scope), scope["path_params"]
        if need.met_by(caller, place) and (not need.own_alone(caller, place) or _is_own(caller, made_by(place["id"]))):
            await app(scope, receive, _noting(send, scope, need, audit) if need.changes else send)
            return
        audit.refused(caller=str(caller), origin=origin_of(scope), method=scope["method"], path=scope["path"][:200])
        if caller == ANYONE and _is_person(scope):
            wanted = quote(
                scope["path"] + ("?" + scope["query_string"].decode("latin-1") if scope["query_string"] else "")
            )
            await RedirectResponse(f"/sign-in?next={wanted}", 303)(scope, receive, send)
            return
        if caller == ANYONE:
            hint = "send it as Authorization: Bearer …; ghcm token create makes one."
            raise Problem(401, "GHCM-350", f'"{scope["path"]}" needs a token', hint=hint)
        message = f'"{caller}" may not {scope["method"]} "{scope["path"]}"'
        raise Problem(403, "GHCM-351", message, hint=f"take a token with the scope {need.shown(place)}.")

    return asked


def _is_own(caller: Caller, publisher: str | None) -> bool:
    return publisher is None or publisher == publisher_of(str(caller))  # what is not there is nobody's secret


def _is_person(scope: Scope) -> bool:
    """Whether a browser asks for a page, and no program for data."""
    return scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")


def _noting(send: Send, scope: Scope, need: Need, audit: AuditLog) -> Send:
    async def noted(message: Message) -> None:
        if message["type"] == "http.response.start":
            place = {**scope["path_params"], **need.place}
            found = dict(message["headers"]).get(b"location", b"").decode("latin-1").rpartition("/")[2]
            about = {
                "program": place.get("program"),
                "unit": place.get("unit"),
                "call": place.get("id") or found or None,
            }
            audit.note(
                need.noted or str(need.actions[0]),
                caller=str(asking(scope)),
                origin=origin_of(scope),
                **{**about, **scope["state"].get("noted", {})},
                status=message["status"],
            )
        await send(message)

    return noted
