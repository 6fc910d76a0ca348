"""`ghcm stop`: end a job after a last commit, or the daemon itself."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ghcm.cli import daemon, terminal
from ghcm.cli.options import Json, State
from ghcm.errors import GhcmError

Jobs = Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Jobs or programs.")]
Daemon = Annotated[bool, typer.Option("--daemon", help="End the daemon; its next start goes on with its jobs.")]
Grace = Annotated[
    float | None,
    typer.Option(
        "--grace",
        metavar="SECONDS",
        min=0,
        help="How long calls that were accepted may take; 30 seconds, or what [limits] grace says.",
        show_default=False,
    ),
]


def command(
    jobs: Jobs = None, the_daemon: Daemon = False, grace: Grace = None, state: State = None, json: Json = False
) -> None:
    """End jobs, or the daemon."""
    if not jobs and not the_daemon:
        raise GhcmError(
            "nothing is named that should end", code="GHCM-605", hint="name jobs (ghcm ps lists them), or say --daemon."
        )
    control = daemon.control(state)
    for name in jobs or ():
        for answer in control.stream("stop", job=name, grace=grace):
            _show(name, answer, json=json)
    if the_daemon:
        control.ask("shutdown")
        if json:
            terminal.json_line({"daemon": "stopping"})
        else:
            terminal.say("daemon: stopping")


def _show(name: str, answer: dict[str, Any], *, json: bool) -> None:
    if "waiting" in answer:
        terminal.note(f"{name}: waiting up to {answer['grace']:g} s for {_calls(answer['waiting'])}")
        return
    job, calls = answer["job"], answer["calls"]
    if json:
        terminal.json_line({**job, "calls": calls})
        return
    terminal.say(f"{name}: {job['state']}")
    if calls["kept"]:
        terminal.note(f"{name}: {_calls(calls['kept'])} of its own did not end; ghcm submit --resume runs them")
    if calls["answered"]:
        terminal.note(f"{name}: {_calls(calls['answered'])} from outside did not end and failed with GHCM-748")


def _calls(count: int) -> str:
    return f"{count} call{'s' if count != 1 else ''}"
