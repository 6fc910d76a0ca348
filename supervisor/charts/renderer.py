"""The chart renderer: the drawing process beside the Supervisor, one chart at a time, with a queue that ends.

matplotlib is not safe in threads and holds the interpreter while it draws; in a process of its own it holds up no call,
may take no longer than it is given, and may die. It ends with us: its standard input ends.
"""

import asyncio
import contextlib
import logging
import sys
from asyncio.subprocess import PIPE, Process
from collections import OrderedDict
from typing import Any

from ghcm.supervisor.charts.drawing import Order, encode
from ghcm.supervisor.problems import Problem

log = logging.getLogger("ghcm.supervisor.charts")

_WAITING = 16
"""Charts that wait or are drawn; more are refused."""

_SECONDS = 10.0
"""How long a chart may take."""

_KEPT = 128
"""Pictures that are kept for the next who asks for the same."""


class ChartRenderer:
    """Draws charts. To be used in one event loop."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._drawing = asyncio.Lock()
        self._under_way: dict[bytes, asyncio.Task[bytes]] = {}
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()
        self._warming: asyncio.Task[None] | None = None

    def warm(self) -> None:
        """Make the process ready, as somebody looks who will want charts; where nobody does there is none."""
        if self._process is None and (self._warming is None or self._warming.done()):
            self._warming = asyncio.create_task(self._warm(), name="charts")

    async def close(self) -> None:
        """End the process."""
        tasks: list[asyncio.Task[Any]] = [*self._under_way.values()]
        tasks += [self._warming] if self._warming else []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._end()

    async def draw(self, order: Order) -> bytes:
        """The picture. Problem 429 where too many are waited for, 503 where it takes too long."""
        key = encode(order)
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return kept
        task = self._under_way.get(key)
        if task is None:
            if len(self._under_way) >= _WAITING:
                detail, hint = f"{_WAITING} are waited for.", "ask again in a second."
                raise Problem(429, "GHCM-345", "too many charts are asked for", detail=detail, hint=hint)
            task = self._under_way[key] = asyncio.create_task(self._drawn(key))
            task.add_done_callback(lambda done: self._done(key, done))
        return await asyncio.shield(task)

    def _done(self, key: bytes, task: asyncio.Task[bytes]) -> None:
        del self._under_way[key]
        if task.cancelled() or task.exception() is not None:
            return
        self._kept[key] = task.result()
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    async def _drawn(self, key: bytes) -> bytes:
        async with self._drawing:
            try:
                async with asyncio.timeout(_SECONDS):
                    kind, answer = await self._asked(key) or await self._asked(key) or (b"", b"")
            except TimeoutError:
                await self._end()
                hint = "ask for fewer rows, with last, where or limit."
                raise Problem(503, "GHCM-345", f"the chart took longer than {_SECONDS:.0f} s", hint=hint) from None
        if not kind:
            raise Problem(503, "GHCM-345", "the drawing process has ended twice", hint="ask for fewer rows.")
        if kind != b"\0":
            log.error("a chart could not be drawn: %s", answer.decode())
            raise Problem(500, "GHCM-799", "GHCM has a bug that stopped this chart", hint="see: ghcm logs http.")
        return answer

    async def _asked(self, key: bytes) -> tuple[bytes, bytes] | None:
        """The answer of the process, or None where it has ended; the next question starts another."""
        process = self._process = self._process or await self._begin()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(len(key).to_bytes(4) + key)
            await process.stdin.drain()
            head = await process.stdout.readexactly(5)
            return head[:1], await process.stdout.readexactly(int.from_bytes(head[1:]))
        except (OSError, RuntimeError, asyncio.IncompleteReadError):  # the second is uvloop's for a pipe that is closed
            await self._end()
            return None

    async def _begin(self) -> Process:
        line = (sys.executable, "-m", "ghcm.supervisor.charts")
        return await asyncio.create_subprocess_exec(*line, stdin=PIPE, stdout=PIPE)

    async def _warm(self) -> None:
        async with self._drawing:
            self._process = self._process or await self._begin()

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
