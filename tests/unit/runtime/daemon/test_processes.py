"""The processes that all jobs share."""

from __future__ import annotations

import socket
from pathlib import Path

from ghcm.runtime.daemon.processes import Processes
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import Job, JobState
from ghcm.runtime.settings import REDIS, Settings


def test_what_holds_a_password_does_not_show_it(tmp_path: Path) -> None:
    url = "redis://me:secret@localhost:1/0"
    with socket.socket() as listener:
        state, settings = StateDirectory(tmp_path), Settings(redis=url)
        processes = Processes(settings, state, url, listener, print, lambda: None, print)
    assert "secret" not in repr(processes)
    job = Job("main-1", "main", "main.ghcm", JobState.RUNNING, "", None, 0, 0, None, None, 1, {})
    command = processes.engine(job, tmp_path)
    assert "secret" not in " ".join(command.arguments)
    assert command.environment[REDIS] == url
