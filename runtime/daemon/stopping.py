"""A job is stopped: calls that it has accepted may end within a grace, its streams end with a last commit.

In this order: calls of stream units, which the engine answers; the engine; calls of batch units, which Spark answers.
What becomes of calls that have no answer then is decided where a job is retired (`jobs`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from ghcm.runtime.daemon.call_keeper import CallKeeper
from ghcm.runtime.daemon.job_keeper import JobKeeper

REQUESTED = "stopped by request"

_LOOK_SECONDS = 0.1


@dataclass
class Stop:
    """One stop. `waiting` is told how many calls are waited for, where there are any."""

    keeper: JobKeeper
    calls: CallKeeper
    waiting: Callable[[int], None]
    _end: float = float("inf")

    def hurry(self, grace: float) -> None:
        """Wait for calls no longer than so many seconds from now."""
        self._end = min(self._end, asyncio.get_running_loop().time() + grace)

    async def run(self) -> None:
        """Stop the job; it has ended for good when this returns."""
        keeper = self.keeper
        keeper.take_no_more()
        count = await self._open("stream") + await self._open("batch")
        if count:
            self.waiting(count)
        if keeper.runs:
            await self._drain("stream")
        await keeper.leave()
        await self._drain("batch")
        await keeper.stop(reason=REQUESTED)

    async def _drain(self, kind: str) -> None:
        """Wait until the open calls of units of this kind have their answers, or the grace is over."""
        loop = asyncio.get_running_loop()
        while not self.keeper.job.over and await self._open(kind):
            left = self._end - loop.time()
            if left <= 0:
                return
            await asyncio.sleep(min(left, _LOOK_SECONDS))  # executors end calls in the store, which tells nobody

    async def _open(self, kind: str) -> int:
        units = [unit.name for unit in self.keeper.program.units if unit.kind == kind]
        return await self.calls.open(self.keeper.program.name, units)
