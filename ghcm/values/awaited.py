"""Calls of users' async functions, of both engines: so many at a time, each within its time, again where one fails.

The event loop of a function runs in a thread of its own, so that calls go on while whoever asked for their results is
busy with others.
"""

import asyncio
import queue
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

AsyncFunction: TypeAlias = Callable[[Any], Awaitable[Any]]

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 5.0


@dataclass(frozen=True, slots=True)
class Limits:
    """At most `parallel` calls are under way, each for `timeout_us` (None: however long it takes); one that fails is
    repeated `retries` times.
    """

    parallel: int
    timeout_us: int | None = None
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Raised:
    """What a call has raised in place of giving a result."""

    error: BaseException


class Awaiting:
    """An async function and the loop in which it is called."""

    def __init__(self, function: AsyncFunction, limits: Limits, name: str = "async") -> None:
        self._function = function
        self._limits = limits
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=_run, args=(self._loop,), name=f"ghcm-{name}", daemon=True).start()
        self.close = weakref.finalize(self, self._loop.call_soon_threadsafe, self._loop.stop)
        """Ends all calls, and the loop when they have ended; so does forgetting this."""

    def results(self, values: Sequence[object]) -> Iterator[list[tuple[int, object]]]:
        """For each value its place and its result, or what its call has `Raised`: those that have come, as soon as
        there is one. An error where this is closed meanwhile.
        """
        arrived: queue.SimpleQueue[tuple[int, object] | None] = queue.SimpleQueue()
        calls = asyncio.run_coroutine_threadsafe(self._all(values, arrived.put), self._loop)
        calls.add_done_callback(lambda _: arrived.put(None))
        try:
            going = True
            while going:
                some = [arrived.get()]
                while not arrived.empty():
                    some.append(arrived.get())
                came = [each for each in some if each is not None]
                if came:
                    yield came
                going = len(came) == len(some)
            calls.result()
        finally:
            calls.cancel()

    async def _all(self, values: Sequence[object], arrived: Callable[[tuple[int, object]], None]) -> None:
        free = asyncio.Semaphore(self._limits.parallel)

        async def one(place: int, value: object) -> None:
            async with free:
                arrived((place, await self._insist(value)))

        async with asyncio.TaskGroup() as group:
            for place, value in enumerate(values):
                group.create_task(one(place, value))

    async def _insist(self, value: object) -> object:
        pause, failed = _FIRST_PAUSE_S, 0
        while True:
            outcome = await self._call(value)
            failed += 1
            if not isinstance(outcome, Raised) or failed > self._limits.retries:
                return outcome
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    async def _call(self, value: object) -> object:
        seconds = None if self._limits.timeout_us is None else self._limits.timeout_us / 1e6
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await self._function(value)
        except TimeoutError as error:
            return Raised(TimeoutError(f"no result within {seconds:g} s") if limit.expired() else error)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return Raised(error)
        except (Exception, SystemExit) as error:  # whatever a user's function raises is about this value alone
            return Raised(error)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """The thread of a loop: runs it until it is stopped, and ends what is under way then."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for each in left:
            each.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()
