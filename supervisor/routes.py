"""The endpoints, put together; here those of the status and of the page for the people on watch over a program: one
document, one style sheet, one script, nothing from elsewhere.

`build` makes a new FastAPI app of a catalogue. Apps are never changed: a new program is a new app instead of the old
one, so OpenAPI always tells what there is. Annotations are evaluated (no `from __future__ import annotations`), as
FastAPI asks for.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from fastapi import FastAPI, Request, Response

import ghcm
from ghcm.supervisor import call_routes, chart_routes, documents, problems, sink_routes
from ghcm.supervisor.call_routes import Calls, ConnectionsOf
from ghcm.supervisor.call_service import CallService
from ghcm.supervisor.catalogue import Catalogue
from ghcm.supervisor.charts.renderer import ChartRenderer
from ghcm.supervisor.documents import ProgramDocument
from ghcm.supervisor.problems import PROBLEM, Problem
from ghcm.supervisor.sink_routes import Shown, tag_of, unchanged
from ghcm.supervisor.sinks import SinkWatches

_FOLDER = Path(__file__).parent / "dashboard"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load and do: nothing of what data could bring in."""

_MEDIA = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

Ready = Callable[[], Awaitable[bool]]


def build(
    catalogue: Catalogue,
    service: CallService,
    connections: ConnectionsOf,
    ready: Ready,
    watches: SinkWatches,
    renderer: ChartRenderer,
) -> FastAPI:
    """The app for these programs. `connections` gives those of a program, `ready` says whether all that calls
    need is there; `watches` keep what was seen of sinks, `renderer` draws charts.
    """
    app = FastAPI(
        title="GHCM Supervisor",
        version=ghcm.__version__,
        description="Calls responsive units. Each has its endpoint, with the types of its parameters.",
        openapi_tags=[{"name": name, "description": f'Units of "{name}".'} for name in sorted(catalogue.programs)],
    )
    problems.install(app)
    _add_status(app, catalogue, ready)
    calls = Calls(catalogue, service, connections)
    for known in catalogue.programs.values():
        for unit in known.units.values():
            call_routes.add_unit(app, calls, unit)
    call_routes.add(app, calls)
    call_routes.add_rows(app, calls)
    call_routes.add_charts(app, calls, renderer)
    shown = sink_routes.Shown(catalogue, connections, watches)
    sink_routes.add(app, shown, service.settings.limits.rows)
    chart_routes.add(app, shown, renderer, service.settings.limits.rows)
    _add_page(app, shown)
    return app


def _add_status(app: FastAPI, catalogue: Catalogue, ready: Ready) -> None:
    @app.get("/health", tags=["status"], summary="Whether this process works")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/ready", tags=["status"], summary="Whether calls can be taken", responses={503: PROBLEM})
    async def is_ready() -> dict[str, str]:
        if not await ready():
            raise Problem(503, "GHCM-330", "the msg caches cannot be reached", hint="ask again in a moment.")
        return {"status": "ready"}

    @app.get("/programs", tags=["status"], summary="The programs and their units")
    async def programs() -> list[ProgramDocument]:
        return documents.programs(catalogue)

    @app.get("/programs/{program}", tags=["status"], summary="One program", responses={404: PROBLEM})
    async def one_program(program: str) -> ProgramDocument:
        return documents.program(catalogue.program(program))


def _add_page(app: FastAPI, shown: Shown) -> None:
    """Add the page and its files."""

    @app.get(
        "/programs/{program}/watch", tags=["status"], summary="A page to watch the program", response_class=Response
    )
    async def watch(program: str, request: Request) -> Response:
        shown.program(program)
        return _file(request, "watch.html")

    @app.get("/watch/{name}", include_in_schema=False)
    async def part(name: Literal["watch.js", "watch.css", "icon.svg"], request: Request) -> Response:
        return _file(request, name)


def _file(request: Request, name: str) -> Response:
    data = (_FOLDER / name).read_bytes()
    tag = tag_of(data.hex())
    if (same := unchanged(request, tag)) is not None:
        return same
    headers = {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": _POLICY,
        "ETag": tag,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(data, headers=headers, media_type=_MEDIA[Path(name).suffix])
