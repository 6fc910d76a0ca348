"""`ghcm logs`: what a process has printed."""

from __future__ import annotations

from typing import Annotated

import typer

from ghcm.cli import daemon, terminal
from ghcm.cli.options import Json, State

Name = Annotated[str, typer.Argument(metavar="NAME", help="A job, a program, or http, spark, redis.")]
Lines = Annotated[int, typer.Option("--lines", "-n", min=0, help="How many of the last lines.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is added, until Ctrl-C.")]


def command(name: Name, lines: Lines = 100, follow: Follow = False, state: State = None, json: Json = False) -> None:
    """Print the log of a job or a process."""
    for answer in daemon.control(state).stream("logs", name=name, lines=lines, follow=follow):
        if json:
            terminal.json_line(answer)
        else:
            terminal.say(str(answer.get("line", "")))
