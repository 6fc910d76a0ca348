"""`ghcm token`: what lets callers in over HTTP."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.terminal import Json, State
from ghcm.errors import GhcmError

if TYPE_CHECKING:
    from ghcm.runtime.access.tokens import Token, TokenFile

Name = Annotated[str, typer.Argument(metavar="NAME", help="Who is to have it, as lists and the audit log show it.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a token; ghcm token list shows it.")]
Scopes = Annotated[
    str,
    typer.Option("--scope", metavar="SCOPES", help="call:PROGRAM/UNIT,read:PROGRAM,cancel:* and so on, with commas."),
]
Days = Annotated[int, typer.Option("--days", min=1, max=3650, help="How long it is valid.")]


def create(name: Name, scope: Scopes, days: Days = 90, state: State = None, json: Json = False) -> None:
    """Make a token and print it, once: only its hash is kept."""
    from ghcm.runtime.access.scopes import parse_scopes

    if not name.isprintable() or not 0 < len(name) <= 100:
        raise GhcmError(f"{name!r} is no name for a token", code="GHCM-605", hint="take up to 100 printed characters.")
    token, text = _tokens(state).create(name, parse_scopes(scope), days * 24 * 3600)
    terminal.answer({**_document(token), "token": text}, text, json=json)
    terminal.note(f"{token.id}: valid until {_time(token.expires)}; it is shown this once")


def list(state: State = None, json: Json = False) -> None:
    """List tokens: who has them, what they may do, until when."""
    found = [_document(token) for token in _tokens(state).all().values()]
    if json:
        terminal.json_line({"tokens": found})
        return
    from ghcm.values import cell

    columns = ("id", "name", "state", "expires", "scopes")
    lines = [[cell(each[name]) for name in columns] for each in found]
    terminal.table(columns, lines, "no tokens")


def revoke(id: Id, state: State = None, json: Json = False) -> None:
    """End a token at once."""
    token = _tokens(state).revoke(id)
    terminal.answer(_document(token), f"{token.id}: revoked", json=json)


def _tokens(state: Path | None) -> TokenFile:
    from ghcm.runtime.access.tokens import TokenFile
    from ghcm.runtime.settings import load_settings

    settings = load_settings({"state": state})
    return TokenFile(settings.tokens_at(settings.state))


def _document(token: Token) -> dict[str, object]:
    times = {"created": _time(token.created), "expires": _time(token.expires)}
    about = {"id": token.id, "name": token.name, "state": token.state(time.time())}
    return {**about, **times, "scopes": [str(scope) for scope in token.scopes]}


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
