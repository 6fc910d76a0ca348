"""The program that a command looks at, one that has run here or a file, and what its sinks are read with.

It reads the stores of daemons; none need run but for what rests in its private Redis.
"""

from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from ghcm.cli.programs import is_bundle
from ghcm.errors import GhcmError, listed, suggest
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.protocol import Control
from ghcm.runtime.daemon.state import StateDirectory, dead_folders, states
from ghcm.runtime.jobs.store import Job, open_store
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.embedded import embedded_url
from ghcm.runtime.settings import load_settings
from ghcm.runtime.sinks.kept_letters import tables
from ghcm.spg.graph import Program

_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class LastRun:
    """The job that was the last of a program, if there was one, its bundle, and its daemon. `private`: whether that
    daemon runs, with a Redis of its own, which ends with it.
    """

    job: str | None
    bundle: Path | None
    control: Control
    private: bool = False


def known(name: str | None, state: Path | None, profile: str | None = None) -> tuple[Program, Connections, LastRun]:
    """The program of that name, job or file, whose paths start where it last ran; without a name the only one that has
    run. GhcmError that says what there is.
    """
    settings = load_settings({"state": state, "profile": profile})
    with suppress(GhcmError):  # who needs neither Kafka nor Redis looks without them, others say that there is none
        settings = settings.served()
    program, ran = None if name is None else _read(Path(name)), list[tuple[Job, StateDirectory]]()
    for at in states(settings.state):
        if at.store.is_file():
            with closing(open_store(at.store)) as store:
                ran += [(job, at) for job in store.jobs.find()]
    ran.sort(key=lambda each: each[0].submitted)
    wanted, at, base, last = program.name if program else name, StateDirectory(settings.state), Path(), None
    bundle: Path | None = None
    names = {job.program for job, _ in ran}
    wanted = next(iter(names)) if wanted is None and len(names) == 1 else wanted
    for job, at in [each for each in ran if wanted in (each[0].program, each[0].id)][-1:]:
        base, last = at.folder_of(job.id), job.id
        bundle = at.bundle(job.id, job.version)
        program = program or Bundle.open(bundle).program
    if program is None:
        hint = suggest(name or "", names) or "name a program that has run, or its file; --state names another state."
        detail = f'In "{settings.state}" there are {listed(sorted(names))}.'
        message = "it is not said which program" if name is None else f'no program "{name}" has run here'
        raise GhcmError(message, code="GHCM-605", detail=detail, hint=hint)
    control = Control(at.control)
    served = str(control.ask("redis")["url"]) if control.listening() else None
    url = served or settings.redis_url
    connections = Connections(base, url, settings.kafka, patience=_PATIENCE_S, sql=settings.sql)
    return program, connections, LastRun(last, bundle, control, private=served == embedded_url(at.redis))


def dead_letters(program: Program, state: Path | None, unit: str | None = None) -> list[Path]:
    """The tables of a program's dead letters, of a unit or of all, those of earlier runs first."""
    return tables(dead_folders(load_settings({"state": state}).state), program.name, unit)


def _read(path: Path) -> Program | None:
    if is_bundle(path):
        return Bundle.open(path).program
    if path.suffix not in (".istream", ".py"):
        return None
    from ghcm import driver

    return driver.check(path)
