"""The call service: calls are stored, sent through their msg cache, waited for and cancelled.

The only way in for calls from outside. Results are not its business; they rest in sinks (`ghcm.supervisor.call_rows`).
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from ghcm.errors import GhcmError
from ghcm.runtime.jobs.calls import Call
from ghcm.runtime.jobs.database import Busy
from ghcm.runtime.jobs.store import JobState, Store
from ghcm.runtime.logs import about
from ghcm.runtime.pubsub.cache import AsyncMessageCache, Topic
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, failure, new_id, now_us
from ghcm.runtime.settings import Settings
from ghcm.supervisor.access.callers import publisher_of
from ghcm.supervisor.catalogue import KnownUnit
from ghcm.supervisor.inbox import Inbox
from ghcm.supervisor.quotas import Quotas

log = logging.getLogger("ghcm.supervisor")

T = TypeVar("T")

_SEND_SECONDS = 5.0
"""How long a caller waits for a msg cache that is away. Sending goes on behind its back."""

_BUSY_SECONDS = 5.0
"""How long a caller waits for others who write to the store."""

_LOOK_SECONDS = 1.0
"""How often to look for the answer of a call that is waited for: the feedback that tells it can be lost with its cache,
and who cancels a call that nobody has begun with tells nobody.
"""

_ENDING = {JobState.STOPPING: "is being stopped", JobState.STOPPED: "was stopped", JobState.FAILED: "has failed"}

_STREAM_SECONDS = 60.0
"""The longest time that a call of a stream unit has unless it says otherwise: nobody waits longer for live state."""

OpenCache = Callable[[Topic], AsyncMessageCache]
"""The caller's side of the msg cache of a topic."""


