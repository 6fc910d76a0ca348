"""The endpoints: what is asked, with which words, and which document is answered.

`build` makes a new FastAPI app of a catalogue. Apps are never changed: a new program is a new app in the place of the
old one, so OpenAPI always tells what there is. Annotations are evaluated (no `from __future__ import annotations`), as
FastAPI asks for.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI

import ghcm
from ghcm.supervisor import call_routes, chart_routes, documents, page_routes, problems, sink_routes
from ghcm.supervisor.call_routes import Calls, ConnectionsOf
from ghcm.supervisor.call_service import CallService
from ghcm.supervisor.catalogue import Catalogue
from ghcm.supervisor.charts.renderer import ChartRenderer
from ghcm.supervisor.documents import ProgramDocument
from ghcm.supervisor.problems import Problem, ProblemDocument
from ghcm.supervisor.sinks.look import Looks

_PROBLEM: dict[str, Any] = {"model": ProblemDocument, "content": {problems.MEDIA_TYPE: {}}}

Ready = Callable[[], Awaitable[bool]]


def build(
    catalogue: Catalogue,
    service: CallService,
    connections: ConnectionsOf,
    ready: Ready,
    looks: Looks,
    renderer: ChartRenderer,
) -> FastAPI:
    """The app for these programs. `connections` gives the places of a program, `ready` says whether all that calls
    need is there; `looks` keeps what was seen of sinks, `renderer` draws charts.
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
    shown = sink_routes.Shown(catalogue, connections, looks)
    sink_routes.add(app, shown, service.settings.limits.rows)
    chart_routes.add(app, shown, renderer, service.settings.limits.rows)
    page_routes.add(app, shown)
    return app


def _add_status(app: FastAPI, catalogue: Catalogue, ready: Ready) -> None:
    @app.get("/health", tags=["status"], summary="Whether this process works")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/ready", tags=["status"], summary="Whether calls can be taken", responses={503: _PROBLEM})
    async def is_ready() -> dict[str, str]:
        if not await ready():
            raise Problem(503, "GHCM-330", "the msg caches cannot be reached", hint="ask again in a moment.")
        return {"status": "ready"}

    @app.get("/programs", tags=["status"], summary="The programs and their units")
    async def programs() -> list[ProgramDocument]:
        return documents.programs(catalogue)

    @app.get("/programs/{program}", tags=["status"], summary="One program", responses={404: _PROBLEM})
    async def one_program(program: str) -> ProgramDocument:
        return documents.program(catalogue.program(program))
