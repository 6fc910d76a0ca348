"""`ghcm submit`: hand a program or bundle to the daemon."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ghcm.cli import changes, daemon, terminal
from ghcm.cli.failure import failed_job
from ghcm.cli.options import Beside, Directory, Json, Runnable, State
from ghcm.errors import GhcmError

Wait = Annotated[bool, typer.Option("--wait", help="Return when the job runs, or has failed.")]


Resume = Annotated[bool, typer.Option("--resume", help="Go on where the program's last job ended.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Read everything again, whatever earlier jobs have appended.")]


def command(
    program: Runnable,
    directory: Directory = Path(),
    wait: Wait = False,
    resume: Resume = False,
    fresh: Fresh = False,
    beside: Beside = False,
    state: State = None,
    json: Json = False,
) -> None:
    """Hand a program to the daemon, or a change of it.

    A program that runs already becomes what is submitted, where that needs no stop.
    """
    if resume and fresh:
        raise GhcmError("a job cannot both be resumed and begin anew", code="GHCM-605", hint="say --resume or --fresh.")
    again = "resume" if resume else "fresh" if fresh else "unsaid"
    control = daemon.control(state)
    with tempfile.TemporaryDirectory(prefix="ghcm-") as folder:
        bundle = program if is_bundle(program) else _build(program, Path(folder))
        places = {"bundle": str(bundle.absolute()), "base": str(directory.absolute())}
        answer = control.ask("submit", again=again, beside=beside, **places)
    job = cast("dict[str, Any]", answer["job"])
    if wait:
        job = _await_running(control, job)
    upgrade = cast("dict[str, Any] | None", answer.get("growth"))
    if json:
        terminal.json_line(job if upgrade is None else {**job, "growth": upgrade})
        return
    terminal.say(f"{job['id']}: {job['state']}" + (f", version {job['version']}" if upgrade else ""))
    if upgrade:
        changes.show(upgrade)


def is_bundle(path: Path) -> bool:
    """Whether the path is a bundle, a file or a folder, and no program."""
    return path.suffix == ".ghcm" or (path / "manifest.json").is_file()


def _build(program: Path, folder: Path) -> Path:
    from ghcm import driver

    with terminal.steps(len(driver.BUILD)) as step:
        return driver.build(program, folder / f"{program.stem}.ghcm", step)


def _await_running(control: Any, job: dict[str, Any]) -> dict[str, Any]:
    for event in control.stream("watch"):
        listed = event.get("jobs", [event["job"]] if event.get("event") == "job" else [])
        for each in listed:
            if each["id"] == job["id"]:
                job = each
        if job["state"] == "failed":
            raise failed_job(job, f"ghcm logs {job['id']} shows what it said.")
        if job["state"] in ("running", "done", "stopped"):
            break
    return job
