"""`ghcm run`: everything on this machine: a private daemon, the program submitted to it, its results as they come."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ghcm.cli import terminal
from ghcm.cli.failure import failed_job, hearing_sigterm
from ghcm.cli.jobs import Fresh, Resume, note_left, note_waiting, said_again
from ghcm.cli.programs import bundled, is_bundle
from ghcm.cli.terminal import (
    Beside,
    Certificate,
    Directory,
    Engine,
    Json,
    Key,
    Parallelism,
    Profile,
    Redis,
    Runnable,
    State,
    Without,
    fetched,
)
from ghcm.errors import GhcmError

if TYPE_CHECKING:
    from ghcm.cli.private import Events, PrivateDaemon
    from ghcm.cli.run_report import Report


Keep = Annotated[bool, typer.Option("--keep", help="Go on serving calls when all inputs are read, until Ctrl-C.")]
Port = Annotated[int | None, typer.Option("--port", "-p", min=0, max=65535, help="Where HTTP listens; any free port.")]
Strict = Annotated[bool, typer.Option("--strict", help="End with 1 if any record has failed.")]

_LOOK_SECONDS = 0.25


def run(  # noqa: PLR0913, PLR0917 - the options of a run, by name
    program: Runnable,
    directory: Directory = Path(),
    keep: Keep = False,
    port: Port = None,
    certificate: Certificate = None,
    key: Key = None,
    redis: Redis = None,
    profile: Profile = None,
    strict: Strict = False,
    resume: Resume = False,
    fresh: Fresh = False,
    beside: Beside = False,
    engine: Engine = None,
    parallelism: Parallelism = None,
    without: Without = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Run a program here until its inputs are read.

    Until Ctrl-C where they have no end, or where it has only responsive units: these wait for calls.

    Ctrl-C or SIGTERM stops it in order, a second one at once; --resume goes on where a run ended.

    Ends with 0 when all is read and written, even where records have failed (they are dead letters); with 1 when a part
    of it or a call has failed.
    """
    from ghcm.cli.private import Events, RunStates, private_daemon
    from ghcm.cli.run_report import Report
    from ghcm.runtime.daemon.locks import claim
    from ghcm.runtime.daemon.resubmission import Again
    from ghcm.runtime.daemon.state import StateDirectory
    from ghcm.runtime.settings import load_settings

    again = Again(said_again(resume=resume, fresh=fresh))
    http = {"port": 0 if port is None else port, "certificate": certificate, "key": key}
    settings = load_settings({"redis": redis, "profile": profile, "http": http}).served()
    path = fetched(program)
    if not path.exists():
        _missing(path)
    name = re.sub(r"\W+", "_", path.stem) or "program"
    own = None if state is None else StateDirectory(state)
    own, lock = (own, claim(own)) if own else RunStates(settings.state / "runs", name, directory, settings).claim(again)
    # The processes start while the program is compiled: they need nothing of it yet.
    os.environ.setdefault("GHCM_ACCESS_TOKENS", str(settings.tokens_at(settings.state).absolute()))
    host, listened = settings.http.host, settings.http.port
    with hearing_sigterm(), private_daemon(own, settings.redis, host, listened, claimed=lock) as daemon:
        bundle = bundled(path, own.path, engine, parallelism, without)
        report = Report(bundle, own, directory.absolute(), settings.sql, json=json)
        if not report.program.units:
            hint = 'write a unit, stream NAME { ... } or batch NAME { ... }; "ghcm init" writes a first program.'
            raise GhcmError(f'program "{report.program.name}" has no units to run', code="GHCM-611", hint=hint)
        report.begin(daemon.status(), settings.standing)
        events = Events(daemon.control, _LOOK_SECONDS)
        paths = {"bundle": str(bundle.absolute()), "base": str(directory.absolute())}
        answer = daemon.control.ask("submit", again=again.value, beside=beside, **paths)
        job = str(cast("dict[str, Any]", answer["job"])["id"])
        report.prepare()
        _until_done(job, events, report, daemon, serves=keep or report.endless, strict=strict)


def _until_done(job: str, events: Events, report: Report, daemon: PrivateDaemon, *, serves: bool, strict: bool) -> None:
    """Show what happens and then how it ended. What serves is ended by Ctrl-C; anything else is interrupted by it."""
    try:
        _follow(job, events, report, daemon, serves)
    except KeyboardInterrupt:
        in_order = _stop(report.program.name, job, daemon, waits=serves)
        report.look()
        if not (serves and in_order):
            report.so_far()
            terminal.note("ghcm run --resume goes on where this ended")
            raise
    report.end(daemon.control, strict=strict)


def _stop(name: str, job: str, daemon: PrivateDaemon, *, waits: bool) -> bool:
    """End the job, so that what is shown then is what there is: in order, where it `waits` for calls that it has
    accepted, or at once on Ctrl-C; whether it was in order.
    """
    terminal.note("stopping; Ctrl-C ends it at once")
    try:
        with suppress(GhcmError):  # it has ended by itself meanwhile
            for answer in daemon.control.stream("stop", job=job, **({} if waits else {"grace": 0})):
                if "calls" in answer:
                    note_left(name, cast("dict[str, int]", answer["calls"]), "run")
                elif waits:
                    note_waiting(name, answer)
    except KeyboardInterrupt:
        daemon.hurry()
        return False
    return True


def _follow(job: str, events: Events, report: Report, daemon: PrivateDaemon, serves: bool) -> None:
    """Show what happens until the job is complete; for ever if it serves. GhcmError if it fails."""
    for event in events:
        found: Any = event.get("job")
        match event.get("event"):
            case "job" if found["id"] == job and found["state"] == "failed":
                report.look()
                report.so_far()
                raise failed_job(found, f"the logs are in {report.logs}.")
            case "job.complete" if found == job:
                daemon.state.complete.touch()
                report.look()
                if not serves:
                    return
                report.complete()
            case "gone":
                raise GhcmError("the daemon has ended", code="GHCM-728", hint="see its log in the state directory.")
            case "tick" | "job.commit":
                report.look()
                report.far(daemon.control)
            case _:
                report.heard(event)


def _missing(program: Path) -> None:
    from ghcm import driver
    from ghcm.runtime.bundle import Bundle

    if is_bundle(program):
        Bundle.open(program)
    driver.check(program)  # says what is missing, and what there is
