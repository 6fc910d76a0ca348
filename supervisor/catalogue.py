"""What can be called: the programs of the jobs that run, with their responsive units and the models of their
parameters.

Immutable; a change of the jobs gives a new catalogue. Reads bundles, never the compiler.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import BaseModel

from ghcm.errors import GhcmError, listed, suggest
from ghcm.panels import BOARD_SUFFIX, Board, default_board, read_board
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.jobs.store import Job, JobState
from ghcm.runtime.pubsub.cache import Topic
from ghcm.runtime.pubsub.connections import topic_of
from ghcm.spg.graph import Program, Unit
from ghcm.supervisor.models import parameters_model
from ghcm.supervisor.problems import Problem

log = logging.getLogger("ghcm.supervisor")


@dataclass(frozen=True, slots=True)
class KnownUnit:
    """A responsive unit: where its calls go, what they may hold, and the engines that can run it."""

    program: str
    unit: Unit
    cache: Topic
    model: type[BaseModel]
    engines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownProgram:
    """A program that was submitted, as its latest job has it."""

    job: Job
    base: Path
    program: Program
    units: Mapping[str, KnownUnit]
    board: Board


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The programs that can be called, and those that were submitted ever, as their latest job has them, by name."""

    programs: Mapping[str, KnownProgram]
    past: Mapping[str, KnownProgram]

    def program(self, name: str) -> KnownProgram:
        """The program of that name; Problem 404 if none was submitted."""
        found = self.programs.get(name)
        if found is None:
            detail, hint = f"Running: {listed(self.programs)}.", suggest(name, self.programs)
            raise Problem(404, "GHCM-321", f'there is no program "{name}"', detail=detail, hint=hint)
        return found

    def any_program(self, name: str) -> KnownProgram:
        """The program of that name even if it runs no more; Problem 404 if it was never submitted."""
        return self.past.get(name) or self.program(name)

    def unit(self, program: str, name: str) -> KnownUnit:
        """The responsive unit of that name; Problem 404 if there is none."""
        known = self.program(program)
        found = known.units.get(name)
        if found is None:
            message = f'program "{program}" has no unit "{name}"'
            if any(unit.name == name for unit in known.program.units):
                message = f'unit "{name}" of program "{program}" cannot be called: it is not responsive'
            detail, hint = f"Can be called: {listed(known.units)}.", suggest(name, known.units)
            raise Problem(404, "GHCM-322", message, detail=detail, hint=hint)
        return found


@dataclass(slots=True)
class Reader:
    """Reads the bundles of jobs, each once."""

    _read: dict[str, KnownProgram] = field(default_factory=dict[str, KnownProgram])

    def catalogue(self, jobs: list[tuple[Job, Path]]) -> tuple[Catalogue, list[GhcmError]]:
        """The catalogue of these jobs (newest first, each with its base), and what could not be read."""
        past, errors = dict[str, KnownProgram](), list[GhcmError]()
        for job, base in jobs:
            if job.program in past:
                continue
            try:
                known = self._read.get(job.bundle) or _known(job, base)
            except GhcmError as error:
                errors.append(error)
                continue
            self._read[job.bundle] = known
            past[job.program] = replace(known, job=job)
        gone = (JobState.FAILED, JobState.STOPPED)
        return Catalogue({name: known for name, known in past.items() if known.job.state not in gone}, past), errors


def _known(job: Job, base: Path) -> KnownProgram:
    bundle = Bundle.open(Path(job.bundle))
    program = bundle.program
    engines = {unit.name: tuple(unit.modules) for unit in bundle.manifest.units}
    units = {
        unit.name: KnownUnit(
            program.name, unit, topic_of(program, unit), parameters_model(unit), engines.get(unit.name, ())
        )
        for unit in program.units
        if unit.responsive
    }
    return KnownProgram(job, base, program, units, _board(bundle))


def _board(bundle: Bundle) -> Board:
    """The panels that stand in the bundle; those of the sinks where there are none or somebody has spoilt them."""
    for file in sorted((bundle.folder / "source").glob(f"*{BOARD_SUFFIX}")):
        try:
            return read_board(file.read_text(encoding="utf-8"), file.name, bundle.program)
        except (GhcmError, OSError, UnicodeDecodeError) as error:
            log.error("%s", error)
    return default_board(bundle.program)
