"""Sees to it that accepted calls end in one final answer even if those who should answer are dead.

Ends calls whose deadline has passed, sends unanswered calls again after a process or the cache has died, answers the
calls of programs that are gone. Executing is the business of engine and Spark driver; the call store keeps answers
apart.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ghcm.errors import GhcmError
from ghcm.runtime.jobs.calls import Call, CallState
from ghcm.runtime.jobs.store import Store
from ghcm.runtime.pubsub.cache import MessageCache
from ghcm.runtime.pubsub.connections import Connections, place_of
from ghcm.runtime.pubsub.envelope import Failed, Feedback, Instruction, State, now_us
from ghcm.spg.graph import Program

__all__ = ["CallKeeper"]

log = logging.getLogger("ghcm.daemon")

_SWEEP_SECONDS = 0.5
_SWEEPS_FOR_OVERDUE = 10
_KEEP_US = 24 * 3600 * 1_000_000


class CallKeeper:
    """`programs` gives the programs that have a job; `timeout` is the seconds that a call without a deadline has.
    Blocking work happens in one thread of its own.
    """

    def __init__(
        self, store: Store, connections: Connections, programs: Callable[[], Iterable[Program]], timeout: float
    ) -> None:
        self._store = store
        self._connections = connections
        self._programs = programs
        self._timeout = timeout
        self._sweeps = 0
        self._thread = ThreadPoolExecutor(1, "ghcm-calls")
        self._caches: dict[tuple[str, str], MessageCache] = {}
        self._again = asyncio.Event()
        self._died = False

    def send_again(self, *, died: bool = True) -> None:
        """Have all unanswered calls sent again soon: somebody `died` who may have held them, or units have come."""
        self._died = self._died or died
        self._again.set()

    async def run(self) -> None:
        """Keep watch until cancelled."""
        loop = asyncio.get_running_loop()
        forget = loop.time()
        while True:
            try:
                await loop.run_in_executor(self._thread, self._expire, list(self._programs()))
                if self._again.is_set():
                    self._again.clear()
                    died, self._died = self._died, False
                    await loop.run_in_executor(self._thread, self._send_unanswered, list(self._programs()), died)
                if loop.time() >= forget:
                    forget = loop.time() + 600
                    await loop.run_in_executor(self._thread, self._store.calls.forget, now_us() - _KEEP_US)
            except GhcmError as error:  # the cache or the store is away; what was not done is done in the next round
                log.warning("calls are not looked after just now: %s", error)
                await asyncio.sleep(1)
                self.send_again()
            # Deadlines are written by other processes, which have no way to wake us.
            try:
                await asyncio.wait_for(self._again.wait(), _SWEEP_SECONDS)
            except TimeoutError:
                continue

    async def call(self, program: Program, instruction: Instruction) -> None:
        """Accept a call of the daemon's own and send it."""

        def send() -> None:
            self._store.calls.accept(instruction)
            self._send(program, instruction)

        await asyncio.get_running_loop().run_in_executor(self._thread, send)

    async def fail(self, program: str, reason: str, units: Collection[str] | None = None) -> None:
        """Answer the open calls of a program that is gone, or of those of its units that cannot be run."""

        def end() -> None:
            for call in self._store.calls.unanswered(program):
                if units is not None and call.unit not in units:
                    continue
                error = Failed("GHCM-745", reason)
                self._tell(call, self._store.calls.finish(call.id, Feedback(call.id, State.FAILED, error=error)))

        await asyncio.get_running_loop().run_in_executor(self._thread, end)

    def close(self) -> None:
        """Close the caches."""
        for cache in self._caches.values():
            cache.close()
        self._thread.shutdown()

    def _expire(self, programs: list[Program]) -> None:
        self._sweeps += 1
        overdue = self._overdue() if self._sweeps % _SWEEPS_FOR_OVERDUE == 0 else ()
        for call in [*self._store.calls.expire_overdue(), *overdue]:
            log.info('call "%s" of "%s.%s" has expired', call.id, call.program, call.unit)
            self._tell(call, call.feedback)
        for program in programs if self._sweeps % _SWEEPS_FOR_OVERDUE == 0 else ():
            self._fail_orphans(program, died=False)

    def _fail_orphans(self, program: Program, *, died: bool) -> None:
        """Answer the calls of units that the program has no more. Those that run are finished by who runs them, unless
        that `died`.
        """
        units = {unit.name for unit in program.units}
        for call in self._store.calls.unanswered(program.name):
            if call.unit not in units and (died or call.state is CallState.ACCEPTED):
                error = Failed("GHCM-745", f'program "{program.name}" has no unit "{call.unit}" any more')
                self._tell(call, self._store.calls.finish(call.id, Feedback(call.id, State.FAILED, error=error)))

    def _overdue(self) -> Iterator[Call]:
        """Ends the calls without a deadline of their own (policies give none) that have waited too long."""
        for call in self._store.calls.unanswered():
            if call.instruction.deadline is None and call.accepted + int(self._timeout * 1e6) < now_us():
                error = Failed("GHCM-743", f"the call was not answered within {self._timeout:.0f} seconds")
                answer = self._store.calls.finish(call.id, Feedback(call.id, State.EXPIRED, error=error))
                yield replace(call, feedback=answer)

    def _send_unanswered(self, programs: list[Program], died: bool) -> None:
        for program in programs:
            self._fail_orphans(program, died=died)
            for call in self._store.calls.unanswered(program.name):
                if any(unit.name == call.unit for unit in program.units):
                    self._send(program, call.instruction)

    def _send(self, program: Program, instruction: Instruction) -> None:
        self._cache(place_of(program, program.unit(instruction.unit)), program.name).send(instruction)

    def _tell(self, call: Call, answer: Feedback) -> None:
        if call.instruction.reply is not None:
            self._cache(call.instruction.reply, call.program).send_feedback(call.instruction.reply, answer)

    def _cache(self, place: str, program: str) -> MessageCache:
        key = (place, program)
        if key not in self._caches:
            self._caches[key] = self._connections.cache(place, program, "daemon")
        return self._caches[key]
