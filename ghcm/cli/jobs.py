"""Commands on the daemon and its jobs: `ghcm supervise`, `submit`, `diff`, `ps`, `logs` and `stop`."""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ghcm.cli import elsewhere, terminal
from ghcm.cli.failure import failed_job
from ghcm.cli.programs import bundled, is_bundle
from ghcm.cli.server import is_elsewhere, server_of
from ghcm.cli.terminal import (
    RUNNABLE,
    Beside,
    Certificate,
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

Host = Annotated[str | None, typer.Option("--host", metavar="HOST", help="Where HTTP listens.")]
Port = Annotated[int | None, typer.Option("--port", "-p", min=0, max=65535, help="0 takes any free one.")]


_TRUSTED = "Public keys, a file or a folder: only bundles that one of them has signed are taken."
Trusted = Annotated[Path | None, typer.Option("--trusted", metavar="KEYS", help=_TRUSTED)]


def supervise(  # noqa: PLR0913, PLR0917 - the options of a daemon, by name
    host: Host = None,
    port: Port = None,
    certificate: Certificate = None,
    key: Key = None,
    redis: Redis = None,
    profile: Profile = None,
    trusted: Trusted = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Start the daemon and stay with it until Ctrl-C."""
    import asyncio

    from ghcm.runtime.daemon.daemon import run
    from ghcm.runtime.logs import start_logging
    from ghcm.runtime.settings import load_settings

    http = {"host": host, "port": port, "certificate": certificate, "key": key}
    given = {"state": state, "redis": redis, "profile": profile, "trusted": trusted, "http": http}
    settings = load_settings(given).served()
    start_logging(settings.log)

    def ready(status: dict[str, object]) -> None:
        if json:
            terminal.json_line(status)
            return
        if settings.standing:
            terminal.say(settings.standing)
        terminal.say(f"state:   {status['state']}")
        terminal.say(f"http:    {status['url']}  ({status['url']}/docs)")
        terminal.say("next:    ghcm submit PROGRAM, in another terminal; Ctrl-C ends")

    asyncio.run(run(settings, ready))


Wait = Annotated[bool, typer.Option("--wait", help="Return when the job runs, or has failed.")]


Resume = Annotated[bool, typer.Option("--resume", help="Go on where the program's last job ended.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Read everything again, and append it to what is there.")]


def said_again(*, resume: bool, fresh: bool) -> str:
    """What the options say of an earlier job."""
    if resume and fresh:
        hint = "say --resume; or --fresh, which appends to what is there."
        raise GhcmError("a job cannot both be resumed and begin anew", code="GHCM-605", hint=hint)
    return "resume" if resume else "fresh" if fresh else "unsaid"


_THERE = "Where relative paths start; with --server a folder there."
There = Annotated[Path | None, typer.Option("--directory", "-C", metavar="DIR", help=_THERE)]
_AT = "A server elsewhere, which GHCM_SERVER may name, too; GHCM_TOKEN has a token for it."
At = Annotated[str | None, typer.Option("--server", metavar="URL", help=_AT)]


def submit(  # noqa: PLR0913, PLR0917 - the options of a job, by name
    program: Runnable,
    directory: There = None,
    wait: Wait = False,
    resume: Resume = False,
    fresh: Fresh = False,
    beside: Beside = False,
    engine: Engine = None,
    parallelism: Parallelism = None,
    without: Without = None,
    server: At = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Hand a program to the daemon, or a change of it.

    A program that runs already becomes what is submitted, where that needs no stop.
    """
    again = said_again(resume=resume, fresh=fresh)
    with tempfile.TemporaryDirectory(prefix="ghcm-") as folder:
        if is_elsewhere(server, state):
            asked = server_of(server, state)
            bundle = bundled(fetched(program), Path(folder), engine, parallelism, without)
            job = elsewhere.submit(asked, bundle, again=again, beside=beside, directory=directory)
            upgrade = None if job["changes"] is None else {"changes": job.pop("changes")}
            job = elsewhere.await_running(asked, job) if wait else job
        else:
            control, base = terminal.control(state), _here(directory)
            bundle = bundled(fetched(program), Path(folder), engine, parallelism, without)
            answer = control.ask("submit", again=again, beside=beside, bundle=str(bundle.absolute()), base=base)
            job = cast("dict[str, Any]", answer["job"])
            upgrade = cast("dict[str, Any] | None", answer.get("growth"))
            job = _await_running(control, job) if wait else job
    if wait and job["state"] == "failed":
        raise failed_job(job, f"ghcm logs {job['id']} shows what it said.")
    _show_submitted(job, upgrade, json=json)


def _here(directory: Path | None) -> str:
    """Where relative paths start on this machine."""
    if directory is not None and not directory.is_dir():
        raise GhcmError(f'"{directory}" is no folder', code="GHCM-605", hint="name the one where relative paths start.")
    return str((directory or Path()).absolute())


def _show_submitted(job: dict[str, Any], upgrade: dict[str, Any] | None, *, json: bool) -> None:
    if json:
        terminal.json_line(job if upgrade is None else {**job, "growth": upgrade})
        return
    terminal.say(f"{job['id']}: {job['state']}" + (f", version {job['version']}" if upgrade else ""))
    if upgrade:
        show_changes(upgrade)


def _await_running(control: Any, job: dict[str, Any]) -> dict[str, Any]:
    for event in control.stream("watch"):
        listed = event.get("jobs", [event["job"]] if event.get("event") == "job" else [])
        for each in listed:
            if each["id"] == job["id"]:
                job = each
        if job["state"] in ("running", "done", "failed", "stopped"):
            break
    return job


Old = Annotated[str, typer.Argument(metavar="OLD", help=RUNNABLE)]
New = Annotated[str, typer.Argument(metavar="NEW", help=RUNNABLE)]


def diff(old: Old, new: New, json: Json = False) -> None:
    """Compare two versions of a program."""
    from ghcm import driver
    from ghcm.runtime.bundle import Bundle
    from ghcm.runtime.upgrade import compare, version_of

    with tempfile.TemporaryDirectory(prefix="ghcm-") as folder:
        before, after = (
            version_of(Bundle.open(path if is_bundle(path) else driver.build(path, Path(folder, f"{name}.ghcm"))))
            for name, path in (("old", fetched(old)), ("new", fetched(new)))
        )
        upgrade = compare(before, after)
    if json:
        terminal.json_line({**upgrade.document(), "while_running": not upgrade.obstacles})
        return
    show_changes(upgrade.document())
    for obstacle in upgrade.obstacles:
        terminal.say(f"needs a stop: {obstacle}")


def show_changes(upgrade: Mapping[str, Any]) -> None:
    """A line per part of the program, what has changed first."""
    listed = cast("list[dict[str, str]]", upgrade["changes"])
    names = [f"{each['unit']}: {each['name']}" if each["unit"] else each["name"] for each in listed]
    lines = [(each["change"], each["part"], name, each["note"]) for each, name in zip(listed, names, strict=True)]
    lines.sort(key=lambda line: line[0] == "kept")
    terminal.table(("change", "part", "name", ""), lines, "nothing is there")


All = Annotated[bool, typer.Option("--all", "-a", help="Show jobs that are over too.")]


def ps(all: All = False, state: State = None, json: Json = False) -> None:
    """List jobs and processes."""
    control = terminal.control(state)
    status = control.ask("status")
    listed = cast("list[dict[str, Any]]", control.ask("list")["jobs"])
    jobs = [job for job in listed if all or job["state"] not in ("done", "failed", "stopped")]
    if json:
        terminal.json_line({**status, "jobs": jobs})
        return
    columns = ("job", "program", "version", "state", "for", "restarts", "reason")
    names = ("id", *columns[1:])
    aged = [{**job, "for": _since(job)} for job in jobs]
    terminal.table(columns, [[str(job[name]) for name in names] for job in aged], "no jobs")
    terminal.say("")
    processes = cast("list[dict[str, Any]]", status["processes"])
    shown = ("name", "pid", "state", "health", "restarts", "reason")
    lines = [["-" if each[name] is None else str(each[name]) for name in shown] for each in processes]
    terminal.table(("process", "id", *shown[2:]), lines, "no processes")
    terminal.note(f"\ndaemon {status['pid']}, {status['url']}/docs")


def _since(job: dict[str, Any]) -> str:
    begin = job["started"] or job["submitted"]
    end = job["ended"] or time.time_ns() // 1000
    seconds = max(0, (end - begin) // 1_000_000)
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"


Name = Annotated[str, typer.Argument(metavar="NAME", help="A job, a program, or http, spark, redis.")]
Lines = Annotated[int, typer.Option("--lines", "-n", min=0, help="How many of the last lines.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is added, until Ctrl-C.")]


def logs(name: Name, lines: Lines = 100, follow: Follow = False, state: State = None, json: Json = False) -> None:
    """Print the log of a job or a process."""
    for answer in terminal.control(state).stream("logs", name=name, lines=lines, follow=follow):
        terminal.answer(answer, str(answer.get("line", "")), json=json)


Jobs = Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Jobs or programs.")]
TheDaemon = Annotated[bool, typer.Option("--daemon", help="End the daemon; its next start goes on with its jobs.")]
_GRACE = "How long calls that were accepted may take; 30 seconds, or what [limits] grace says."
Grace = Annotated[float | None, typer.Option("--grace", metavar="SECONDS", min=0, help=_GRACE, show_default=False)]


def stop(
    jobs: Jobs = None,
    the_daemon: TheDaemon = False,
    grace: Grace = None,
    server: At = None,
    state: State = None,
    json: Json = False,
) -> None:
    """End jobs, or the daemon."""
    if not jobs and not the_daemon:
        hint = "name jobs (ghcm ps lists them), or say --daemon."
        raise GhcmError("nothing is named that should end", code="GHCM-605", hint=hint)
    if is_elsewhere(server, state):
        if the_daemon:
            hint = "end it where it runs."
            raise GhcmError("a daemon elsewhere cannot be ended from here", code="GHCM-605", hint=hint)
        asked = server_of(server, state)
        for name in jobs or ():
            _show(name, elsewhere.stop(asked, name, grace), json=json)
        return
    control = terminal.control(state)
    for name in jobs or ():
        for answer in control.stream("stop", job=name, grace=grace):
            _show(name, answer, json=json)
    if the_daemon:
        from ghcm.runtime.daemon.locks import await_end

        answer = control.ask("shutdown")
        terminal.note("daemon: stopping")
        await_end(terminal.state_directory(state), cast("int", answer["pid"]))
        terminal.answer({"daemon": "stopped"}, "daemon: stopped", json=json)


def _show(name: str, answer: dict[str, Any], *, json: bool) -> None:
    if "waiting" in answer:
        note_waiting(name, answer)
        return
    job, calls = answer.get("job", answer), answer["calls"]
    if json:
        terminal.json_line({**job, "calls": calls})
        return
    terminal.say(f"{name}: {job['state']}")
    note_left(name, calls, "submit")


def note_waiting(name: str, answer: Mapping[str, Any]) -> None:
    """Say how long a stop waits, and for what."""
    terminal.note(f"{name}: waiting up to {answer['grace']:g} s for {_calls(answer['waiting'])}")


def note_left(name: str, calls: Mapping[str, int], command: str) -> None:
    """Say what became of the calls that a stop broke off; `command` resumes the program."""
    if calls["kept"]:
        terminal.note(f"{name}: {_calls(calls['kept'])} of its own did not end; ghcm {command} --resume runs them")
    if calls["answered"]:
        terminal.note(f"{name}: {_calls(calls['answered'])} from outside did not end and failed with GHCM-748")


def _calls(count: int) -> str:
    return f"{count} call{'s' if count != 1 else ''}"
