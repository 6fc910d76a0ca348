"""`ghcm ps`: the jobs and processes of the daemon."""

from __future__ import annotations

import time
from typing import Annotated, Any, cast

import typer

from ghcm.cli import daemon, terminal
from ghcm.cli.options import Json, State

All = Annotated[bool, typer.Option("--all", "-a", help="Show jobs that are over too.")]


def command(all: All = False, state: State = None, json: Json = False) -> None:
    """List jobs and processes."""
    control = daemon.control(state)
    status = control.ask("status")
    listed = cast("list[dict[str, Any]]", control.ask("list")["jobs"])
    jobs = [job for job in listed if all or job["state"] not in ("done", "failed", "stopped")]
    if json:
        terminal.json_line({**status, "jobs": jobs})
        return
    columns = ("job", "program", "version", "state", "for", "restarts", "reason")
    terminal.table(columns, [_line(job) for job in jobs], "no jobs")
    processes = cast("list[dict[str, Any]]", status["processes"])
    terminal.say("")
    lines = [(each["name"], str(each["pid"] or "-"), each["state"], str(each["restarts"])) for each in processes]
    terminal.table(("process", "id", "state", "restarts"), lines, "no processes")
    terminal.note(f"\ndaemon {status['pid']}, {status['url']}/docs")


def _line(job: dict[str, Any]) -> tuple[str, ...]:
    numbers = (str(job["version"]), str(job["restarts"]))
    return (job["id"], job["program"], numbers[0], job["state"], _since(job), numbers[1], job["reason"])


def _since(job: dict[str, Any]) -> str:
    begin = job["started"] or job["submitted"]
    end = job["ended"] or time.time_ns() // 1000
    seconds = max(0, (end - begin) // 1_000_000)
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"
