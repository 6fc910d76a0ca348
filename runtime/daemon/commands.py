"""How the daemon starts its processes: the command lines and environments, and nothing about when.

All of them take SIGTERM as the request to finish what is half done and end with 0.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ghcm.runtime.daemon.child import Command
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.job_list import Job
from ghcm.runtime.pubsub.embedded import embedded_command

SLOT: dict[str, str] = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ARROW_NUM_THREADS"), "1"),
    "POLARS_MAX_THREADS": "2",
}
"""Thread pools of libraries, capped to what one slot may use: one thread for the loop, and of Polars one more, so that
the loop does not wait for what is decoded or saved beside it.
"""


def redis(state: StateDirectory) -> Command:
    """The private Redis."""
    return Command("redis", embedded_command(state.redis), state.logs / "redis.log")


def http(state: StateDirectory, url: str, listener: int) -> Command:
    """The Supervisor's HTTP process on a socket that is already bound."""
    arguments = ["--state", str(state.path), "--redis", url, "--fd", str(listener)]
    return _python("http", "ghcm.supervisor", arguments, state, inherits=(listener,))


def engine(state: StateDirectory, url: str, job: Job, base: Path) -> Command:
    """The engine process of one job: runs its stream units, writes its reports to standard output."""
    arguments = ["--bundle", job.bundle, "--job", job.id, "--state", str(state.path)]
    arguments += ["--base", str(base), "--redis", url]
    return _python(job.id, "ghcm.runtime.slot.process", arguments, state, patience=30.0)


def spare(state: StateDirectory) -> Command:
    """A process that becomes an engine."""
    return _python("spare", "ghcm.runtime.daemon.spare", [], state)


def spark(state: StateDirectory, url: str) -> Command:
    """The Spark driver of all jobs."""
    return _python("spark", "ghcm.runtime.spark", ["--state", str(state.path), "--redis", url], state, patience=20.0)


def _python(
    name: str,
    module: str,
    arguments: list[str],
    state: StateDirectory,
    *,
    inherits: tuple[int, ...] = (),
    patience: float = 10.0,
) -> Command:
    line = [sys.executable, "-u", "-m", module, *arguments]
    return Command(name, line, state.logs / f"{name}.log", SLOT, inherits, patience)
