"""How the HTTP process follows the jobs of its daemon."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.protocol import encode
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.supervisor import app
from ghcm.supervisor.app import Supervisor

EVENTS = 50


def test_changes_that_come_at_once_are_looked_at_once_and_again_where_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    looked = asyncio.Event()

    def refresh(_: Supervisor) -> None:
        looks.append("look")
        if len(looks) == 1:
            raise GhcmError("the store is locked", code="GHCM-740")
        looked.set()

    async def daemon(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            writer.write(encode({"event": "job"}) * EVENTS)
            await reader.read()  # until the other side ends

    async def scene(state: StateDirectory) -> None:
        state.control.parent.mkdir(parents=True, exist_ok=True)
        async with await asyncio.start_unix_server(daemon, str(state.control)), asyncio.timeout(60):
            following = asyncio.create_task(Supervisor(state, "")._follow())
            await looked.wait()
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    monkeypatch.setattr(Supervisor, "refresh", refresh)
    monkeypatch.setattr(app, "_RETRY_SECONDS", 0.01)
    asyncio.run(scene(StateDirectory(tmp_path)))
    assert len(looks) < EVENTS
