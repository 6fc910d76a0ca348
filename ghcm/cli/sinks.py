"""Commands on what a program has written: `ghcm sinks` and `read`.

Sinks are asked what every kind of them answers; which kind one is makes no difference here.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ghcm.cli import terminal
from ghcm.cli.terminal import Csv, Json, State
from ghcm.errors import GhcmError, listed, suggest

if TYPE_CHECKING:
    from ghcm.runtime.data.columns import Row
    from ghcm.runtime.pubsub.connections import Connections
    from ghcm.spg.graph import Sink

KNOWN = "A program that has run here, or its file or bundle."
Named = Annotated[str, typer.Argument(metavar="PROGRAM", help=KNOWN)]
SinkName = Annotated[str, typer.Argument(metavar="SINK", help="One of its sinks.")]
Where = Annotated[
    str | None, typer.Option("--where", metavar="CONDITION", help='On its columns, as in "bytes > 100 and dst != src".')
]
At = Annotated[str | None, typer.Option("--at", metavar="VERSION", help="The rows as of that version.")]
Limit = Annotated[int | None, typer.Option("--limit", "-n", min=1, help="So many rows; a table has 1000 by default.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is committed, until Ctrl-C.")]

_SHOWN = 1000
"""Rows of a table, where nothing else is said."""


def sinks(program: Named, state: State = None, json: Json = False) -> None:
    """List the sinks of a program: where they are, their rows and their latest commit."""
    from ghcm.cli.known import known

    found, connections = known(program, state)
    described = [_described(sink, connections) for sink in found.sinks]
    if json:
        terminal.json_line({"program": found.name, "sinks": described})
    else:
        names = ("sink", "where", "mode", "rows", "version", "committed")
        terminal.rows(names, described, "no sinks", json=False, csv=False)


def _described(sink: Sink, connections: Connections) -> dict[str, object]:
    from ghcm.cli.run_report import where
    from ghcm.runtime.sinks.sink import is_readable, read, view
    from ghcm.spg.connectors import Mode
    from ghcm.values.timestamps import timestamp_text

    said: dict[str, object] = {"sink": sink.name, "where": where(sink), "mode": sink.mode.value}
    if is_readable(sink):
        latest = view(sink, connections).latest()
        # A commit of rows that are kept by key tells how many it wrote, not how many there are.
        whole = None if sink.mode is Mode.UPSERT else latest
        said["rows"] = whole.rows if whole else sum(1 for _ in read(sink, connections))
        said |= {"version": latest and latest.version, "committed": latest and timestamp_text(latest.time)}
    return said


def read(  # noqa: PLR0913, PLR0917 - the options of a look, by name
    program: Named,
    sink: SinkName,
    where: Where = None,
    at: At = None,
    limit: Limit = None,
    follow: Follow = False,
    csv: Csv = False,
    state: State = None,
    json: Json = False,
) -> None:
    """Print the rows of a sink.

    With --follow also those that come, as lines: of what is appended the new ones, else those that have changed.
    """
    from ghcm.cli.known import known
    from ghcm.runtime.sinks.sink import latest_version
    from ghcm.runtime.sinks.sink import read as rows_in
    from ghcm.values import own_writer

    if follow and at is not None:
        raise GhcmError("a version that is there does not change", code="GHCM-605", hint="say --follow or --at.")
    looked_at, connections = known(program, state)
    there = {each.name: each for each in looked_at.sinks}
    if (found := there.get(sink)) is None:
        message = f'program "{looked_at.name}" has no sink "{sink}"'
        raise GhcmError(message, code="GHCM-341", detail=f"It has {listed(there)}.", hint=suggest(sink, there))
    holds, names = _condition(where, found), found.columns.names
    write = cast("Callable[[Row], Mapping[str, object]]", own_writer(found.columns))
    portions = _followed(found, connections) if follow else [rows_in(found, connections, version=at)]
    rows = (write(row) for portion in portions for row in portion if holds(row))
    json = json or (follow and not csv)
    most = limit or (sys.maxsize if json or csv else _SHOWN)
    terminal.rows(names, islice(rows, most), "no rows", json=json, csv=csv)
    if most == _SHOWN and limit is None and next(rows, None):
        terminal.note(f"these are the first {_SHOWN}: --limit, --where, --json and --csv give others")
    if latest_version(found, connections) is None:
        terminal.note(f'no unit has committed to "{sink}" yet')


def _condition(written: str | None, sink: Sink) -> Callable[[Row], bool]:
    """Whether a row is asked for."""
    if written is None:
        return lambda _: True
    from ghcm.lowering import lower_condition
    from ghcm.source import Source
    from ghcm.spg.reference.expressions import evaluate
    from ghcm.spg.reference.functions import Failed

    body, names = lower_condition(Source("--where", written), sink.columns), sink.columns.names

    def holds(row: Row) -> bool:
        try:
            return evaluate(body, dict(zip(names, row, strict=True)), {}) is True
        except Failed as failed:
            hint = 'the condition may say "try(...)" for what fails.'
            raise GhcmError("the condition fails for a row", code="GHCM-340", detail=failed.detail, hint=hint) from None

    return holds


_LOOK_SECONDS = 0.25


def _followed(sink: Sink, connections: Connections) -> Iterator[Iterable[Row]]:
    """What is there, and then what each commit adds or changes, without end."""
    from ghcm.runtime.sinks.sink import read, rows_of_call, view
    from ghcm.spg.connectors import Mode
    from ghcm.values import compact, own_writer

    watched, write = view(sink, connections), own_writer(sink.columns)
    seen, before = set[str](), set[str]()
    while True:
        new = [each.version for each in watched.commits() if each.version not in seen]
        if new and sink.mode is not Mode.APPEND:
            rows = [(compact(write(row)), row) for row in read(sink, connections)]
            yield [row for text, row in rows if text not in before]
            before = {text for text, _ in rows}
        elif new and not seen:
            yield read(sink, connections, version=new[-1])
        else:
            for each in new:
                yield rows_of_call(sink, connections, call=each, version=each, limit=sys.maxsize).rows
        seen.update(new)
        time.sleep(_LOOK_SECONDS)
