"""Sees to it that accepted calls end in one final answer even if those who should answer are dead.

Ends calls whose deadline has passed, sends unanswered calls again after a process or the cache has died, answers the
calls of programs that are gone. Executing is the business of engine and Spark driver; the call store keeps answers
apart.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ghcm.errors import GhcmError
from ghcm.runtime.jobs.calls import FORGOTTEN_AT_ONCE, Call, CallState
from ghcm.runtime.jobs.store import Store
from ghcm.runtime.pubsub.cache import MessageCache, Topic
from ghcm.runtime.pubsub.connections import Connections, topic_of
from ghcm.runtime.pubsub.envelope import Failed, Feedback, Instruction, State, now_us
from ghcm.spg.graph import Program

log = logging.getLogger("ghcm.daemon")

_SWEEP_SECONDS, _FORGET_SECONDS = 0.5, 10.0
_SWEEPS_FOR_OVERDUE = 10
_FORGOTTEN_US = 30 * 1_000_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settled:
    """How many open calls of a program that ended wait until it is resumed, and how many were answered."""

    kept: int = 0
    answered: int = 0


@dataclass(eq=False, slots=True)
class CallReconciler:
    """`programs` gives the programs that have a job; `present` one of them as it is at this moment, None while it
    changes, from any thread; `timeout` is the seconds that a call without a deadline has, `kept` those that
    answered ones stay, and `answers` the rows of their replies. Blocking work happens in one thread of its own.
    """

    store: Store
    connections: Connections
    programs: Callable[[], Iterable[Program]]
    present: Callable[[str], Program | None]
    timeout: float
    kept: float = 24 * 3600.0
    answers: float = 600.0
    _sweeps: int = 0
    _sent_again: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict[tuple[str, str], tuple[str, int]])
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "ghcm-calls"))
    _caches: dict[tuple[Topic, str], MessageCache] = field(default_factory=dict[tuple[Topic, str], MessageCache])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False
    _again: asyncio.Event = field(default_factory=asyncio.Event)
    _died: bool = False
    _bereaved: set[str] = field(default_factory=set[str])
    """Programs that changed at the moment at which calls of their dead were looked for."""

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
                await loop.run_in_executor(self._thread, self._expire, list(self.programs()))
                if self._again.is_set():
                    self._again.clear()
                    died, self._died = self._died, False
                    await loop.run_in_executor(self._thread, self._send_unanswered, list(self.programs()), died)
                if loop.time() >= forget:
                    gone = await loop.run_in_executor(self._thread, self._forget)
                    forget = loop.time() + (0 if gone == FORGOTTEN_AT_ONCE else _FORGET_SECONDS)
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
            if self.store.calls.accept_own(instruction):
                self._send(program, instruction)

        await self._in_thread(send)

    async def fail(self, program: str, reason: str, units: Collection[str]) -> None:
        """Answer the open calls of units that cannot be run."""
        await self._in_thread(lambda: self._fail(self._open(program, units), Failed("GHCM-745", reason)))

    async def settle(self, program: str, why: Failed) -> Settled:
        """Decide what becomes of the open calls of a program whose job is over. Those from outside are answered with
        `why`. Its own are part of its state, as the positions of its streams are: they wait until it is resumed.
        """

        def settle() -> Settled:
            calls = self._open(program)
            kept = [call for call in calls if call.own and self.store.calls.keep(call.id)]
            outside = [call for call in calls if not call.own]
            self._fail(outside, why)
            return Settled(len(kept), len(outside))

        return await self._in_thread(settle)

    async def give_up(self, program: str) -> None:
        """Answer the calls that wait for a program to be resumed: it begins anew."""
        why = Failed("GHCM-748", f'program "{program}" was stopped before, and has begun anew')
        await self._in_thread(lambda: self._fail(self._open(program), why))

    async def renew(self, program: str) -> None:
        """Have the calls that waited for a program to be resumed run soon."""
        await self._in_thread(lambda: self.store.calls.renew(program))
        self.send_again(died=False)

    async def open(self, program: str, units: Collection[str]) -> int:
        """How many calls of these units have no answer."""
        return len(await self._in_thread(lambda: self._open(program, units)))

    def hurry(self) -> None:
        """Send nothing more, and wait for no Redis or Kafka; from any thread."""
        with self._lock:
            self._closed = True
            caches = list(self._caches.values())
        for cache in caches:
            cache.close()

    def close(self) -> None:
        """Close the caches."""
        self.hurry()
        self._thread.shutdown()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _forget(self) -> int:
        now = now_us()
        self.store.replies.forget(now - int(self.answers * 1e6))
        return self.store.calls.forget(now - int(self.kept * 1e6))

    def _open(self, program: str, units: Collection[str] | None = None) -> list[Call]:
        return [call for call in self.store.calls.unanswered(program) if units is None or call.unit in units]

    def _fail(self, calls: Iterable[Call], why: Failed) -> None:
        """Answer these calls, and tell who waits where that is possible: the answer is in the store."""
        answers = [(call, self._ended(call, why)) for call in calls]
        try:
            for call, answer in answers:
                self._tell(call, answer)
        except GhcmError as error:
            log.warning("callers cannot be told just now: %s", error)

    def _expire(self, programs: list[Program]) -> None:
        self._sweeps += 1
        running = {program.name for program in programs}
        overdue = self._overdue(running) if self._sweeps % _SWEEPS_FOR_OVERDUE == 0 else ()
        for call in [*self.store.calls.expire_overdue(), *overdue]:
            log.info('call "%s" of "%s.%s" has expired', call.id, call.program, call.unit)
            self._tell(call, call.feedback)
        if self._sweeps % _SWEEPS_FOR_OVERDUE == 0:
            for program in programs:
                self._fail_orphans(program.name, died=False)
                self._send_forgotten(program)
            self._fail_strays(running)

    def _fail_orphans(self, program: str, *, died: bool) -> None:
        """Answer the calls of units that are no more. Who runs one finishes it, unless that `died`."""
        # First the calls, then the program: who was called by a version that came meanwhile is found in that one.
        calls = self.store.calls.unanswered(program)
        present = self.present(program)
        died = died or program in self._bereaved
        if present is None:  # it is looked at again as soon as its new version is known here
            self._bereaved |= {program} if died else set()
            return
        self._bereaved.discard(program)
        units = {unit.name for unit in present.units}
        for call in calls:
            if call.unit not in units and (died or call.state is CallState.ACCEPTED):
                why = Failed("GHCM-745", f'program "{program}" has no unit "{call.unit}" any more')
                self._tell(call, self._ended(call, why))

    def _fail_strays(self, running: Collection[str]) -> None:
        """Answer the calls from outside that were accepted while their program was being stopped, behind the moment at
        which it was decided what becomes of those that it had (`settle`).
        """
        for call in self.store.calls.unanswered():
            lives = call.own or call.program in running or self.store.jobs.find(call.program, over=False)
            if not lives:
                why = Failed("GHCM-748", f'program "{call.program}" was stopped before the call was answered')
                self._tell(call, self._ended(call, why))

    def _overdue(self, programs: Collection[str]) -> Iterator[Call]:
        """Ends the calls without a deadline (policies give none) that have waited too long, where they could be run."""
        before = now_us() - int(self.timeout * 1e6)
        for call in self.store.calls.unanswered():
            if call.program in programs and call.instruction.deadline is None and call.accepted < before:
                error = Failed(
                    "GHCM-743", f"the call was not answered within {self.timeout:.0f} seconds", call.waits_for
                )
                yield replace(call, feedback=self._ended(call, error, State.EXPIRED))

    def _send_unanswered(self, programs: list[Program], died: bool) -> None:
        for program in programs:
            self._fail_orphans(program.name, died=died)
            for call in self.store.calls.unanswered(program.name):
                if any(unit.name == call.unit for unit in program.units):
                    self._send(program, call.instruction)

    def _send_forgotten(self, program: Program) -> None:
        """Send again the call of each unit that comes first and that nobody has begun with for long: who accepted it
        may not have reached the cache, and others may wait for its end. Sending one that only waits is harmless.
        """
        for unit in program.units:
            first = self.store.calls.first_open(program.name, [unit.name])
            call = None if first is None else self.store.calls.get(first)
            if call is None or call.state is not CallState.ACCEPTED:
                continue
            id, sent = self._sent_again.get((program.name, unit.name), ("", 0))
            if (sent if id == call.id else call.accepted) + _FORGOTTEN_US < now_us():
                self._sent_again[program.name, unit.name] = (call.id, now_us())
                self._send(program, call.instruction)

    def _send(self, program: Program, instruction: Instruction) -> None:
        self._cache(topic_of(program, program.unit(instruction.unit)), program.name).send(instruction)

    def _ended(self, call: Call, why: Failed, state: State = State.FAILED) -> Feedback:
        return self.store.calls.finish(call.id, Feedback(call.id, state, error=why))

    def _tell(self, call: Call, answer: Feedback) -> None:
        if (reply := call.instruction.reply) is not None:
            for road in self.connections.roads(reply):
                self._cache(road, call.program).send_feedback(reply, answer)

    def _cache(self, topic: Topic, program: str) -> MessageCache:
        key = (topic, program)
        with self._lock:
            if self._closed:
                raise GhcmError("the daemon is ending", code="GHCM-723", hint="start it again: ghcm supervise.")
            if key not in self._caches:
                self._caches[key] = self.connections.cache(topic, program, "daemon")
            return self._caches[key]
