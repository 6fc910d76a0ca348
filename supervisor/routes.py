"""The endpoints: what is asked, with which words, and which document is answered.

`build` makes a new FastAPI app of a catalogue. Apps are never changed: a new program is a new app in the place of the
old one, so OpenAPI always tells what there is. Annotations are evaluated (no `from __future__ import annotations`),
because they hold limits and models that are known only here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import Body, FastAPI, Header, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

import ghcm
from ghcm.runtime.jobs.calls import Call
from ghcm.runtime.pubsub.connections import Connections
from ghcm.supervisor import call_rows, chart_routes, documents, page_routes, problems, sink_routes
from ghcm.supervisor.catalogue import Catalogue, KnownUnit
from ghcm.supervisor.charts.studio import Studio
from ghcm.supervisor.desk import Desk
from ghcm.supervisor.documents import CallDocument, ProgramDocument
from ghcm.supervisor.problems import Problem, ProblemDocument
from ghcm.supervisor.sinks.look import Looks
from ghcm.supervisor.sinks.query import Chosen

__all__ = ["build"]

_PROBLEM: dict[str, Any] = {"model": ProblemDocument, "content": {problems.MEDIA_TYPE: {}}}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": CallDocument, "description": "The call in its final state; with its reply as `data`."},
    202: {"model": CallDocument, "description": "The call is accepted; `Location` is where it is."},
    404: _PROBLEM | {"description": "There is no such program, unit or call."},
    409: _PROBLEM | {"description": "The id belongs to another call."},
    413: _PROBLEM | {"description": "The request is too large: pass references, not data."},
    422: _PROBLEM | {"description": "A parameter does not fit."},
    429: _PROBLEM | {"description": "Too many calls wait or run."},
    503: _PROBLEM | {"description": "The msg cache cannot be reached."},
}

Places = Callable[[str], Connections]
"""Where the data of a program rests."""

Ready = Callable[[], Awaitable[bool]]

_ROWS_WITH_ANSWER = 1000
Wait = Annotated[float | None, Query(ge=0, le=60, description="Wait so many seconds for the call to end.")]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[A-Za-z0-9._:-]{1,64}$",
        description="The id of the call; the same id is the same call.",
    ),
]


def build(catalogue: Catalogue, desk: Desk, connections: Places, ready: Ready, looks: Looks, studio: Studio) -> FastAPI:
    """The app for these programs. `connections` gives the places of a program, `ready` says whether all that calls
    need is there; `looks` keeps what was seen of sinks, `studio` draws charts.
    """
    app = FastAPI(
        title="GHCM Supervisor",
        version=ghcm.__version__,
        description="Calls responsive units. Each has its endpoint, with the types of its parameters.",
        openapi_tags=[{"name": name, "description": f'Units of "{name}".'} for name in sorted(catalogue.programs)],
    )
    problems.install(app)
    _add_status(app, catalogue, ready)
    for known in catalogue.programs.values():
        for unit in known.units.values():
            _add_unit(app, catalogue, unit, desk, connections)
    _add_calls(app, catalogue, desk, connections, studio)
    shown = sink_routes.Shown(catalogue, connections, looks)
    sink_routes.add(app, shown, desk.settings.limits.rows)
    chart_routes.add(app, shown, studio, desk.settings.limits.rows)
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


def _add_unit(app: FastAPI, catalogue: Catalogue, unit: KnownUnit, desk: Desk, connections: Places) -> None:
    longest = desk.settings.limits.deadline

    async def call_unit(
        request: Request,
        parameters: Any,
        wait: Wait = None,
        deadline: Annotated[
            float | None, Query(gt=0, le=longest, description="Seconds until the call expires if it has no answer.")
        ] = None,
        idempotency_key: Key = None,
    ) -> Response:
        values: dict[str, object] = parameters.model_dump(by_alias=True)
        call, _ = await desk.take(unit, values, id=idempotency_key, seconds=deadline)
        return await _answer(call, wait, desk, catalogue, connections)

    # The model is known only now, so it cannot stand in the annotation above.
    default = Body(default_factory=unit.model) if not any(p.required for p in unit.unit.parameters) else Body()
    call_unit.__annotations__["parameters"] = Annotated[unit.model, default]
    problems.describe(call_unit, (parameter.name for parameter in unit.unit.parameters))
    app.post(
        f"/programs/{unit.program}/units/{unit.unit.name}/calls",
        name=f"call_{unit.program}_{unit.unit.name}",
        tags=[unit.program],
        summary=f'Call the {unit.unit.kind} unit "{unit.unit.name}"',
        status_code=202,
        response_model=None,
        responses=_ANSWERS,
    )(call_unit)


async def _answer(call: Call, wait: float | None, desk: Desk, catalogue: Catalogue, connections: Places) -> Response:
    if wait and not call.final:
        call = await desk.wait(call.id, wait)
    rows = None
    if wait is not None and call.final and (known := catalogue.programs.get(call.program)) is not None:
        rows = await call_rows.result(known, call, connections(call.program), _ROWS_WITH_ANSWER)
    document = documents.call(call, rows)
    return JSONResponse(document, 200 if call.final else 202, {"Location": document["links"]["self"]})


def _add_calls(app: FastAPI, catalogue: Catalogue, desk: Desk, connections: Places, studio: Studio) -> None:
    path = "/programs/{program}/units/{unit}/calls"
    most_rows = desk.settings.limits.rows

    async def found(program: str, unit: str, id: str) -> Call:
        call = await desk.get(id)
        if (call.program, call.unit) != (program, unit):
            raise Problem(
                404,
                "GHCM-323",
                f'unit "{unit}" of program "{program}" has no call "{id}"',
                detail=f'It is one of unit "{call.unit}" of program "{call.program}".',
            )
        return call

    @app.post(path, include_in_schema=False)
    async def call_unknown(program: str, unit: str) -> Response:
        catalogue.unit(program, unit)
        raise Problem(404, "GHCM-322", f'unit "{unit}" of program "{program}" cannot be called')

    @app.get(path, tags=["calls"], summary="The latest calls of a unit")
    async def list_calls(
        program: str, unit: str, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> list[CallDocument]:
        calls = await asyncio.to_thread(desk.store.calls.find, program, unit, None, limit)
        return [CallDocument(**documents.call(call)) for call in calls]

    @app.get(path + "/{id}", tags=["calls"], summary="A call", response_model=None, responses=_ANSWERS)
    async def get_call(program: str, unit: str, id: str, wait: Wait = None) -> Response:
        call = await found(program, unit, id)
        if wait and not call.final:
            call = await desk.wait(id, wait)
        return JSONResponse(documents.call(call))

    @app.delete(path + "/{id}", tags=["calls"], summary="Cancel a call", response_model=None, responses=_ANSWERS)
    async def cancel_call(program: str, unit: str, id: str) -> Response:
        await found(program, unit, id)
        await desk.cancel(id)
        return JSONResponse(documents.call(await desk.get(id)))

    @app.get(path + "/{id}/data", tags=["calls"], summary="The rows of a call", response_model=None, responses=_ANSWERS)
    async def get_data(
        program: str,
        unit: str,
        id: str,
        request: Request,
        format: Annotated[Literal["json", "csv"] | None, Query(description="By default as `Accept` says.")] = None,
        sink: Annotated[str | None, Query(description="Which sink, where the unit writes several.")] = None,
        limit: Annotated[int, Query(ge=1, le=most_rows)] = min(1000, most_rows),
        offset: Annotated[int, Query(ge=0)] = 0,
    ) -> Response:
        call = await found(program, unit, id)
        known, places = catalogue.any_program(program), connections(program)
        rows = await asyncio.to_thread(call_rows.rows_of, known, call, places, sink=sink, limit=limit, offset=offset)
        headers = {"X-Total-Count": str(rows.total)}
        if format == "csv" or (format is None and "text/csv" in request.headers.get("accept", "")):
            return PlainTextResponse(call_rows.as_csv(rows), headers=headers, media_type="text/csv")
        document = {"call": id, "sink": rows.sink, "total": rows.total, "rows": rows.rows}
        return JSONResponse(document, headers=headers)

    shape: Any = {"response_model": None, "responses": chart_routes.PICTURES, "response_class": Response}

    @app.get(path + "/{id}/chart", tags=["charts"], summary="A chart of the rows of a call", **shape)
    async def get_chart(
        program: str,
        unit: str,
        id: str,
        request: Request,
        words: chart_routes.Words,
        chosen: Chosen,
        form: chart_routes.Form,
        sink: Annotated[str | None, Query(description="Which sink, where the unit writes several.")] = None,
    ) -> Response:
        call = await found(program, unit, id)
        known, places = catalogue.any_program(program), connections(program)
        look = await asyncio.to_thread(call_rows.look_at, known, call, places, sink)
        return await chart_routes.picture(
            studio, request, replace(words, title=words.title or unit), chosen, form, look
        )
