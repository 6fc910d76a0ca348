"""`ghcm stop`: end a job after a last commit, or the daemon itself."""

from __future__ import annotations

from typing import Annotated

import typer

from ghcm.cli import daemon, terminal
from ghcm.cli.options import Json, State
from ghcm.errors import GhcmError

__all__ = ["command"]

Jobs = Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Jobs or programs.")]
Daemon = Annotated[bool, typer.Option("--daemon", help="End the daemon; its next start goes on with its jobs.")]


def command(jobs: Jobs = None, the_daemon: Daemon = False, state: State = None, json: Json = False) -> None:
    """End jobs, or the daemon."""
    if not jobs and not the_daemon:
        raise GhcmError(
            "nothing is named that should end", code="GHCM-605", hint="name jobs (ghcm ps lists them), or say --daemon."
        )
    control = daemon.control(state)
    for name in jobs or ():
        job = control.ask("stop", job=name)["job"]
        if json:
            terminal.json_line(job)
        else:
            terminal.say(f"{name}: stopped")
    if the_daemon:
        control.ask("shutdown")
        if json:
            terminal.json_line({"daemon": "stopping"})
        else:
            terminal.say("daemon: stopping")
