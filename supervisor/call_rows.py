"""The rows of a call: of its reply, or what it wrote into a sink, as JSON or CSV.

Reads where data rests; nothing here touches a msg cache. What blocks has to run in a thread.
"""

import asyncio
import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, cast

from fastapi import Query, Request, Response
from fastapi.responses import PlainTextResponse

from ghcm.errors import listed, suggest
from ghcm.runtime.data.columns import columns_of as frame_of
from ghcm.runtime.jobs.calls import Call, CallState
from ghcm.runtime.jobs.replies import ReplyStore
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.backend import SinkSnapshot
from ghcm.runtime.sinks.reply import load_reply, reply_key, reply_rows, stored_text
from ghcm.runtime.sinks.sink import rows_of_call
from ghcm.spg.connectors import unreadable
from ghcm.spg.graph import Unit
from ghcm.spg.ops import Reply, To
from ghcm.supervisor.catalogue import KnownProgram
from ghcm.supervisor.problems import Problem
from ghcm.supervisor.sinks import MOST_ROWS
from ghcm.types import Struct
from ghcm.values import Json, cell, inert, reader, to_json

RowFormat: TypeAlias = Annotated[Literal["json", "csv"] | None, Query(description="By default as `Accept` says.")]


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a call as JSON, and how many it has in all. `sink` None: they are its reply."""

    columns: Sequence[str]
    rows: Sequence[Any]
    total: int
    sink: str | None


def rows_of(
    known: KnownProgram,
    call: Call,
    replies: ReplyStore,
    connections: Connections,
    *,
    sink: str | None,
    limit: int,
    offset: int,
) -> Rows:
    """Rows `offset` to `offset + limit` of a call. Problem 409 while it has none, 404 if it never will. Blocks."""
    _finished(call)
    unit = known.program.unit(call.unit)
    if sink is None and (element := _reply(unit)) is not None:
        rows = _kept(call, replies.find(call.id, call.ended) or load_reply(connections, call.id))
        return Rows(element.names, rows[offset : offset + limit], len(rows), None)
    stored = known.program.sink(_sink(unit, call, sink))
    if why := unreadable(stored.connector):
        raise Problem(404, "GHCM-328", f'what is in sink "{stored.name}" cannot be read back', detail=why)
    columns, written = stored.columns, call.feedback.sinks.get(stored.name)
    if written is None:
        return Rows(columns.names, [], 0, stored.name)
    page = rows_of_call(stored, connections, call=call.id, version=written.version, limit=limit, offset=offset)
    return Rows(columns.names, [to_json(tuple(row), columns) for row in page.rows], page.total, stored.name)


def snapshot_of(
    known: KnownProgram, call: Call, replies: ReplyStore, connections: Connections, sink: str | None
) -> SinkSnapshot:
    """The rows of a call as a snapshot of a sink, as far as one keeps them. Problems as of `rows_of`. Blocks."""
    found = rows_of(known, call, replies, connections, sink=sink, limit=MOST_ROWS, offset=0)
    unit = known.program.unit(call.unit)
    element = _reply(unit) if found.sink is None else known.program.sink(found.sink).columns
    assert element is not None
    read = reader(element)
    rows = [cast("tuple[object, ...]", read(row)) for row in found.rows]
    frame = frame_of(rows, [(field.name, field.type) for field in element.fields])
    return SinkSnapshot(element, frame, call.id, call.feedback.as_of, found.total)


async def result(
    known: KnownProgram, call: Call, replies: ReplyStore, connections: Connections, limit: int
) -> list[Json] | None:
    """The reply of a call that is done, for who has waited for it; None where it has none or it is long."""
    if call.state is not CallState.DONE or _reply(known.program.unit(call.unit)) is None:
        return None
    rows = _kept(call, replies.find(call.id, call.ended) or await _fetched(connections, call.id))
    return rows if len(rows) <= limit else None


async def _fetched(connections: Connections, call: str) -> str | None:
    """As `load_reply`, for an event loop."""
    import redis

    try:
        return stored_text(await connections.async_redis().get(reply_key(call)))
    except redis.RedisError:
        return await asyncio.to_thread(load_reply, connections, call)  # which bears a restart of the server


def wants_csv(request: Request, format: str | None) -> bool:
    """Whether rows are asked for as CSV, by the word `format` or else by `Accept`."""
    return format == "csv" or (format is None and "text/csv" in request.headers.get("accept", ""))


def as_csv(columns: Sequence[str], rows: Sequence[Any]) -> str:
    """RFC 4180 with a header line; null is an empty field, what is nested is JSON text. A text that a spreadsheet would
    take for a formula has an apostrophe before it.

    >>> as_csv(["item", "change"], [{"item": "=1+1", "change": "-1.5"}])
    "item,change\\r\\n'=1+1,-1.5\\r\\n"
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([inert(name) for name in columns])
    for row in rows:
        parts = cast("dict[str, object]", row) if isinstance(row, dict) else dict.fromkeys(columns, row)
        writer.writerow([inert(cell(parts[name])) for name in columns])
    return text.getvalue()


def csv_answer(text: str, name: str, headers: Mapping[str, str]) -> Response:
    """A file in CSV of this name."""
    file = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return PlainTextResponse(text, headers={**headers, **file}, media_type="text/csv")


def _finished(call: Call) -> None:
    if not call.final:
        message = f'call "{call.id}" has no data yet: it is {call.state.value}'
        hint = 'ask for the call with "?wait=10", and for its data when it is done.'
        raise Problem(409, "GHCM-326", message, hint=hint)
    if call.state is not CallState.DONE:
        error, message = call.feedback.error, f'call "{call.id}" has no data: it is {call.state.value}'
        raise Problem(404, "GHCM-327", message, detail=error.message if error else "")


def _reply(unit: Unit) -> Struct | None:
    return next((task.schema for task in unit.tasks if isinstance(task.op, Reply)), None)


def _sink(unit: Unit, call: Call, wanted: str | None) -> str:
    written = sorted({task.op.sink for task in unit.tasks if isinstance(task.op, To)})
    if wanted in written:
        return wanted
    if wanted is not None:
        message = f'call "{call.id}" has not written the sink "{wanted}"'
        raise Problem(404, "GHCM-328", message, hint=suggest(wanted, written))
    if len(written) == 1:
        return written[0]
    if not written:
        hint = 'how it went is said by the call itself, without "/data".'
        raise Problem(404, "GHCM-328", f'unit "{unit.name}" gives no data', hint=hint)
    message = f'unit "{unit.name}" writes {listed(written)}: say which'
    raise Problem(400, "GHCM-328", message, hint=f"add ?sink={written[0]} to the path.")


def _kept(call: Call, text: str | None) -> list[Json]:
    if text is None:
        detail, hint = "[keep] answers says how long replies stay.", "call again, or have the unit write to a sink."
        raise Problem(404, "GHCM-329", f'the reply of call "{call.id}" is gone', detail=detail, hint=hint)
    return reply_rows(text)
