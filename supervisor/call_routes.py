"""The endpoints of calls: units are called, calls are followed and cancelled, and what they gave is read or drawn.

Annotations are evaluated (no `from __future__ import annotations`), because they hold limits and models that are known
only here.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import Body, FastAPI, Header, Query, Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from ghcm.errors import listed
from ghcm.runtime.access.scopes import Action
from ghcm.runtime.jobs.calls import Call, CallStore
from ghcm.runtime.logs import trace_of
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import encode
from ghcm.supervisor import call_rows, chart_routes, documents, problems
from ghcm.supervisor.access.callers import asking, call_id
from ghcm.supervisor.access.needs import needs
from ghcm.supervisor.call_service import CallService
from ghcm.supervisor.catalogue import Catalogue, KnownUnit
from ghcm.supervisor.charts.renderer import ChartRenderer
from ghcm.supervisor.documents import CallDocument
from ghcm.supervisor.problems import PROBLEM, Problem
from ghcm.supervisor.sinks import Chosen, Offset
from ghcm.values import WrittenFloat

_FOUND: dict[int | str, dict[str, Any]] = {404: PROBLEM | {"description": "There is no such program, unit or call."}}

_ONE_CALL = _FOUND | {200: {"model": CallDocument, "description": "The call as it stands."}}

_CALLED: dict[int | str, dict[str, Any]] = {
    **_FOUND,
    200: {"model": CallDocument, "description": "The call in its final state; with its reply as `data`."},
    202: {"model": CallDocument, "description": "The call is accepted; `Location` is where it is."},
    409: PROBLEM | {"description": "The key belongs to another call."},
    429: PROBLEM | {"description": "The unit or the caller has too many calls, or calls too often."},
}

_DATA: dict[int | str, dict[str, Any]] = {
    **_FOUND,
    200: {"content": {"text/csv": {}}, "description": "The rows; `X-Total-Count` says how many there are in all."},
    400: PROBLEM | {"description": "The unit writes several sinks: say which."},
    409: PROBLEM | {"description": "The call has no data yet."},
    410: PROBLEM | {"description": "What the call wrote has been replaced."},
}

ConnectionsOf = Callable[[str], Connections]
"""How the data of a program is reached."""

_PATH = "/programs/{program}/units/{unit}/calls"
_ONE = _PATH + "/{id}"
_ROWS_WITH_ANSWER = 1000
_AT_ONCE, _PAGE_BYTES = 20, 500_000
"""How many calls are read at once, and the bytes of instructions after which a page ends: calls may have 64 KB each."""
Wait = Annotated[float | None, Query(ge=0, le=60, description="Wait so many seconds for the call to end.")]
Page = Annotated[
    str,
    Query(pattern=r"^([0-9]{1,17}[.].{1,300})?$", description="Where the page begins: the header `Link` has the next."),
]
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
            replies, connections = self.service.store.replies, self.connections(call.program)
            rows = await call_rows.result(known, call, replies, connections, _ROWS_WITH_ANSWER)
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
        engine: Annotated[
            Literal["native", "spark"] | None,
            Query(description="Who is to run it, of those that can; by default whom the size of its input suits."),
        ] = None,
        idempotency_key: Key = None,
    ) -> Response:
        _check_engine(unit, engine)
        values: dict[str, object] = parameters.model_dump(by_alias=True)
        job = calls.catalogue.programs[unit.program].job.id
        caller = str(asking(request.scope))
        id = None if idempotency_key is None else call_id(caller, idempotency_key)
        trace = trace_of(request.headers.get("traceparent", ""))
        call, _ = await calls.service.take(
            unit, values, id=id, seconds=deadline, job=job, trace=trace, caller=caller, engine=engine or ""
        )
        return await calls.answer(call, wait)

    # The model is known only now, so it cannot stand in the annotation above.
    default = Body(default_factory=unit.model) if not any(p.required for p in unit.unit.parameters) else Body()
    call_unit.__annotations__["parameters"] = Annotated[unit.model, default]
    problems.describe(call_unit, (parameter.name for parameter in unit.unit.parameters))
    app.router.add_api_route(
        f"/programs/{unit.program}/units/{unit.unit.name}/calls",
        needs(Action.CALL, program=unit.program, unit=unit.unit.name)(call_unit),
        methods=["POST"],
        name=f"call_{unit.program}_{unit.unit.name}",
        tags=[unit.program],
        summary=f'Call the {unit.unit.kind} unit "{unit.unit.name}"',
        status_code=202,
        responses=_CALLED,
        route_class_override=_AsWritten,
    )


def _check_engine(unit: KnownUnit, engine: str | None) -> None:
    """Problem 422 where that engine cannot run the unit."""
    if engine is not None and engine not in unit.engines:
        message = f'unit "{unit.unit.name}" does not run on {engine}'
        hint = "ghcm explain --engines says what keeps it from that."
        raise Problem(422, "GHCM-320", message, detail=f"It runs on {listed(unit.engines)}.", hint=hint)


class _Written(Request):
    """A request whose numbers keep their digits, so that a decimal is never read by way of a float."""

    async def json(self) -> Any:
        """The body."""
        return json.loads(await self.body(), parse_float=WrittenFloat)


class _AsWritten(APIRoute):
    """The route of a call."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        answer = super().get_route_handler()

        async def answered(request: Request) -> Response:
            return await answer(_Written(request.scope, request.receive))

        return answered


