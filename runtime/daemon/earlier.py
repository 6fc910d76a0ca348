"""The jobs that a program had before: which of them goes on where the program is submitted again.

Whether that may be is decided by `reruns`; starting it is the business of `Jobs`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.reruns import Again, refuse_doubles, resumable
from ghcm.runtime.daemon.state import StateDirectory, copy_bundle
from ghcm.runtime.jobs.job_list import Job
from ghcm.runtime.jobs.store import Store
from ghcm.runtime.upgrade.changes import Growth
from ghcm.spg.graph import Program, Unit

log = logging.getLogger("ghcm.daemon")


@dataclass(frozen=True, slots=True)
class EarlierJobs:
    """Those that this state directory and store know."""

    state: StateDirectory
    store: Store

    def resumed(self, bundle: Bundle, base: Path, again: Again) -> tuple[Job, Growth | None] | None:
        """The job that goes on, None where one begins; GhcmError if it cannot go on, or if a new one would append again
        what it has appended.
        """
        found = self._latest(bundle.program.name, base, again)
        if found is None:
            return None
        job, before = found
        match again:
            case Again.RESUME:
                growth = resumable(job, before, bundle)
                if growth.nothing:
                    return job, None
                version = job.version + 1
                copy = self.state.version(job.id, version)
                copy_bundle(bundle.path, copy)
                return self.store.jobs.grow(job.id, version, str(copy), growth.since(job.since, version)), growth
            case Again.UNSAID:
                refuse_doubles(job, before.program, bundle.program)
                return None
            case Again.FRESH:
                return None
            case _:
                assert_never(again)

    def _has_written(self, job: Job, program: Program) -> bool:
        """Whether the job may have committed anything: streams do so with snapshots, batches in calls that ran."""
        if any(self.state.snapshots(job.id).glob("*/*/manifest.json")):
            return True
        calls = (self.store.calls.get(own_call(job.id, unit)) for unit in program.units if unit.kind == "batch")
        return any(call is not None and call.attempts > 0 for call in calls)

    def _latest(self, program: str, base: Path, again: Again) -> tuple[Job, Bundle] | None:
        """The latest job of the program in this folder, with its bundle: the latest that has written something where
        it matters what was written. GhcmError if there is none to be resumed.
        """
        for job in self.store.jobs.find(program):
            try:
                if Path(self.state.base(job.id).read_text(encoding="utf-8")) == base.absolute():
                    before = Bundle.open(Path(job.bundle))
                    if again is not Again.UNSAID or self._has_written(job, before.program):
                        return job, before
            except (GhcmError, OSError) as error:
                log.warning('the earlier job "%s" cannot be read: %s', job.id, error)
        if again is Again.RESUME:
            raise GhcmError(
                f'program "{program}" has no earlier job that could be resumed',
                code="GHCM-607",
                detail=f'None was submitted for "{base.absolute()}" to this daemon, or its bundle is gone.',
                hint="submit it without --resume; ghcm ps --all lists the jobs.",
            )
        return None


def own_call(job: str, unit: Unit) -> str:
    """The id of the call by which the daemon starts a batch unit."""
    return f"{job}.{unit.name}"
