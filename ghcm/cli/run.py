"""`ghcm run`: everything on this machine: a private daemon, the program submitted to it, its results as they come."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ghcm.cli import terminal
from ghcm.cli.options import Directory, Json, Runnable, State
from ghcm.errors import GhcmError

__all__ = ["command"]

Keep = Annotated[bool, typer.Option("--keep", help="Go on serving calls when all inputs are read, until Ctrl-C.")]
Port = Annotated[int | None, typer.Option("--port", "-p", min=0, max=65535, help="Where HTTP listens; any free port.")]
Redis = Annotated[str | None, typer.Option("--redis", metavar="URL", help='A Redis, or "embedded" for a private one.')]

_LOOK_SECONDS = 0.25


def command(
    program: Runnable,
    directory: Directory = Path(),
    keep: Keep = False,
    port: Port = None,
    redis: Redis = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Run a program here until its inputs are read."""
    from ghcm.cli.private import free_state, private_daemon
    from ghcm.cli.run_report import Report
    from ghcm.runtime.daemon.state import StateDirectory
    from ghcm.runtime.settings import load_settings

    settings = load_settings({"redis": redis, "http": {"port": 0 if port is None else port}})
    if not program.exists():
        _missing(program)
    name = re.sub(r"\W+", "_", program.stem) or "program"
    own = free_state(settings.state / "runs", name) if state is None else StateDirectory(state)
    # The processes start while the program is compiled: they need nothing of it yet.
    with private_daemon(own, settings.redis, settings.http.host, settings.http.port) as daemon:
        bundle = _bundle(program, own)
        report = Report(bundle, own, directory.absolute(), json=json)
        report.begin(daemon.status(), embedded=settings.embedded)
        events = _events(daemon.control)
        answer = daemon.control.ask("submit", bundle=str(bundle.absolute()), base=str(directory.absolute()))
        job = str(cast("dict[str, Any]", answer["job"])["id"])
        serves = keep or report.endless
        try:
            _follow(job, events, report, serves)
        except KeyboardInterrupt:
            report.look()
            if not serves:
                raise
        report.end(daemon.control)


def _follow(job: str, events: queue.Queue[dict[str, Any]], report: Any, serves: bool) -> None:
    """Show what happens until the job is complete; for ever if it serves. GhcmError if it fails."""
    for event in _ticking(events):
        match event.get("event"):
            case "job" if event["job"]["id"] == job and event["job"]["state"] == "failed":
                raise GhcmError(f'job "{job}" has failed', code="GHCM-745", detail=_sentence(event["job"]["reason"]))
            case "job.complete" if event["job"] == job:
                report.look()
                if not serves:
                    return
                report.complete()
            case "gone":
                raise GhcmError("the daemon has ended", code="GHCM-728", hint="see its log in the state directory.")
            case "tick" | "job.commit":
                report.look()
            case _:
                report.heard(event)


def _events(control: Any) -> queue.Queue[dict[str, Any]]:
    """The daemon's events, from now on."""
    found: queue.Queue[dict[str, Any]] = queue.Queue()
    stream = control.stream("watch", name="run")
    found.put(next(stream))

    def read() -> None:
        try:
            for event in stream:
                found.put(event)
        except (GhcmError, OSError):
            pass  # told below
        found.put({"event": "gone"})

    threading.Thread(target=read, name="events", daemon=True).start()
    return found


def _ticking(events: queue.Queue[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The events, and a tick where it is time to look at the sinks."""
    due = time.monotonic() + _LOOK_SECONDS
    while True:
        try:
            yield events.get(timeout=max(0.0, due - time.monotonic()))
        except queue.Empty:
            yield {"event": "tick"}
            due = time.monotonic() + _LOOK_SECONDS


def _bundle(program: Path, state: Any) -> Path:
    from ghcm.cli.submit import is_bundle

    if is_bundle(program):
        return program
    from ghcm import driver

    with terminal.steps(len(driver.BUILD)) as step:
        return driver.build(program, state.path / f"{program.stem}.ghcm", step)


def _missing(program: Path) -> None:
    from ghcm import driver

    driver.check(program)  # says what is missing, and what there is


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")
