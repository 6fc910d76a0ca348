"""How the HTTP process follows the jobs of its daemon."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime import keeping
from ghcm.runtime.daemon.protocol import encode
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.supervisor import app
from ghcm.supervisor.app import Supervisor
from ghcm.supervisor.inbox import Inbox
from tests.unit.supervisor.serving import CALLS, serving

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


def test_feedback_is_heard_again_after_an_error_that_nobody_has_thought_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    serve, begun = Inbox.serve, list[object]()

    async def ear(inbox: Inbox, *given: object) -> None:
        begun.append(given)
        if len(begun) == 1:
            raise KeyError("what nobody has thought of")
        await serve(inbox, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Inbox, "serve", ear)
    monkeypatch.setattr(keeping, "_PAUSE_SECONDS", 0.0)
    with serving(tmp_path) as shop:
        assert shop.post(f"{CALLS}?wait=60", {"item": "tea"}).json["state"] == "done"
    assert len(begun) == 2
    assert "the ear for feedback has failed, and begins anew" in caplog.text
    assert "what nobody has thought of" in caplog.text
