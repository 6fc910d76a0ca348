"""`ghcm dead --replay`: what tasks have refused runs through the program again, as it is now, each record once.

::

    replays/<id>/claim.json       whose letters these are; once it is there, they are replayed by it and nothing else
    replays/<id>/replay.ghcm      the task and what is behind it, as a program of its own
    replays/<id>/letters...       what that reads
    replays/<id>/state/           its snapshots, and the letters of what fails again

Whoever finds a claim finishes it: its engine goes on behind its last snapshot. The letters of what has failed again
come beside the others, then those that were claimed are marked, then the claim goes. One that cannot begin is given up.
"""

import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from ghcm.codegen import bundle as bundles
from ghcm.codegen.engines import generate
from ghcm.durable import flush
from ghcm.errors import GhcmError
from ghcm.optimizer import optimise
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.state import dead_folders
from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks import kept_letters
from ghcm.runtime.sinks.sink import open_writer
from ghcm.runtime.slot.engine import Engine
from ghcm.spg.connectors import Files, Format
from ghcm.spg.graph import Program, Sink
from ghcm.spg.replayed import LETTERS, obstacle, replayed
from ghcm.types import Struct
from ghcm.values import decode


@dataclass(frozen=True, slots=True)
class Claim:
    """The letters of a task of a program that are replayed together, as this job, whose paths start from `base`.
    `until`: the times of the commits that have them, by version. `name`: of the folder into which the letters of those
    go that fail again.
    """

    job: str
    base: str
    program: str
    unit: str
    task: str
    until: Mapping[str, int]
    count: int
    name: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of the letters of a task: how many ran again, and how many of these failed again; or why none did."""

    unit: str
    task: str
    replayed: int
    failed: int
    why: str = ""


def replay(bundle: Bundle, tables: Sequence[Path], connections: Connections, root: Path) -> list[Replayed]:
    """Finish what was claimed before, then have the letters of these tables run through the program of the bundle.
    `root`: the state directory. GhcmError where something stands in the way of a claim, which then waits.
    """
    with _alone(root / "replays") as folder:
        done = list[Replayed]()
        for left in sorted(folder.glob("*/")):
            if not (left / "claim.json").exists():  # it never came to be one
                shutil.rmtree(left)
            elif _read(left).program == bundle.program.name:
                done.append(_finish(left, connections, root))
        waiting = {(table.name, one["task"]) for table in tables for _, one in kept_letters.waiting(table)}
        for unit, task in sorted(waiting):
            claimed = folder / secrets.token_hex(4)
            mine = [table for table in tables if table.name == unit]
            if why := _claim(bundle, unit, task, mine, connections.base, claimed):
                shutil.rmtree(claimed, ignore_errors=True)
                done.append(Replayed(unit, task, 0, 0, why))
            else:
                done.append(_finish(claimed, connections, root))
    return done


def _claim(bundle: Bundle, unit: str, task: str, tables: Sequence[Path], base: Path, folder: Path) -> str:
    """Make the claim of all letters of a task in these tables; why there is none, or nothing."""
    if why := obstacle(bundle.program, unit, task):
        return why
    texts, until = list[str](), dict[str, int]()
    for table in tables:
        for commit, letter in kept_letters.waiting(table, whole=True):
            if letter["task"] == task:
                texts.append(letter["input"])
                until[commit.version] = commit.time
    if not texts:
        return "their texts are not kept as they were: they are too long, or no UTF-8"
    folder.mkdir()
    files = Files(str((folder / "letters").absolute()), Format("json"))
    part = replayed(bundle.program, unit, task, files)
    if any(sink.name == LETTERS for sink in part.sinks):
        if why := _write_records(texts, part.sink(LETTERS)):
            return why
    else:
        _write_lines(texts, folder / "letters")
    job, name = f"{part.name}-replay-{folder.name}", str(time.time_ns())
    _write_claim(bundle, part, folder, Claim(job, str(base.absolute()), part.name, unit, task, until, len(texts), name))
    return ""


def _write_claim(bundle: Bundle, part: Program, folder: Path, claim: Claim) -> None:
    """Compile what is replayed, and make the claim one."""
    made = generate(optimise(part).program)
    sources, python = _texts(bundle.folder / "source"), _texts(bundle.folder / "python")
    bundles.write(part, made.program, made.files, sources, python, folder / "replay.ghcm", bundle.manifest.requirements)
    with (folder / "claim.new").open("w", encoding="utf-8") as file:
        json.dump(asdict(claim), file)
        flush(file)
    os.replace(file.name, folder / "claim.json")


def _read(folder: Path) -> Claim:
    return Claim(**cast("dict[str, Any]", json.loads((folder / "claim.json").read_text(encoding="utf-8"))))


def _finish(folder: Path, connections: Connections, root: Path) -> Replayed:
    """Replay a claim to its end."""
    claim = _read(folder)
    connections = Connections(Path(claim.base), connections.url, connections.kafka, sql=connections.sql)
    bundle, state = Bundle.open(folder / "replay.ghcm"), folder / "state"
    try:
        Engine(bundle, connections=connections, state=state, job=claim.job).run()
    except GhcmError:
        if not any(state.glob("snapshots/*/*/*/manifest.json")):  # nothing of it can be seen anywhere
            shutil.rmtree(folder)
        raise
    failed = sum(kept_letters.counts(kept_letters.tables([state / "dead"])).values())
    again = root / "earlier" / claim.name
    if failed and not again.exists():
        shutil.rmtree(folder / "again", ignore_errors=True)
        shutil.copytree(state / "dead", folder / "again")
        again.parent.mkdir(exist_ok=True)
        (folder / "again").rename(again)
    for table in kept_letters.tables(dead_folders(root), claim.program, claim.unit):
        kept_letters.mark_replayed(table, claim.task, claim.until)
    (folder / "claim.json").unlink()
    shutil.rmtree(folder)
    return Replayed(claim.unit, claim.task, claim.count, failed)


def _write_records(texts: Sequence[str], sink: Sink) -> str:
    """Write the records that operators have refused where they are read from; why that cannot be, or nothing."""
    try:
        records = [decode(text, sink.element) for text in texts]
    except ValueError as error:
        return f"the task takes other records now: {error}"
    writer = open_writer(sink, Connections(Path("/")), writer="replay", key=None, call=None)
    writer.write([cast("Row", each) if isinstance(sink.element, Struct) else (each,) for each in records])
    writer.prepare("letters")
    writer.commit("letters")
    writer.close()
    return ""


def _write_lines(texts: Sequence[str], folder: Path) -> None:
    """Write the texts that a source has refused where it reads them."""
    folder.mkdir()
    with (folder / "0.json").open("w", encoding="utf-8") as lines:
        lines.writelines(f"{_line(text)}\n" for text in texts)
        flush(lines)


def _line(text: str) -> str:
    """A JSON text as a line. Where an end of line is no white space in it, it is no JSON, and stays none."""
    try:
        json.loads(text)
    except ValueError:
        return text.replace("\n", "\0")
    return text.replace("\n", " ")


def _texts(folder: Path) -> dict[str, str]:
    """The texts in a folder, by their paths in it."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


@contextmanager
def _alone(folder: Path) -> Generator[Path]:
    """One replay at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "a", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "wait for it, then look again."
            raise GhcmError("dead letters are being replayed", code="GHCM-752", hint=hint) from None
        yield folder
