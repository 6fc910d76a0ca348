"""What the HTTP process keeps in memory."""

import asyncio
import gc
from pathlib import Path

from fastapi import FastAPI

from ghcm.runtime.daemon.state import StateDirectory
from ghcm.supervisor.app import Supervisor
from tests.redis_server import RedisServer


def test_what_was_offered_before_a_change_leaves_the_memory(tmp_path: Path, redis_server: RedisServer) -> None:
    def apps() -> list[FastAPI]:
        gc.unfreeze()
        return [each for each in gc.get_objects() if isinstance(each, FastAPI)]

    async def scene() -> int:
        others = len(apps())
        supervisor = Supervisor(StateDirectory(tmp_path), redis_server.url)
        await supervisor.open()
        try:
            for _ in range(3):
                supervisor.refresh()
            return len(apps()) - others
        finally:
            await supervisor.close()

    assert asyncio.run(scene()) == 1
