"""The store of jobs and calls: one SQLite file that all processes of a Supervisor share.

It is the arbiter of "exactly one final answer": whoever calls `CallStore.finish` first wins, everyone else gets that
answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ghcm.runtime.jobs.calls import CallStore
from ghcm.runtime.jobs.database import Database
from ghcm.runtime.jobs.job_list import JobStore


@dataclass(frozen=True, slots=True)
class Store:
    """Jobs and calls. May be used from several threads and processes; methods block for well under a millisecond, so an
    event loop may call them.
    """

    jobs: JobStore
    calls: CallStore
    database: Database

    def close(self) -> None:
        """Close the file."""
        self.database.close()


def open_store(path: Path) -> Store:
    """Open the store, making it where there is none. GhcmError if the file is damaged or of a newer GHCM."""
    database = Database(path)
    return Store(JobStore(database), CallStore(database), database)
