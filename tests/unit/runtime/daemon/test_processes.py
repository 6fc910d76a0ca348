"""The processes that all jobs share."""

from __future__ import annotations

import socket
from pathlib import Path

from ghcm.runtime.daemon.processes import Processes
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.settings import Settings


def test_what_holds_a_password_does_not_show_it(tmp_path: Path) -> None:
    url = "redis://me:secret@localhost:1/0"
    with socket.socket() as listener:
        state, settings = StateDirectory(tmp_path), Settings(redis=url)
        processes = Processes(settings, state, url, listener, print, lambda: None, print)
    assert "secret" not in repr(processes)
