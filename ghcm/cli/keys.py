"""`ghcm key`: keys that bundles are signed with."""

from pathlib import Path
from typing import Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.terminal import Json

Name = Annotated[Path, typer.Argument(metavar="NAME", help="Makes NAME.key, which signs, and NAME.pub.")]


def create(name: Name, json: Json = False) -> None:
    """Make a key: one file signs bundles, and the other is for daemons that trust them."""
    from ghcm.signing import create_key

    private, public = create_key(name)
    terminal.answer({"key": str(private), "public": str(public)}, f"{private}: signs, keep it secret", json=json)
    if not json:
        terminal.say(f"{public}: for ghcm supervise --trusted")
