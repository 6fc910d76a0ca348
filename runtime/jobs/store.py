"""The store of jobs and calls, one SQLite file that all processes of a Supervisor share; and its jobs: programs that
were submitted, and how they fare.

It is the arbiter of "exactly one final answer": whoever calls `CallStore.finish` first wins, everyone else gets that
answer.
"""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from ghcm.errors import GhcmError
from ghcm.runtime.jobs.calls import CallStore, RetryOf
from ghcm.runtime.jobs.database import BUSY_SECONDS, Database
from ghcm.runtime.jobs.replies import ReplyStore
from ghcm.runtime.pubsub.envelope import now_us


class JobState(Enum):
    """Where a job stands; the last three are final unless it is started again."""

    SUBMITTED = "submitted"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    """It takes no more calls; those that it has may still end."""
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


ENDED = frozenset({JobState.DONE, JobState.FAILED, JobState.STOPPED})


@dataclass(frozen=True, slots=True)
class Job:
    """A job as stored. `bundle` is the path of its bundle, `reason` why it failed or stopped; times in microseconds
    since 1970 UTC. `version` counts the programs that it has run; `since` says by unit and publish policy which of them
    the policy began with, where that was not the first. `error` is the reason in full, where a part of the program has
    failed.
    """

    id: str
    program: str
    bundle: str
    state: JobState
    reason: str
    error: GhcmError | None = field(compare=False)
    restarts: int
    submitted: int
    started: int | None
    ended: int | None
    version: int
    since: Mapping[str, Mapping[str, int]]

    @property
    def over(self) -> bool:
        """Whether it neither runs nor is going to."""
        return self.state in ENDED


class JobStore:
    """All jobs of a Supervisor. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def submit(
        self, id: str, program: str, bundle: str, version: int = 1, since: Mapping[str, Mapping[str, int]] | None = None
    ) -> Job:
        """Note a new job; a repeated id gives the job as it stands."""
        statement = (
            "INSERT INTO jobs (id, program, bundle, state, reason, restarts, submitted, version, since)"
            " VALUES (?, ?, ?, 'submitted', '', 0, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
        )
        self._database.change(statement, id, program, bundle, now_us(), version, json.dumps(since or {}))
        return self.known(id)

    def move(
        self, id: str, state: JobState, reason: str = "", *, error: GhcmError | None = None, restarted: bool = False
    ) -> Job:
        """Set the state, and why it is so. A job that is over stays so, unless it is submitted or starting again."""
        now = now_us()
        again = state in (JobState.SUBMITTED, JobState.STARTING)
        told = None if error is None else json.dumps(error.document())
        statement = (
            "UPDATE jobs SET state = ?1, reason = ?2, error = ?8, restarts = restarts + ?3,"
            " started = CASE WHEN ?1 = 'running' THEN ?4 ELSE started END,"
            " ended = CASE WHEN ?5 THEN ?4 ELSE NULL END"
            " WHERE id = ?6 AND (?7 OR state NOT IN ('done', 'failed', 'stopped'))"
        )
        self._database.change(statement, state.value, reason, int(restarted), now, state in ENDED, id, again, told)
        return self.known(id)

    def upgrade(self, id: str, version: int, bundle: str, since: Mapping[str, Mapping[str, int]]) -> Job:
        """From now on the job is this version of its program, whoever dies. GhcmError if it has another one already."""
        statement = "UPDATE jobs SET version = ?, bundle = ?, since = ? WHERE id = ? AND version = ?"
        if self._database.change(statement, version, bundle, json.dumps(since), id, version - 1) != 1:
            raise GhcmError(f'job "{id}" cannot become version {version}: it has been changed', code="GHCM-755")
        return self.known(id)

    def get(self, id: str) -> Job | None:
        """The job of that id, or None."""
        rows = self._database.rows("SELECT * FROM jobs WHERE id = ?", id)
        return self._job(rows[0]) if rows else None

    def known(self, id: str) -> Job:
        """The job of that id; GhcmError if there is none."""
        job = self.get(id)
        if job is None:
            raise GhcmError(f'there is no job "{id}"', code="GHCM-744", hint="list the jobs with ghcm ps")
        return job

    def forget(self, id: str) -> None:
        """Remove a job that is over."""
        self._database.change("DELETE FROM jobs WHERE id = ? AND state IN ('done', 'failed', 'stopped')", id)

    def find(self, program: str | None = None, *, over: bool = True) -> list[Job]:
        """The jobs, newest first; without those that are over if `over` is False."""
        rows = self._database.rows(
            "SELECT * FROM jobs WHERE (?1 IS NULL OR program = ?1)"
            " AND (?2 OR state NOT IN ('done', 'failed', 'stopped'))"
            " ORDER BY submitted DESC, id DESC",
            program,
            over,
        )
        return [self._job(row) for row in rows]

    def _job(self, row: sqlite3.Row) -> Job:
        # Beside the store, wherever its folder has been moved to.
        here = self._database.path.parent / "bundles" / Path(row["bundle"]).name
        return Job(
            id=row["id"],
            program=row["program"],
            bundle=str(here) if here.exists() else row["bundle"],
            state=JobState(row["state"]),
            reason=row["reason"],
            error=GhcmError.of(json.loads(row["error"])) if row["error"] else None,
            restarts=row["restarts"],
            submitted=row["submitted"],
            started=row["started"],
            ended=row["ended"],
            version=row["version"],
            since=json.loads(row["since"]),
        )


@dataclass(frozen=True, slots=True)
class Store:
    """Jobs and calls, for several threads and processes; methods take so little time that event loops may call."""

    jobs: JobStore
    calls: CallStore
    replies: ReplyStore
    database: Database

    def sync(self) -> None:
        """Bring to disk what was committed before: whoever tells of it tells what a loss of power does not undo."""
        self.calls.sync()

    def close(self) -> None:
        """Close the file."""
        self.database.close()


def open_store(path: Path, retry: RetryOf | None = None, *, busy: float = BUSY_SECONDS) -> Store:
    """Open the store, making it where there is none. `retry`: see `CallStore`; `busy`: see `Database`. GhcmError if
    the file is damaged or of a newer GHCM.
    """
    database = Database(path, busy)
    return Store(JobStore(database), CallStore(database, retry), ReplyStore(database), database)
