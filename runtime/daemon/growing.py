"""A program that is submitted while it runs: the running version becomes the new one, or the edit is refused.

The job store decides which version a job is. It is told by the engine between two snapshots, so that whoever is killed
and starts again finds the old version whole, or the new one.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.job_keeper import JobKeeper
from ghcm.runtime.daemon.reruns import Again
from ghcm.runtime.daemon.state import StateDirectory, copy_bundle
from ghcm.runtime.jobs.store import Store
from ghcm.runtime.upgrade.changes import Growth
from ghcm.runtime.upgrade.compare import compare
from ghcm.runtime.upgrade.versions import version_of

_PATIENCE_S = 90.0


async def grow(
    keeper: JobKeeper, bundle: Bundle, base: Path, again: Again, state: StateDirectory, store: Store
) -> Growth:
    """Make the bundle the job's version and return what that changes. GhcmError, and nothing is changed, if it is the
    version that runs already, if it needs more than can be changed, or if the engine cannot do it just now.
    """
    job = keeper.job
    if again is not Again.UNSAID:
        raise _runs(keeper, f"--{again.value} is for a program that has ended", "end it first")
    before = await asyncio.to_thread(Bundle.open, Path(job.bundle))
    growth = compare(version_of(before), version_of(bundle))
    if growth.nothing:
        raise _runs(keeper, "Nothing in it has changed", "end it first to have it begin anew")
    there = Path(state.base(job.id).read_text(encoding="utf-8"))
    if there != base.absolute():
        raise _runs(keeper, f'It runs in the folder "{there}"', f'submit it with -C "{there}" to change it, or end it')
    if growth.obstacles:
        raise growth.refusal(job.program, job.id)
    version, copy = job.version + 1, state.version(job.id, job.version + 1)
    since = growth.since(job.since, version)
    await asyncio.to_thread(copy_bundle, bundle.path, copy)
    if not keeper.runs:
        store.jobs.grow(job.id, version, str(copy), since)
        return growth
    try:
        await asyncio.wait_for(keeper.grow(version, copy, since), _PATIENCE_S)
    except (GhcmError, TimeoutError) as error:
        if keeper.job.version != version:  # else it died right after it had changed, and starts again as what it is
            raise error if isinstance(error, GhcmError) else _no_answer(keeper) from error
    return growth


def _runs(keeper: JobKeeper, detail: str, hint: str) -> GhcmError:
    return GhcmError(
        f'program "{keeper.program.name}" runs already as job "{keeper.id}"',
        code="GHCM-724",
        detail=f"{detail}.",
        hint=f"{hint}: ghcm stop {keeper.id}",
    )


def _no_answer(keeper: JobKeeper) -> GhcmError:
    return GhcmError(
        f'the engine of job "{keeper.id}" does not answer',
        code="GHCM-755",
        detail=f"It was asked to change and has said nothing for {_PATIENCE_S:.0f} seconds.",
        hint="ghcm ps shows its version, ghcm logs what it does.",
    )
