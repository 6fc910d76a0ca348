"""The processes that all jobs share."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from ghcm.runtime.daemon import processes as module
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


def test_a_redis_that_loads_its_data_lives_and_is_not_ready(tmp_path: Path) -> None:
    answers = [b"-LOADING Redis is loading the dataset in memory\r\n"]

    async def redis(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answers[-1])
        writer.close()

    async def scene() -> None:
        path = tmp_path / "redis.sock"
        async with await asyncio.start_unix_server(redis, path), asyncio.timeout(60):
            await module._answers_ping(path, loading=True)  # pyright: ignore[reportPrivateUsage]
            ready = asyncio.create_task(module._answers_ping(path))  # pyright: ignore[reportPrivateUsage]
            assert not (await asyncio.wait((ready,), timeout=0.1))[0]
            answers.append(b"+PONG\r\n")
            await ready

    asyncio.run(scene())
