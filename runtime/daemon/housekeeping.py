"""Removes what is over, as `[keep]` says: ended jobs with all that is theirs, dead letters, old logs.

Answered calls are removed by who looks after calls (`call_reconciler`), rows of answers remove themselves. What is
needed to resume a program, or to see that it would write twice, is never removed.
"""

import asyncio
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ghcm.errors import GhcmError
from ghcm.places import Place, remove
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import Job, Store
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.runtime.settings import Keep
from ghcm.runtime.sinks import old_letters

log = logging.getLogger("ghcm.daemon")

_LOGS_SECONDS = 30.0
_ROUNDS = 20
"""Jobs and dead letters are looked at once in so many looks at logs."""


@dataclass(frozen=True, slots=True)
class Housekeeping:
    """`has_written` says of a job whether it may have committed anything."""

    keep: Keep
    state: StateDirectory
    store: Store
    snapshots: Place
    has_written: Callable[[Job], bool]

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            await asyncio.to_thread(self.tidy)
            for _ in range(_ROUNDS):
                await asyncio.to_thread(self.rotate)
                await asyncio.to_thread(self.thin)
                await asyncio.sleep(_LOGS_SECONDS)

    def tidy(self) -> None:
        """Remove jobs and dead letters whose time is over; bundles of jobs that are not stay unpacked."""
        for job in list(self._over(now_us() - int(self.keep.jobs * 1e6))):
            try:
                self._forget(job)
            except (GhcmError, OSError) as error:  # its snapshots are in a store that is away: the next time
                log.warning('job "%s" is over and cannot be forgotten yet: %s', job.id, error)
        for job in self.store.jobs.find(over=False):  # whose processes may read of it what they have not read yet
            with suppress(GhcmError):
                Bundle.open(Path(job.bundle))
        known = {job.program for job in self.store.jobs.find()}
        for table in self._tables():
            if table.parent.name not in known and _touched(table) < time.time() - self.keep.letters:
                log.info('the dead letters in "%s" are removed', table)
                shutil.rmtree(table, ignore_errors=True)

    def rotate(self) -> None:
        """Begin logs anew that have become large, while their processes write: what they write is appended."""
        for path in self.state.logs.glob("*.log"):
            try:
                if path.stat().st_size > self.keep.log_bytes:
                    _begin_anew(path, path.with_suffix(".log.1"))
            except OSError as error:  # the disk is full: there may be room the next time
                log.warning('the log "%s" cannot be begun anew: %s', path.name, error)

    def thin(self) -> None:
        """Remove the oldest dead letters of programs that run, while these write, and of those that may be resumed; all
        but what their snapshots name.
        """
        tables = self._tables()
        if not tables:
            return
        jobs: dict[str, list[str]] = {}
        running: set[str] = set()
        for job in self.store.jobs.find():
            jobs.setdefault(job.program, []).append(job.id)
            running |= set() if job.over else {job.program}
        for table in tables:
            program = table.parent.name
            try:
                before = time.time() - self.keep.letters
                if program not in jobs or (program not in running and _touched(table) >= before):
                    continue
                most, snapshots = self.keep.letters_bytes, self.keep.snapshots
                if gone := old_letters.thin(table, int(before * 1e6), most, jobs[program], snapshots):
                    log.info('%d dead letters in "%s" are removed, the oldest', gone, table)
            except (GhcmError, OSError) as error:  # the next time
                log.warning('the oldest dead letters in "%s" cannot be removed yet: %s', table, error)

    def _tables(self) -> list[Path]:
        return [path for path in self.state.dead.glob("*/*") if path.is_dir()]

    def _over(self, ended_before: int) -> Iterator[Job]:
        """The jobs whose time is over: behind the latest of its program and folder that has written."""
        written: set[tuple[str, Path]] = set()
        latest: set[tuple[str, Path]] = set()
        for job in self.store.jobs.find():
            try:
                place = (job.program, self.state.folder_of(job.id))
            except GhcmError:
                continue
            if job.over and place in latest and place in written and (job.ended or job.submitted) < ended_before:
                yield job
            latest.add(place)
            if place not in written and self.has_written(job):
                written.add(place)

    def _forget(self, job: Job) -> None:
        """Remove a job; what is elsewhere first, which may fail, and what tells where that is behind it."""
        remove(self.snapshots / job.id)
        for kept in (*self.snapshots.glob(f"{job.id}-*.ghcm"), self.snapshots / f"{job.id}.json"):
            kept.unlink(missing_ok=True)
        self.store.jobs.forget(job.id)
        log.info('job "%s" is over and forgotten', job.id)
        bundles = self.state.bundle(job.id).parent
        for path in (*bundles.glob(f"{job.id}.*"), *self.state.logs.glob(f"{job.id}.log*")):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _begin_anew(path: Path, before: Path) -> None:
    shutil.copy(path, before)
    with path.open("r+b") as file, before.open("ab") as kept:
        file.seek(kept.tell())  # what was added meanwhile
        shutil.copyfileobj(file, kept)
        kept.flush()
        file.truncate(0)


def _touched(table: Path) -> float:
    """When something in a table was last written (seconds since 1970)."""
    return max(path.stat().st_mtime for path in (table, *table.rglob("*")))
