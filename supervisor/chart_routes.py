"""The endpoints that draw: charts of sinks and of the rows of calls, on request, and the panels of a program.

Annotations are evaluated (no `from __future__ import annotations`), as FastAPI asks for.
"""

import asyncio
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Query, Request, Response
from pydantic import BaseModel, Field

from ghcm.errors import suggest
from ghcm.panels import CHARTS, Panel, check
from ghcm.runtime.access.scopes import Action
from ghcm.runtime.sinks.backend import SinkSnapshot
from ghcm.supervisor.access.needs import needs
from ghcm.supervisor.charts.drawing import Drawing, Format, Order, Theme, encode
from ghcm.supervisor.charts.plan import plan
from ghcm.supervisor.charts.renderer import ChartRenderer
from ghcm.supervisor.problems import Problem
from ghcm.supervisor.sink_routes import PROBLEMS, ROWS, Shown, rows_answer, tag_of, unchanged
from ghcm.supervisor.sinks import Chosen, Selection, names, select
from ghcm.types import Struct

_ANSWERS: dict[int | str, dict[str, Any]] = {
    **PROBLEMS,
    200: {"content": {"image/svg+xml": {}, "image/png": {}}, "description": "The picture."},
    304: {"description": "The reader has it."},
    429: PROBLEMS[404] | {"description": "Too many charts are asked for."},
    503: PROBLEMS[404] | {"description": "The chart takes too long."},
}
PICTURE: dict[str, Any] = {"tags": ["charts"], "response_class": Response, "responses": _ANSWERS}
"""What is true of every endpoint that draws."""