def add(app: FastAPI, calls: Calls) -> None:
    """The endpoints that say how calls stand, and cancel them."""

    @app.post(_PATH, include_in_schema=False)
    @needs(Action.CALL)
    async def call_unknown(program: str, unit: str) -> Response:
        calls.catalogue.unit(program, unit)
        raise Problem(404, "GHCM-322", f'unit "{unit}" of program "{program}" cannot be called')

    @app.get(_PATH, tags=["calls"], summary="The calls of a unit, the newest first", responses=_FOUND)
    @needs(Action.READ)
    async def list_calls(
        program: str,
        unit: str,
        response: Response,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        before: Page = "",
    ) -> list[CallDocument]:
        known = calls.catalogue.any_program(program)
        found, more = await asyncio.to_thread(_page, calls.service.store.calls, program, unit, limit, before)
        await calls.service.sync()
        if not found and all(each.name != unit for each in known.program.units):
            raise Problem(404, "GHCM-322", f'program "{program}" has no unit "{unit}"')
        if more:
            behind = f"limit={limit}&before={found[-1].accepted}.{quote(found[-1].id)}"
            response.headers["Link"] = f'<{quote(f"/programs/{program}/units/{unit}/calls")}?{behind}>; rel="next"'
        return [CallDocument(**documents.call(call)) for call in found]

    _add_one(app, calls)


def _add_one(app: FastAPI, calls: Calls) -> None:
    @app.get(_ONE, tags=["calls"], summary="A call", responses=_ONE_CALL)
    @needs(Action.READ, Action.CALL)
    async def get_call(program: str, unit: str, id: str, wait: Wait = None) -> Response:
        call = await calls.found(program, unit, id)
        if wait and not call.final:
            call = await calls.service.wait(id, wait)
            await calls.service.sync()
        return JSONResponse(documents.call(call))

    @app.delete(_ONE, tags=["calls"], summary="Cancel a call", responses=_ONE_CALL)
    @needs(Action.CANCEL)
    async def cancel_call(program: str, unit: str, id: str) -> Response:
        await calls.found(program, unit, id)
        await calls.service.cancel(id)
        await calls.service.sync()
        return JSONResponse(documents.call(await calls.service.get(id)))


def _page(store: CallStore, program: str, unit: str, limit: int, before: str) -> tuple[list[Call], bool]:
    """Calls, as many as are asked for and one answer may hold, and whether there are more."""
    found: list[Call] = []
    moment, _, id = before.partition(".")
    place, size = (int(moment), id) if moment else None, 0
    while True:
        part = store.find(program, unit, None, min(_AT_ONCE, limit - len(found)) or 1, place)
        if not part or len(found) == limit or size > _PAGE_BYTES:
            return found, bool(part)
        found += part
        size += sum(len(encode(call.instruction)) for call in part)
        place = found[-1].accepted, found[-1].id


def add_rows(app: FastAPI, calls: Calls) -> None:
    """The endpoint of the rows that calls gave."""
    most_rows = calls.service.settings.limits.rows

    @app.get(_ONE + "/data", tags=["calls"], summary="The rows of a call", responses=_DATA)
    @needs(Action.READ, Action.CALL)
    async def get_data(
        program: str,
        unit: str,
        id: str,
        request: Request,
        format: call_rows.RowFormat = None,
        sink: Annotated[str | None, Query(description="Which sink, where the unit writes several.")] = None,
        limit: Annotated[int, Query(ge=1, le=most_rows)] = min(1000, most_rows),
        offset: Offset = 0,
    ) -> Response:
        call = await calls.found(program, unit, id)
        known, connections = calls.catalogue.any_program(program), calls.connections(program)
        rows = await asyncio.to_thread(
            call_rows.rows_of,
            known,
            call,
            calls.service.store.replies,
            connections,
            sink=sink,
            limit=limit,
            offset=offset,
        )
        headers = {"X-Total-Count": str(rows.total)}
        if call_rows.wants_csv(request, format):
            return call_rows.csv_answer(call_rows.as_csv(rows.columns, rows.rows), f"{program}-{unit}", headers)
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
        replies = calls.service.store.replies
        found = await asyncio.to_thread(call_rows.snapshot_of, known, call, replies, connections, sink)
        return await chart_routes.picture(
            renderer, request, replace(words, title=words.title or unit), chosen, form, found
        )
