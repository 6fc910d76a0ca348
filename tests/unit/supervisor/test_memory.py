"""What the HTTP process keeps in memory."""

import asyncio
import gc
from pathlib import Path

from fastapi import FastAPI

from ghcm.runtime.daemon.state import StateDirectory
from ghcm.supervisor.app import Supervisor
from tests.redis_server import RedisServer


def test_what_was_offered_before_a_change_leaves_the_memory(tmp_path: Path, redis_server: RedisServer) -> None:
    async def scene() -> int:
        supervisor = Supervisor(StateDirectory(tmp_path), redis_server.url)
        await supervisor.open()
        try:
            for _ in range(3):
                supervisor.refresh()
            gc.unfreeze()
            return sum(isinstance(each, FastAPI) for each in gc.get_objects())
        finally:
            await supervisor.close()

    assert asyncio.run(scene()) == 1
