"""`ghcm call`: call a responsive unit through the Supervisor."""

import json as json_text
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, islice
from typing import Annotated, Any, cast
from urllib.parse import quote, urlencode

import typer

from ghcm.cli import terminal
from ghcm.cli.failure import FAILED
from ghcm.cli.server import Server, server_of
from ghcm.cli.terminal import Csv, Json, State
from ghcm.errors import GhcmError, suggest

Unit = Annotated[str, typer.Argument(metavar="PROGRAM.UNIT", help="The unit to call.")]
Arguments = Annotated[
    list[str] | None, typer.Argument(metavar="NAME=VALUE", help="Its parameters, or one JSON object with them.")
]
Wait = Annotated[bool, typer.Option("--wait", "-w", help="Wait for the answer and print it.")]
Deadline = Annotated[float | None, typer.Option("--deadline", metavar="SECONDS", help="When the call expires.")]
Id = Annotated[
    str | None,
    typer.Option("--id", metavar="ID", help="A name of your own for the call; the same name is the same call."),
]

Engine = Annotated[
    str | None,
    typer.Option("--engine", metavar="NAME", help="Who runs a batch unit, native or spark, if it runs on both."),
]

At = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", help="A server elsewhere; GHCM_SERVER and GHCM_TOKEN are looked at, too."),
]

_ROUND = 30
_SHOWN = 1000


def call(  # noqa: PLR0913, PLR0917 - the options of a call, by name
    unit: Unit,
    arguments: Arguments = None,
    wait: Wait = False,
    deadline: Deadline = None,
    id: Id = None,
    engine: Engine = None,
    server: At = None,
    csv: Csv = False,
    state: State = None,
    json: Json = False,
) -> None:
    """Call a responsive unit."""
    terminal.one_form(json=json, csv=csv)
    program, dot, name = unit.partition(".")
    if not dot or not name:
        raise GhcmError(f'"{unit}" names no unit', code="GHCM-605", hint="write PROGRAM.UNIT, as in traffic.rebuild")
    asked = server_of(server, state)
    parameters = _parameters(asked, program, name, arguments or [])
    words = {"deadline": deadline, "engine": engine, "wait": _ROUND if wait else None}
    query = urlencode({key: value for key, value in words.items() if value is not None})
    calls = f"/programs/{quote(program)}/units/{quote(name)}/calls"
    headers = {} if id is None else {"Idempotency-Key": id}
    call = asked.ask(f"{calls}?{query}", parameters, method="POST", timeout=_ROUND + 30, headers=headers)
    here = cast("dict[str, str]", call["links"])["self"]
    while wait and call["state"] in ("accepted", "running"):
        terminal.note(f"{call['state']}, {call['progress']:.0%} {call['detail']}".rstrip())
        call = _awaited(asked, here)
    _print(asked, call, here, wait=wait, csv=csv, json=json)
    if call["state"] in ("failed", "expired", "cancelled"):
        raise typer.Exit(FAILED)


def _awaited(server: Server, here: str) -> dict[str, Any]:
    """The call after a while; GhcmError that says where its answer will be, if the server has gone meanwhile."""
    try:
        return server.ask(f"{here}?wait={_ROUND}", timeout=_ROUND + 30)
    except GhcmError as error:
        if error.code != "GHCM-727":
            raise
        hint = f"the call is kept, and goes on when the daemon runs again: its answer will be at {here}."
        raise GhcmError(error.message, code=error.code, detail=error.detail, hint=hint) from None


