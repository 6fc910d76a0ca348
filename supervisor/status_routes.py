"""The endpoints that say how this process and its programs stand.

Annotations are evaluated (no `from __future__ import annotations`), as FastAPI asks for.
"""

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from ghcm.runtime.access.scopes import ALL, Action
from ghcm.supervisor import documents
from ghcm.supervisor.access.callers import asking
from ghcm.supervisor.access.needs import Open, needs, open_to
from ghcm.supervisor.catalogue import Catalogue
from ghcm.supervisor.documents import ProgramDocument
from ghcm.supervisor.health import Readiness, Ready, Unready, readiness_answer
from ghcm.supervisor.metrics import MEDIA_TYPE, Metrics
from ghcm.supervisor.problems import PROBLEM


def add(app: FastAPI, catalogue: Catalogue, readiness: Readiness, metrics: Metrics) -> None:
    """Add the endpoints of these programs and of what they stand on."""
    _add_process(app, catalogue, readiness, metrics)
    _add_programs(app, catalogue)


def _add_process(app: FastAPI, catalogue: Catalogue, readiness: Readiness, metrics: Metrics) -> None:
    known = list(catalogue.programs.values())

    @app.get("/health", tags=["status"], summary="Whether this process works")
    @open_to(Open.EVERYONE)
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get(
        "/ready",
        tags=["status"],
        summary="Whether calls can be served",
        response_model=Ready,
        responses={503: PROBLEM | {"model": Unready}},
    )
    @open_to(Open.EVERYONE)
    async def is_ready(request: Request) -> Ready | JSONResponse:
        parts = await readiness.parts(known)
        return readiness_answer(parts, shown=asking(request.scope).may(Action.READ, ALL))

    @app.get(
        "/metrics",
        tags=["status"],
        summary="What Prometheus collects",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    @needs(Action.READ, program=ALL)
    async def measured() -> Response:
        parts, seen = await readiness.parts(known), await readiness.seen()
        return Response(await metrics.measured(known, seen, parts), media_type=MEDIA_TYPE)


def _add_programs(app: FastAPI, catalogue: Catalogue) -> None:
    @app.get("/programs", tags=["status"], summary="The programs and their units")
    @open_to(Open.CALLERS)
    async def programs(request: Request) -> list[ProgramDocument]:
        caller = asking(request.scope)
        return [documents.program(known) for name, known in sorted(catalogue.programs.items()) if caller.sees(name)]

    @app.get("/programs/{program}", tags=["status"], summary="One program", responses={404: PROBLEM})
    @open_to(Open.OF_PROGRAM)
    async def one_program(program: str) -> ProgramDocument:
        return documents.program(catalogue.program(program))
