"""The endpoints of calls: units are called, calls are followed and cancelled, and what they gave is read or drawn.

Annotations are evaluated (no `from __future__ import annotations`), because they hold limits and models that are known
only here.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import Body, FastAPI, Header, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from ghcm.runtime.access.scopes import Action
from ghcm.runtime.jobs.calls import Call
from ghcm.runtime.logs import trace_of
from ghcm.runtime.pubsub.connections import Connections
from ghcm.supervisor import call_rows, chart_routes, documents, problems
from ghcm.supervisor.access.needs import needs
from ghcm.supervisor.call_service import CallService
from ghcm.supervisor.callers import call_id, caller_of
from ghcm.supervisor.catalogue import Catalogue, KnownUnit
from ghcm.supervisor.charts.renderer import ChartRenderer
from ghcm.supervisor.documents import CallDocument
from ghcm.supervisor.problems import PROBLEM, Problem
from ghcm.supervisor.sinks import Chosen

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": CallDocument, "description": "The call in its final state; with its reply as `data`."},
    202: {"model": CallDocument, "description": "The call is accepted; `Location` is where it is."},
    404: PROBLEM | {"description": "There is no such program, unit or call."},
    409: PROBLEM | {"description": "The key belongs to another call, or the call has no data yet."},
    413: PROBLEM | {"description": "The request is too large: pass references, not data."},
    422: PROBLEM | {"description": "A parameter does not fit."},
    429: PROBLEM | {"description": "Too many calls wait or run."},
    503: PROBLEM | {"description": "The msg cache cannot be reached, or the program is being stopped."},
}

ConnectionsOf = Callable[[str], Connections]
"""How the data of a program is reached."""

_PATH = "/programs/{program}/units/{unit}/calls"
_ONE = _PATH + "/{id}"
_ROWS_WITH_ANSWER = 1000
Wait = Annotated[float | None, Query(ge=0, le=60, description="Wait so many seconds for the call to end.")]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[A-Za-z0-9._:-]{1,64}$",
        description="A name for the call, of the caller's own; the same name is the same call.",
    ),
]


@dataclass(frozen=True, slots=True)
class Calls:
    """What the endpoints of calls speak to: the programs, the service that takes calls, connections to data."""

    catalogue: Catalogue
    service: CallService
    connections: ConnectionsOf

    async def found(self, program: str, unit: str, id: str) -> Call:
        """The call of that id. Problem where it is another unit's."""
        call = await self.service.get(id)
        if (call.program, call.unit) != (program, unit):
            raise Problem(
                404,
                "GHCM-323",
                f'unit "{unit}" of program "{program}" has no call "{id}"',
                detail=f'It is one of unit "{call.unit}" of program "{call.program}".',
            )
        if call.final:
            await self.service.sync()
        return call

    async def answer(self, call: Call, wait: float | None) -> Response:
        """The call, after so many seconds at most; with its rows where it has ended by then."""
        if wait and not call.final:
            call = await self.service.wait(call.id, wait)
        await self.service.sync()
        rows = None
        if wait is not None and call.final and (known := self.catalogue.programs.get(call.program)) is not None:
            rows = await call_rows.result(known, call, self.connections(call.program), _ROWS_WITH_ANSWER)
        document = documents.call(call, rows)
        return JSONResponse(document, 200 if call.final else 202, {"Location": document["links"]["self"]})


def add_unit(app: FastAPI, calls: Calls, unit: KnownUnit) -> None:
    """The endpoint that calls one unit, with the types of its parameters."""
    longest = calls.service.settings.limits.deadline

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
        job = calls.catalogue.programs[unit.program].job.id
        caller = caller_of(request)
        id = None if idempotency_key is None else call_id(caller, idempotency_key)
        trace = trace_of(request.headers.get("traceparent", ""))
        call, _ = await calls.service.take(unit, values, id=id, seconds=deadline, job=job, trace=trace, caller=caller)
        return await calls.answer(call, wait)

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
        responses=_ANSWERS,
    )(needs(Action.CALL, program=unit.program, unit=unit.unit.name)(call_unit))


def add(app: FastAPI, calls: Calls) -> None:
    """The endpoints that say how calls stand, and cancel them."""

    @app.post(_PATH, include_in_schema=False)
    @needs(Action.CALL)
    async def call_unknown(program: str, unit: str) -> Response:
        calls.catalogue.unit(program, unit)
        raise Problem(404, "GHCM-322", f'unit "{unit}" of program "{program}" cannot be called')

    @app.get(_PATH, tags=["calls"], summary="The latest calls of a unit")
    @needs(Action.READ)
    async def list_calls(
        program: str, unit: str, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> list[CallDocument]:
        found = await asyncio.to_thread(calls.service.store.calls.find, program, unit, None, limit)
        return [CallDocument(**documents.call(call)) for call in found]

    @app.get(_ONE, tags=["calls"], summary="A call", responses=_ANSWERS)
    @needs(Action.READ, Action.CALL)
    async def get_call(program: str, unit: str, id: str, wait: Wait = None) -> Response:
        call = await calls.found(program, unit, id)
        if wait and not call.final:
            call = await calls.service.wait(id, wait)
        if call.final:
            await calls.service.sync()
        return JSONResponse(documents.call(call))

    @app.delete(_ONE, tags=["calls"], summary="Cancel a call", responses=_ANSWERS)
    @needs(Action.CANCEL)
    async def cancel_call(program: str, unit: str, id: str) -> Response:
        await calls.found(program, unit, id)
        await calls.service.cancel(id)
        await calls.service.sync()
        return JSONResponse(documents.call(await calls.service.get(id)))


def add_rows(app: FastAPI, calls: Calls) -> None:
    """The endpoint of the rows that calls gave."""
    most_rows = calls.service.settings.limits.rows

    @app.get(_ONE + "/data", tags=["calls"], summary="The rows of a call", responses=_ANSWERS)
    @needs(Action.READ, Action.CALL)
    async def get_data(
        program: str,
        unit: str,
        id: str,
        request: Request,
        format: call_rows.RowFormat = None,
        sink: Annotated[str | None, Query(description="Which sink, where the unit writes several.")] = None,
        limit: Annotated[int, Query(ge=1, le=most_rows)] = min(1000, most_rows),
        offset: Annotated[int, Query(ge=0)] = 0,
    ) -> Response:
        call = await calls.found(program, unit, id)
        known, connections = calls.catalogue.any_program(program), calls.connections(program)
        rows = await asyncio.to_thread(
            call_rows.rows_of, known, call, connections, sink=sink, limit=limit, offset=offset
        )
        headers = {"X-Total-Count": str(rows.total)}
        if call_rows.wants_csv(request, format):
            return PlainTextResponse(call_rows.as_csv(rows.columns, rows.rows), headers=headers, media_type="text/csv")
        document = {"call": id, "sink": rows.sink, "total": rows.total, "rows": rows.rows}
        return JSONResponse(document, headers=headers)


def add_charts(app: FastAPI, calls: Calls, renderer: ChartRenderer) -> None:
    """The endpoint that draws the rows that calls gave."""

    @app.get(_ONE + "/chart", summary="A chart of the rows of a call", **chart_routes.PICTURE)
    @needs(Action.READ, Action.CALL)
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
        call = await calls.found(program, unit, id)
        known, connections = calls.catalogue.any_program(program), calls.connections(program)
        found = await asyncio.to_thread(call_rows.snapshot_of, known, call, connections, sink)
        return await chart_routes.picture(
            renderer, request, replace(words, title=words.title or unit), chosen, form, found
        )