def _print(server: Server, call: dict[str, Any], here: str, *, wait: bool, csv: bool, json: bool) -> None:
    rows = _rows(server, call, here) if wait and call["state"] == "done" else None
    if json:
        terminal.json_line(call if rows is None else call | {"data": list(rows)})
        return
    match call["state"]:
        case "done" if wait:
            if rows is None:
                written = [(name, f"{sink['rows']:,}") for name, sink in sorted(call["sinks"].items())]
                terminal.table(("sink", "rows"), written, "no rows")
            else:
                _print_rows(rows, csv)
            if call["dead"]:
                _warn_of_dead(call)
            begin, end = (datetime.fromisoformat(call[name]) for name in ("accepted", "ended"))
            terminal.note(f"done in {(end - begin).total_seconds():.3f} s, {call['engine']}")
        case "failed":
            terminal.error(GhcmError.of(call["error"]))
        case state:
            terminal.say(f"{call['id']}: {state}")
            if call["error"] is not None:
                terminal.error(GhcmError.of(call["error"]))


def _warn_of_dead(call: dict[str, Any]) -> None:
    """Say that records have failed, and where they are."""
    from ghcm.cli.run_report import counted

    failed = f"{counted(call['dead'], 'record')} failed (ghcm dead {call['program']} --unit {call['unit']})"
    terminal.warn(f"warning: {failed}" if call["rows"] else f"warning: there are no rows, and {failed}")


def _rows(server: Server, call: dict[str, Any], here: str) -> Iterator[Any] | None:
    """All rows of a call that is done; None where it wrote several sinks, or one that cannot be read back."""
    if call["data"] is not None:
        return iter(cast("list[Any]", call["data"]))
    try:
        page = server.ask(f"{here}/data", timeout=60)
    except GhcmError as problem:
        if problem.code != "GHCM-328":
            raise
        return None
    return _pages(server, here, page)


def _pages(server: Server, here: str, page: dict[str, Any]) -> Iterator[Any]:
    """The rows of a page and of those behind it."""
    offset = 0
    while page["rows"]:
        yield from page["rows"]
        offset += len(page["rows"])
        if offset >= page["total"]:
            return
        page = server.ask(f"{here}/data?offset={offset}", timeout=60)


def _print_rows(rows: Iterator[Any], csv: bool) -> None:
    """As CSV all of them, as a table the first thousand."""
    shaped = (cast("dict[str, Any]", row) if isinstance(row, dict) else {"value": row} for row in rows)
    shown = shaped if csv else islice(shaped, _SHOWN)
    first = list(islice(shown, 1))
    terminal.rows(list(first[0]) if first else (), chain(first, shown), "no rows", json=False, csv=csv)
    if not csv and next(shaped, None) is not None:
        terminal.note(f"these are the first {_SHOWN}: --json and --csv give all")


def _parameters(server: Server, program: str, unit: str, arguments: list[str]) -> dict[str, object]:
    """The parameters as JSON; the unit's types say what is text, so that `word=1984` can be one."""
    if len(arguments) == 1 and arguments[0].lstrip().startswith("{"):
        try:
            return cast("dict[str, object]", json_text.loads(arguments[0]))
        except ValueError as error:
            raise GhcmError("the parameters are no JSON object", code="GHCM-622", detail=f"{error}.") from None
    types = _types(server, program, unit)
    found: dict[str, object] = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if not equals:
            hint = "write NAME=VALUE, or all of them as one JSON object."
            raise GhcmError(f'"{argument}" is no parameter', code="GHCM-622", hint=hint)
        if types and name not in types:
            message = f'unit "{unit}" has no parameter "{name}"'
            known = ", ".join(f'"{each}"' for each in types)
            raise GhcmError(message, code="GHCM-622", detail=f"It has {known}.", hint=suggest(name, types))
        found[name] = text if types.get(name, {}).get("type") == "string" else _value(text)
    return found


def _value(text: str) -> object:
    try:
        return json_text.loads(text)
    except ValueError:
        return text


def _types(server: Server, program: str, unit: str) -> dict[str, dict[str, object]]:
    """The schemas of the parameters; empty where there is no such unit, which the call itself will say."""
    try:
        document = server.ask(f"/programs/{quote(program)}", timeout=10)
    except GhcmError:
        return {}
    known: dict[str, dict[str, dict[str, object]]] = {each["name"]: each["parameters"] for each in document["units"]}
    return known.get(unit, {})
