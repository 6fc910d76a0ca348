"""A daemon takes the address of the one before, also while that is still ending; who does not wait for an answer is no
mistake of it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.control import ControlServer, Peer, listen
from ghcm.runtime.daemon.protocol import Document, encode


def test_an_address_that_is_given_up_meanwhile_is_taken() -> None:
    before = listen("127.0.0.1", 0)
    port = before.getsockname()[1]
    ending = threading.Timer(0.3, before.close)
    ending.start()
    with listen("127.0.0.1", port) as after:
        assert after.getsockname()[1] == port
    ending.join()


def test_an_address_of_another_is_refused_with_its_name() -> None:
    with listen("127.0.0.1", 0) as other:
        port = other.getsockname()[1]
        with pytest.raises(GhcmError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            listen("127.0.0.1", port)


def test_who_has_gone_before_the_answer_is_no_mistake(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    answered: list[str] = []

    async def answers(op: str, _arguments: Document) -> AsyncIterator[Document]:
        try:
            for _ in range(3):
                yield {"op": op}
        finally:
            answered.append(op)

    async def scene() -> None:
        server = ControlServer(tmp_path / "control.sock", answers, heard)
        await server.open()
        with socket.socket(socket.AF_UNIX) as impatient:
            impatient.connect(str(tmp_path / "control.sock"))
            impatient.sendall(encode({"op": "status"}))
        while not answered:
            await asyncio.sleep(0)
        await server.close()

    with caplog.at_level(logging.ERROR):
        asyncio.run(scene())
    assert (answered, caplog.records) == (["status"], [])


def test_what_is_started_while_the_socket_is_made_has_the_rights_of_its_user(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"

    async def unheard(_op: str, _arguments: Document) -> AsyncIterator[Document]:
        yield {}

    async def scene() -> set[str]:
        server, seen = ControlServer(path, unheard, heard), {umask()}
        opening = asyncio.create_task(server.open())
        while not opening.done():
            await asyncio.sleep(0)
            seen.add(umask())
        assert path.stat().st_mode & 0o777 == 0o600
        await server.close()
        return seen

    assert len(asyncio.run(scene())) == 1


def heard(_op: str, _arguments: Document, _peer: Peer) -> None:
    """Nothing is noted."""


def umask() -> str:
    """What files of this process are made without, as the kernel says."""
    return next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Umask:"))
