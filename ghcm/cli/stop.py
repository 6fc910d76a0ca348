"""`ghcm stop`: end a job after a last commit, or the daemon itself."""

from __future__ import annotations

from typing import Annotated

import typer

from ghcm.cli import daemon, terminal
from ghcm.cli.failure import WRONG
from ghcm.cli.options import Json, State

__all__ = ["command"]

Jobs = Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Jobs or programs.")]
Daemon = Annotated[bool, typer.Option("--daemon", help="End the daemon; its next start goes on with its jobs.")]


def command(jobs: Jobs = None, the_daemon: Daemon = False, state: State = None, json: Json = False) -> None:
    """End jobs, or the daemon."""
    if not jobs and not the_daemon:
        terminal.note("say which jobs to end, or --daemon; ghcm ps lists them")
        raise typer.Exit(WRONG)
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
