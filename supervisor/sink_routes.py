"""The endpoints that show what rests in the sinks of a program: which there are, how fresh they are, and their rows.

Annotations are evaluated (no `from __future__ import annotations`), as FastAPI asks for.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from ghcm.errors import listed, suggest
from ghcm.functions import Failure
from ghcm.runtime.access.scopes import Action
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.backend import SinkSnapshot
from ghcm.runtime.sinks.kept_letters import shown as letters_shown
from ghcm.runtime.sinks.kept_letters import tables
from ghcm.spg.graph import Sink
from ghcm.supervisor import call_rows
from ghcm.supervisor.access.needs import needs
from ghcm.supervisor.catalogue import Catalogue, KnownProgram
from ghcm.supervisor.problems import PROBLEM, Problem
from ghcm.supervisor.sinks import Chosen, Offset, Selection, SinkWatch, documents, select
from ghcm.values.timestamps import timestamp_text

PROBLEMS: dict[int | str, dict[str, Any]] = {
    404: PROBLEM | {"description": "There is no such program or sink."},
    422: PROBLEM | {"description": "There is no such column, or a value does not fit it."},
}


ROWS: dict[int | str, dict[str, Any]] = {
    **PROBLEMS,
    200: {"content": {"text/csv": {}}, "description": "The rows; `X-Total-Count` says how many there are in all."},
    304: {"description": "The reader has them."},
}
"""The answers of endpoints that give rows."""


class ShownSink(BaseModel):
    """A sink: its columns with their types, and its latest commit (null: there was none)."""

    name: str
    mode: str
    columns: dict[str, str]
    rows: int | None
    version: str | None
    as_of: str | None
    links: dict[str, str]


@dataclass(frozen=True, slots=True)
class Shown:
    """Snapshots of the sinks of the present programs, from the event loop. `watches` are kept from app to app; `dead`
    is the folder of dead letters.
    """

    catalogue: Catalogue
    connections: Callable[[str], Connections]
    watches: dict[tuple[str, str], SinkWatch]
    dead: Path

    def program(self, name: str) -> KnownProgram:
        """The program of that name, also one that runs no more; Problem 404."""
        return self.catalogue.any_program(name)

    def sink(self, program: str, name: str) -> Sink:
        """The sink of that name; Problem 404."""
        sinks = {sink.name: sink for sink in self.program(program).program.sinks}
        if name not in sinks:
            message = f'program "{program}" has no sink "{name}"'
            raise Problem(404, "GHCM-341", message, detail=f"It has {listed(sinks)}.", hint=suggest(name, sinks))
        return sinks[name]

    async def snapshot(self, program: str, sink: str) -> SinkSnapshot:
        """The sink as it is now."""
        return await asyncio.to_thread(self.watch(program, sink).snapshot)

    def watch(self, program: str, sink: str) -> SinkWatch:
        """The watch of a sink; Problem 404 where there is none, or nobody can look at it."""
        return self._watch(program, self.sink(program, sink))

    async def sinks(self, program: str) -> list[ShownSink]:
        """All sinks that can be read, in the order of the program."""
        return await asyncio.to_thread(lambda: [*self._shown(program)])

    def _shown(self, program: str) -> Iterator[ShownSink]:
        for sink in self.program(program).program.sinks:
            try:
                commit = self._watch(program, sink).latest()
            except Problem:  # nobody can look at it
                continue
            here = f"/programs/{program}/sinks/{sink.name}"
            yield ShownSink(
                name=sink.name,
                mode=sink.mode.value,
                columns={field.name: str(field.type) for field in sink.columns.fields},
                rows=commit.rows if commit else None,
                version=commit.version if commit else None,
                as_of=timestamp_text(commit.time) if commit else None,
                links={"rows": f"{here}/rows", "events": f"{here}/events", "chart": f"{here}/chart"},
            )

    def _watch(self, program: str, sink: Sink) -> SinkWatch:
        """The watch of a sink; a new one where a program was submitted again with another sink of that name."""
        known, connections = self.watches.get((program, sink.name)), self.connections(program)
        if known is None or known.sink != sink or known.connections is not connections:
            known = self.watches[program, sink.name] = SinkWatch(sink, connections)
        return known


def add(app: FastAPI, shown: Shown, most_rows: int) -> None:
    """Add the endpoints. `most_rows` is the limit of rows in one answer."""

    @app.get("/programs/{program}/sinks", tags=["sinks"], summary="The sinks of a program", responses=PROBLEMS)
    @needs(Action.READ)
    async def list_sinks(program: str) -> list[ShownSink]:
        return await shown.sinks(program)

    @app.get("/programs/{program}/dead", tags=["sinks"], summary="The records that failed", responses=PROBLEMS)
    @needs(Action.READ)
    async def list_dead(
        program: str,
        unit: str | None = None,
        reason: Failure | None = None,
        each: Annotated[bool, Query(description="Each record, not how many by reason and place.")] = False,
        limit: Annotated[int, Query(ge=1, le=most_rows)] = min(1000, most_rows),
        offset: Offset = 0,
    ) -> list[dict[str, Any]]:
        found = tables([shown.dead], shown.program(program).program.name, unit)
        letters = await asyncio.to_thread(letters_shown, found, reason and reason.value, each=each)
        return letters[offset : offset + limit]

    @app.get(
        "/programs/{program}/sinks/{sink}/rows",
        tags=["sinks"],
        summary="The rows of a sink, the newest first",
        responses=ROWS,
    )
    @needs(Action.READ)
    async def get_rows(
        program: str,
        sink: str,
        request: Request,
        chosen: Chosen,
        format: call_rows.RowFormat = None,
        limit: Annotated[int, Query(ge=1, le=most_rows)] = min(1000, most_rows),
        offset: Offset = 0,
    ) -> Response:
        found = await shown.snapshot(program, sink)
        return await rows_answer(request, found, replace(chosen, limit=limit, offset=offset), program, sink, format)


async def rows_answer(
    request: Request, found: SinkSnapshot, wanted: Selection, program: str, sink: str, format: str | None = None
) -> Response:
    """Rows of a snapshot as JSON or CSV, or 304 where the reader has them."""
    as_csv = call_rows.wants_csv(request, format)
    tag = None if found.version is None else tag_of(found.version, str(request.url), "csv" if as_csv else "json")
    if (same := unchanged(request, tag)) is not None:
        return same
    selected = await asyncio.to_thread(select, found, wanted)
    headers = {"X-Total-Count": str(selected.total)} | ({"ETag": tag} if tag else {})
    rows = await asyncio.to_thread(documents, selected)
    if as_csv:
        text = await asyncio.to_thread(call_rows.as_csv, selected.columns.names, rows)
        return call_rows.csv_answer(text, f"{program}-{sink}", headers)
    document: dict[str, object] = {
        "program": program,
        "sink": sink,
        "version": found.version,
        "as_of": None if found.as_of is None else timestamp_text(found.as_of),
        "total": selected.total,
        "whole": found.whole,
        "rows": rows,
    }
    return JSONResponse(document, headers=headers)


def unchanged(request: Request, tag: str | None) -> Response | None:
    """304 where the reader has what bears this tag; else None."""
    given = request.headers.get("if-none-match", "")
    if tag is None or tag not in [each.strip() for each in given.split(",")]:
        return None
    return Response(status_code=304, headers={"ETag": tag})


def tag_of(*parts: str) -> str:
    """The ETag of what these texts determine."""
    return f'"{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:32]}"'
