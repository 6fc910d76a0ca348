"""A program is submitted again: its job goes on where it ended, begins anew, or is upgraded while it runs.

Decided from the bundles and from what earlier jobs have written; starting a job is the business of `Jobs`. The job
store decides which version a job is. The engine notes it there between two snapshots, so that whoever is killed and
starts again finds the old version whole, or the new one.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import assert_never

from ghcm.errors import GhcmError
from ghcm.places import Place, Remote, names_in
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.job_runner import JobRunner
from ghcm.runtime.daemon.state import StateDirectory, copy_bundle, note_base, note_job
from ghcm.runtime.jobs.store import Job, JobState, Store
from ghcm.runtime.upgrade import FRESH, Since, Upgrade, compare, version_of
from ghcm.spg.connectors import Mode
from ghcm.spg.graph import Program, Sink, Unit
from ghcm.spg.ops import Publish, To
from ghcm.tables.versions import explained


class Again(Enum):
    """What a submission says of an earlier job of its program."""

    UNSAID = "unsaid"
    RESUME = "resume"
    """Go on from its last snapshot."""
    FRESH = "fresh"
    """Read everything from the start, and leave what it has written as it is."""


def refuse_doubles(job: Job, before: Program, after: Program, holds: Callable[[Sink], bool] = lambda _: True) -> None:
    """GhcmError if the program, run from its start, would append what this job of it has appended already, to sinks
    that still hold it.
    """
    appended = [before.sink(name).connector for name in _appended(before) if holds(before.sink(name))]
    doubled = [f'"{name}"' for name in _appended(after) if after.sink(name).connector in appended]
    if doubled:
        raise GhcmError(
            f'program "{job.program}" has run before, as job "{job.id}" ({job.state.value})',
            code="GHCM-606",
            detail=f"From the start it would append to {', '.join(doubled)} what that job has appended already.",
            hint=f"--resume goes on where that job ended. --fresh {FRESH}.",
        )


def resumable(job: Job, before: Bundle, after: Bundle) -> Upgrade:
    """What becomes of the program's parts. GhcmError if the state of the job does not fit what is submitted: only
    responsive units and publish policies may differ; where in the file a thing stands plays no part."""
    upgrade = compare(version_of(before), version_of(after))
    obstacles = [str(each) for each in upgrade.obstacles if not each.resumable]
    if obstacles:
        raise GhcmError(
            f'job "{job.id}" cannot be resumed: the program has changed since',
            code="GHCM-607",
            detail=f"The state in its last snapshot is that of the program as it was: {'; '.join(obstacles)}.",
            hint=f"undo that part of the edit, or begin anew: --fresh {FRESH}.",
        )
    return upgrade


def _appended(program: Program) -> list[str]:
    """The append sinks of units that run without being asked to from outside: by themselves, or called by a policy."""
    tasks = [task.op for unit in program.units for task in unit.tasks]
    called = {op.call.unit for op in tasks if isinstance(op, Publish)}
    units: list[Unit] = [unit for unit in program.units if not unit.responsive or unit.name in called]
    written = {task.op.sink for unit in units for task in unit.tasks if isinstance(task.op, To)}
    return sorted(name for name in written if program.sink(name).mode is Mode.APPEND)


log = logging.getLogger("ghcm.daemon")


@dataclass(frozen=True, slots=True)
class EarlierJobs:
    """Those that this state directory and store know."""

    state: StateDirectory
    store: Store
    snapshots: Place

    def resumed(self, bundle: Bundle, base: Path, again: Again) -> tuple[Job, Upgrade | None] | None:
        """The job that goes on, None where one begins; GhcmError if it cannot, or if a new one would append again."""
        found = self._latest(bundle.program.name, base, again)
        if found is None:
            return None
        job, before = found
        match again:
            case Again.RESUME:
                upgrade = resumable(job, before, bundle)
                if upgrade.nothing:
                    return job, None
                version = job.version + 1
                copy = self.state.bundle(job.id, version)
                since = upgrade.since(job.since, version)
                keep_bundle(bundle, copy)
                note_job(self.snapshots, job.id, version, copy, since)
                return self.store.jobs.upgrade(job.id, version, str(copy), since), upgrade
            case Again.UNSAID:
                refuse_doubles(job, before.program, bundle.program)
                return None
            case Again.FRESH:
                return None
            case _:
                assert_never(again)

    def may_have_written(self, job: Job) -> bool:
        """As `_has_written`; also of a job whose bundle cannot be read."""
        try:
            return self._has_written(job, Bundle.open(Path(job.bundle)).program)
        except GhcmError:
            return True

    def refuse_cut_off(self, base: Path, holds: Callable[[Sink], bool]) -> None:
        """GhcmError if the latest job of this folder, whatever its program, did not come to its end, and has appended
        to sinks that still hold it what it would append again from the start.
        """
        for job in self.store.jobs.find():
            if Path(self.state.base(job.id).read_text(encoding="utf-8")) == base.absolute():
                program = Bundle.open(Path(job.bundle)).program
                if job.state is not JobState.DONE and self._has_written(job, program):
                    refuse_doubles(job, program, program, holds)
                return

    def _has_written(self, job: Job, program: Program) -> bool:
        """Whether the job may have committed anything: streams do so with snapshots, batches in calls that ran."""
        kept = self.snapshots / job.id
        if any(
            (kept / unit / number / "manifest.json").exists()
            for unit in names_in(kept)
            for number in names_in(kept / unit)
        ):
            return True
        calls = (self.store.calls.get(own_call(job.id, unit)) for unit in program.units if unit.kind == "batch")
        return any(call is not None and call.attempts > 0 for call in calls)

    def _latest(self, program: str, base: Path, again: Again) -> tuple[Job, Bundle] | None:
        """The latest job of the program in this folder, with its bundle: the latest that has written something where
        it matters what was written. GhcmError if there is none to be resumed.
        """
        for job in self.store.jobs.find(program):
            try:
                if self.state.folder_of(job.id) == base.absolute():
                    before = Bundle.open(Path(job.bundle))
                    if again is not Again.UNSAID or self._has_written(job, before.program):
                        return job, before
            except GhcmError as error:
                log.warning('the earlier job "%s" cannot be read: %s', job.id, error)
        if again is Again.RESUME and (taken := self._taken_over(program, base)) is not None:
            return taken
        if again is Again.RESUME:
            raise GhcmError(
                f'program "{program}" has no earlier job that could be resumed',
                code="GHCM-607",
                detail=f'None was submitted for "{base.absolute()}" to this daemon, or its bundle is gone.',
                hint="submit it without --resume; ghcm ps --all lists the jobs.",
            )
        return None

    def _taken_over(self, program: str, base: Path) -> tuple[Job, Bundle] | None:
        """The latest job of the program that another state directory has left in a store, which is one of this from now
        on; None where there is none.
        """
        if not isinstance(self.snapshots, Remote):
            return None
        with explained(self.snapshots, "look for jobs in"):
            left = self.snapshots.glob(f"{program}-{'[0-9a-f]' * 8}.json")
            if not left:
                return None
            last = max(left, key=lambda file: file.stat().st_mtime)
            id, note = last.name.removesuffix(".json"), json.loads(last.read_bytes())
            copy = self.state.bundle(id, note["version"])
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((self.snapshots / f"{id}-{note['version']}.ghcm").read_bytes())
        note_base(self.state.base(id), base)
        self.store.jobs.submit(id, program, str(copy), note["version"], note["since"])
        return self.store.jobs.move(id, JobState.STOPPED, "taken over from another state directory"), Bundle.open(copy)


def keep_bundle(bundle: Bundle, copy: Path) -> None:
    """Copy a bundle that was opened. GhcmError if it is another by now: what it was opened for may not hold of that."""
    copy_bundle(bundle.path, copy)
    if Bundle.open(copy).hash != bundle.hash:
        raise GhcmError(f'bundle "{bundle.path}" has changed while it was taken', code="GHCM-610", hint="submit again.")


def own_call(job: str, unit: Unit) -> str:
    """The id of the call by which the daemon starts a batch unit."""
    return f"{job}.{unit.name}"


_PATIENCE_S = 90.0


async def upgrade_running(runner: JobRunner, bundle: Bundle, base: Path, again: Again, earlier: EarlierJobs) -> Upgrade:
    """Make the bundle the job's version and return what that changes. GhcmError, and nothing is changed, if it is the
    version that runs already, if it needs more than can be changed, or if the engine cannot do it just now.
    """
    job, state, store = runner.job, earlier.state, earlier.store
    if again is not Again.UNSAID:
        raise _runs(runner, f"--{again.value} is for a program that has ended", "end it first")
    before = await asyncio.to_thread(Bundle.open, Path(job.bundle))
    upgrade = compare(version_of(before), version_of(bundle))
    if upgrade.nothing:
        raise _runs(runner, "Nothing in it has changed", "end it first to have it begin anew")
    there = state.folder_of(job.id)
    if there != base.absolute():
        raise _runs(runner, f'It runs in the folder "{there}"', f'submit it with -C "{there}" to change it, or end it')
    if upgrade.obstacles:
        raise upgrade.refusal(job.program, job.id)
    version, copy = job.version + 1, state.bundle(job.id, job.version + 1)
    since = upgrade.since(job.since, version)
    await asyncio.to_thread(keep_bundle, bundle, copy)
    if runner.runs:
        await _change(runner, version, copy, since)
    else:
        store.jobs.upgrade(job.id, version, str(copy), since)
    try:
        await asyncio.to_thread(note_job, earlier.snapshots, job.id, version, copy, since)
    except GhcmError as error:  # it has changed all the same
        log.warning('job "%s": whoever takes it over finds version %d: %s', job.id, job.version, error)
    return upgrade


async def _change(runner: JobRunner, version: int, copy: Path, since: Since) -> None:
    """Have what runs become the version. GhcmError if it cannot just now."""
    try:
        await asyncio.wait_for(runner.upgrade(version, copy, since), _PATIENCE_S)
    except (GhcmError, TimeoutError) as error:
        if runner.job.version == version:
            return  # it died right after it had changed, and starts again as what it is
        if isinstance(error, GhcmError):
            raise
        raise GhcmError(
            f'the engine of job "{runner.id}" does not answer',
            code="GHCM-755",
            detail=f"It was asked to change and has said nothing for {_PATIENCE_S:.0f} seconds.",
            hint="ghcm ps shows its version, ghcm logs what it does.",
        ) from error


def _runs(runner: JobRunner, detail: str, hint: str) -> GhcmError:
    return GhcmError(
        f'program "{runner.program.name}" runs already as job "{runner.id}"',
        code="GHCM-724",
        detail=f"{detail}.",
        hint=f"{hint}: ghcm stop {runner.id}",
    )