_ALONE = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""What a browser may do with a picture that is opened by itself."""


class PanelDocument(BaseModel):
    """A panel: what it shows and where its rows and, if it is a chart, its picture are."""

    name: str
    title: str
    sink: str
    kind: str
    options: dict[str, Any]
    links: dict[str, str]


class BoardDocument(BaseModel):
    """The panels of a program, as declared beside it or made from its sinks."""

    program: str
    title: str
    panels: list[PanelDocument]


class _Words(BaseModel):
    kind: Annotated[Literal["line", "bar", "share", "graph"], Field(description="What is drawn.")]
    title: Annotated[str, Field(max_length=200)] = ""
    x: Annotated[str | None, Field(description="The column along the axis.")] = None
    y: Annotated[list[str], Field(description="The columns that are measured.")] = []
    by: Annotated[str | None, Field(description="The column that tells series apart.")] = None
    source: Annotated[str | None, Field(alias="from", description="Where an arrow begins.")] = None
    target: Annotated[str | None, Field(alias="to", description="Where an arrow ends.")] = None
    step: Annotated[str | None, Field(description="Puts the arrows in order.")] = None
    label: Annotated[str | None, Field(description="What an arrow says.")] = None
    severity: Annotated[str | None, Field(description="1 is the worst.")] = None
    nodes: Annotated[str, Field(max_length=40, description="What the nodes of a graph are, as in hosts.")] = ""
    roles: Annotated[
        list[str],
        Field(max_length=3, description="What a node is that arrows only leave, leave and reach, only reach."),
    ] = []
    top: Annotated[int, Field(ge=0, le=200, description="So many by themselves; 0: as many as suit.")] = 0
    unit: Annotated[str, Field(max_length=20, description="bytes, seconds, percent or a word.")] = ""
    stacked: Annotated[bool, Field(description="Series stand upon each other.")] = False


def _panel(words: Annotated[_Words, Query()]) -> Panel:
    options: dict[str, Any] = {**words.model_dump(), "y": names(words.y), "roles": tuple(words.roles)}
    return Panel(sink="", **options)


def _form(
    request: Request,
    format: Annotated[Format | None, Query(description="By default as `Accept` says, else svg.")] = None,
    theme: Annotated[Theme, Query()] = "light",
    width: Annotated[int, Query(ge=240, le=2400, description="Pixels.")] = 720,
    height: Annotated[int, Query(ge=0, le=2400, description="Pixels; 0: as needed.")] = 0,
    heading: Annotated[bool, Query(description="With the title above it.")] = True,
) -> Callable[[Drawing], Order]:
    accepted = request.headers.get("accept", "")
    wanted = format or ("png" if "image/png" in accepted and "image/svg+xml" not in accepted else "svg")
    return lambda drawing: Order(drawing, wanted, theme, width, 0 if height < 100 else height, heading)


Words = Annotated[Panel, Depends(_panel)]
Form = Annotated[Callable[[Drawing], Order], Depends(_form)]
"""How a drawing is to be drawn."""


def add(app: FastAPI, shown: Shown, renderer: ChartRenderer, most_rows: int) -> None:
    """Add the endpoints."""
    _add_panels(app, shown, most_rows)
    _add_panel_charts(app, shown, renderer)

    @app.get("/programs/{program}/sinks/{sink}/chart", summary="A chart of the rows of a sink", **PICTURE)
    @needs(Action.READ)
    async def sink_chart(
        program: str, sink: str, request: Request, words: Words, chosen: Chosen, form: Form
    ) -> Response:
        snapshot = await shown.snapshot(program, sink)
        return await picture(renderer, request, replace(words, title=words.title or sink), chosen, form, snapshot)


def _add_panels(app: FastAPI, shown: Shown, most_rows: int) -> None:
    @app.get("/programs/{program}/panels", tags=["charts"], summary="The panels of a program", responses=PROBLEMS)
    @needs(Action.READ)
    async def list_panels(program: str) -> BoardDocument:
        board = shown.program(program).board
        panels = [_document(program, panel) for panel in board.panels]
        return BoardDocument(program=program, title=board.title, panels=panels)

    @app.get(
        "/programs/{program}/panels/{panel}/rows",
        tags=["charts"],
        summary="The rows that a panel shows",
        responses=ROWS,
    )
    @needs(Action.READ)
    async def panel_rows(
        program: str, panel: str, request: Request, limit: Annotated[int | None, Query(ge=1, le=most_rows)] = None
    ) -> Response:
        found = _panel_of(shown, program, panel)
        snapshot = await shown.snapshot(program, found.sink)
        most = min(most_rows, limit or found.limit)
        return await rows_answer(request, snapshot, replace(_selection(found), limit=most), program, found.sink)


def _add_panel_charts(app: FastAPI, shown: Shown, renderer: ChartRenderer) -> None:
    @app.get("/programs/{program}/panels/{panel}/chart", summary="The picture of a panel that is a chart", **PICTURE)
    @needs(Action.READ)
    async def panel_chart(
        program: str,
        panel: str,
        request: Request,
        form: Form,
        each: Annotated[str | None, Query(description="One value of the column that the panel draws each of.")] = None,
    ) -> Response:
        found = _panel_of(shown, program, panel)
        if found.kind not in CHARTS:
            raise Problem(404, "GHCM-343", f'panel "{panel}" is no chart but a {found.kind}', hint="ask for its rows.")
        if each is not None and found.each is not None:
            found = replace(found, where={**found.where, found.each: each})
        snapshot = await shown.snapshot(program, found.sink)
        return await picture(renderer, request, found, replace(_selection(found), columns=()), form, snapshot)


def _panel_of(shown: Shown, program: str, name: str) -> Panel:
    board = shown.program(program).board
    found = board.panel(name)
    if found is None:
        hint = suggest(name, [panel.name for panel in board.panels])
        raise Problem(404, "GHCM-343", f'program "{program}" has no panel "{name}"', hint=hint)
    return found


async def picture(
    renderer: ChartRenderer, request: Request, panel: Panel, chosen: Selection, form: Form, snapshot: SinkSnapshot
) -> Response:
    """The chart of the rows of a snapshot that are chosen; Problem 422 where the panel does not fit them."""
    _fits(panel, snapshot.columns)
    order = form(await asyncio.to_thread(_drawing, panel, chosen, snapshot))
    tag = tag_of(encode(order).decode())
    if (same := unchanged(request, tag)) is not None:
        return same
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in panel.title)[:60] or "chart"
    headers = {
        "Content-Disposition": f'inline; filename="{name}.{order.format}"',
        "ETag": tag,
        "Content-Security-Policy": _ALONE,
        "X-Content-Type-Options": "nosniff",
    }
    media = "image/png" if order.format == "png" else "image/svg+xml"
    return Response(await renderer.draw(order), headers=headers, media_type=media)


def _drawing(panel: Panel, chosen: Selection, snapshot: SinkSnapshot) -> Drawing:
    selected = select(snapshot, replace(chosen, columns=()))
    return plan(panel, selected.frame, snapshot.columns)


def _fits(panel: Panel, columns: Struct) -> None:
    mistakes = check(panel, columns)
    if mistakes:
        first = mistakes[0]
        more = [each.message for each in mistakes[1:]]
        detail = " ".join(part for part in (first.detail, f"Also: {'; '.join(more)}." if more else "") if part)
        raise Problem(422, "GHCM-342", first.message, detail=detail, hint=first.hint)


def _selection(panel: Panel) -> Selection:
    return Selection(
        columns=panel.columns, where=panel.where, time=panel.time, last=panel.last, order=panel.order, limit=None
    )


def _document(program: str, panel: Panel) -> PanelDocument:
    here = f"/programs/{program}/panels/{panel.name}"
    links = {"rows": f"{here}/rows"} | ({"chart": f"{here}/chart"} if panel.kind in CHARTS else {})
    renamed = {"source": "from", "target": "to"}
    options = {
        renamed.get(key, key): value
        for key, value in asdict(panel).items()
        if value not in (None, "", (), {}, 0, False) and key not in ("title", "sink", "kind")
    }
    shown = {"name": panel.name, "title": panel.title, "sink": panel.sink, "kind": panel.kind}
    return PanelDocument(**shown, options=options, links=links)
