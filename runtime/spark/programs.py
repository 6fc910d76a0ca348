"""The programs that the driver serves: jobs of the store whose bundles have batch units."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import Store
from ghcm.spg.graph import Program, Unit

log = logging.getLogger("ghcm.spark")

Run = Callable[[Any, dict[str, object], dict[str, object]], Mapping[str, Any]]
"""`run` of a generated module: session, parameters, context -> what was done."""


@dataclass(frozen=True)
class Job:
    """A submitted program with batch units; `base` is the folder that its relative paths start from."""

    id: str
    bundle: Bundle
    base: Path

    @property
    def program(self) -> Program:
        """What the units are declared in."""
        return self.bundle.plan

    @property
    def units(self) -> list[Unit]:
        """The units that Spark runs."""
        return [unit for unit in self.program.units if "spark" in unit.engines]

    def run_of(self, unit: Unit) -> Run:
        """What the generated job of a unit runs. GhcmError if it cannot be loaded or has no such function."""
        module: ModuleType = self.bundle.unit_module(unit.name, "spark")
        run = getattr(module, "run", None)
        if not callable(run):
            raise GhcmError(
                f'the job of the unit "{unit.name}" has no function "run"',
                code="GHCM-614",
                hint="undo what was changed in the bundle, or build it again.",
            )
        return cast("Run", run)


def open_jobs(store: Store, state: StateDirectory, known: Mapping[str, Job]) -> dict[str, Job]:
    """The jobs that are not over and have batch units, by id; those that are known already in this version are not
    opened again.
    """
    found: dict[str, Job] = {}
    for each in store.jobs.find(over=False):
        if each.id in known and str(known[each.id].bundle.path) == each.bundle:
            found[each.id] = known[each.id]
            continue
        try:
            job = Job(each.id, Bundle.open(Path(each.bundle)), state.folder_of(each.id))
            if job.units:
                found[each.id] = job
        except GhcmError as error:
            log.error('job "%s" cannot be served: %s', each.id, error)
            continue
        if job.bundle.edited:
            log.warning('job "%s": edited since the build: %s', each.id, ", ".join(job.bundle.edited))
    return found