@dataclass(slots=True)
class CallService:
    """Takes calls, in one event loop; what may wait for other writers of the store does so in a thread beside it."""

    store: Store
    inbox: Inbox
    open_cache: OpenCache
    settings: Settings = field(default_factory=Settings)
    quotas: Quotas = field(init=False)
    ending: bool = field(default=False, init=False)
    """Whether nobody is to wait any longer."""
    _caches: dict[Topic, AsyncMessageCache] = field(default_factory=dict[Topic, AsyncMessageCache])
    _sending: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "ghcm-store"))
    _disk: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "ghcm-sync"))
    _syncing: asyncio.Task[None] | None = None
    _next_sync: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.quotas = Quotas(self.settings.quotas)

    async def take(
        self,
        unit: KnownUnit,
        parameters: Mapping[str, object],
        *,
        id: str | None,
        seconds: float | None,
        job: str,
        trace: str = "",
        caller: str = "",
        engine: str = "",
    ) -> tuple[Call, bool]:
        """Accept a call of a program that runs as this job and send it; the call, and whether it is new. An id that was
        used is that call. GhcmError for a new one where the job is being stopped, or has been, or where the caller or
        the unit has too many. `trace` is the id of the trace that it belongs to, `engine` who is to run it.
        """
        self.quotas.charge(publisher_of(caller))
        instruction = Instruction(
            id=id or new_id(),
            program=unit.program,
            unit=unit.unit.name,
            parameters=parameters,
            reply=self.inbox.address,
            deadline=now_us() + int(self._seconds(unit, seconds) * 1_000_000),
            trace=trace,
            publisher=publisher_of(caller),
            engine=engine,
        )
        try:  # at once, since a way through a thread and back takes longer than the work
            call, new = self._accept(instruction, wait=False, job=job)
        except Busy:
            due = time.monotonic() + _BUSY_SECONDS
            call, new = await self._in_thread(lambda: self._accept_by(due, instruction, job))
        if new:
            with about(instruction):
                log.debug('call "%s" of "%s.%s": accepted', instruction.id, unit.program, unit.unit.name)
                await self._send(unit, instruction)
        return call, new

    async def wait(self, id: str, seconds: float) -> Call:
        """The call once it is final, or as it stands after so many seconds or, within one, when the service is ending.
        GhcmError if there is none.
        """
        with self.inbox.follow(id) as feedback:
            call = await self.get(id)
            if call.final:
                return call
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while not self.ending and not await self._told(feedback) and not self.store.calls.answered(id):
                        pass
        return await self.get(id)

    async def get(self, id: str) -> Call:
        """The call of that id; GhcmError if there is none."""
        call = self.store.calls.get(id)  # readers never wait for writers
        if call is None:
            hint = "answered calls are forgotten: [keep] calls says when."
            raise GhcmError(f'there is no call "{id}"', code="GHCM-323", hint=hint)
        return call

    async def sync(self) -> None:
        """Return once everything that the store says now outlives a loss of power: before callers are told of it. Those
        who ask while it is being synced share the next sync.
        """
        if self._next_sync is None:
            self._next_sync = asyncio.create_task(self._sync(self._syncing), name="sync")
        await asyncio.shield(self._next_sync)

    def made_by(self, id: str) -> str | None:
        """Who has made the call of that id; None if there is none."""
        call = self.store.calls.get(id)
        return None if call is None else call.instruction.publisher

    async def cancel(self, id: str) -> Feedback:
        """Cancel the call unless it has its answer; the answer that holds."""
        return await self._in_thread(lambda: self.store.calls.cancel(id))

    async def close(self) -> None:
        """Close the caches; the store is closed by who opened it."""
        for sending in self._sending:
            sending.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        for cache in self._caches.values():
            await cache.close()
        self._thread.shutdown()
        self._disk.shutdown()

    def _accept_by(self, due: float, instruction: Instruction, job: str) -> tuple[Call, bool]:
        """Accept a call that has waited for its turn, unless that is too long ago."""
        if time.monotonic() > due:
            hint = "call again in a moment; if it stays so, see who writes to the store: ghcm logs daemon."
            raise GhcmError("the store of calls is busy for too long", code="GHCM-740", hint=hint)
        return self._accept(instruction, wait=True, job=job)

    def _accept(self, instruction: Instruction, *, wait: bool, job: str) -> tuple[Call, bool]:
        calls = self.store.calls
        known = calls.get(instruction.id)
        if known is not None:
            return _same(known, instruction), False
        # As it is now, which whoever offers the unit may not have heard.
        state = self.store.jobs.known(job).state
        if state in _ENDING:
            hint = "call again when it runs: ghcm submit --resume."
            raise GhcmError(f'program "{instruction.program}" {_ENDING[state]}', code="GHCM-748", hint=hint)
        waiting = calls.open_calls(instruction.program, instruction.unit)
        most = self.settings.limits.calls
        if waiting >= most:
            self.quotas.refused["unit"] += 1
            raise GhcmError(
                f'unit "{instruction.unit}" has {waiting} calls that wait or run',
                code="GHCM-746",
                detail=f"More than {most} are not taken.",
                hint="call again when some are done.",
            )
        self.quotas.check_open(instruction.publisher, calls.open_calls_of(instruction.publisher))
        return calls.accept(instruction, wait=wait), True

    async def _sync(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait((before,))
        self._syncing, self._next_sync = self._next_sync, None
        await asyncio.get_running_loop().run_in_executor(self._disk, self.store.sync)

    async def _send(self, unit: KnownUnit, instruction: Instruction) -> None:
        cache = self._caches.get(unit.cache)
        if cache is None:
            cache = self._caches[unit.cache] = self.open_cache(unit.cache)
        sending = asyncio.create_task(cache.send(instruction), name=f"send {instruction.id}")
        self._sending.add(sending)
        sending.add_done_callback(self._sent)
        await asyncio.wait((sending,), timeout=_SEND_SECONDS)
        if not sending.done():
            return
        try:
            sending.result()
        except GhcmError as error:
            answer = failure(instruction.id, error)
            await self._in_thread(lambda: self.store.calls.finish(instruction.id, answer))
            raise

    def _sent(self, sending: asyncio.Task[None]) -> None:
        """The end of a sending, which its caller may not have waited for; then the daemon sends the call again."""
        self._sending.discard(sending)
        if not sending.cancelled() and (error := sending.exception()) is not None:
            log.warning("%s: %s", sending.get_name(), error)

    async def _told(self, feedback: asyncio.Queue[Feedback]) -> bool:
        """Whether feedback that is final has come, or False after a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                while not (await feedback.get()).final:
                    pass
                return True
        return False

    def _seconds(self, unit: KnownUnit, wanted: float | None) -> float:
        if wanted is not None:
            return wanted
        longest = min(self.settings.call_timeout, self.settings.limits.deadline)
        return longest if unit.unit.kind == "batch" else min(longest, _STREAM_SECONDS)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _same(known: Call, instruction: Instruction) -> Call:
    same = (known.program, known.unit) == (instruction.program, instruction.unit)
    if not same or dict(known.instruction.parameters) != dict(instruction.parameters):
        raise GhcmError(
            "this Idempotency-Key belongs to another call",
            code="GHCM-325",
            detail=f'It is of unit "{known.unit}" of program "{known.program}" with other parameters.',
            hint="give each call an Idempotency-Key of its own.",
        )
    return known
