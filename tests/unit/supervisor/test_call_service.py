"""The service where calls are taken: what becomes of them where caches are slow, answers untold, programs at an end."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.jobs.calls import Call, CallState
from ghcm.runtime.jobs.store import JobState, Store, open_store
from ghcm.runtime.pubsub.cache import START, Positioned, Topic
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State
from ghcm.supervisor import call_service
from ghcm.supervisor.call_service import CallService
from ghcm.supervisor.catalogue import KnownUnit
from ghcm.supervisor.inbox import Inbox
from ghcm.supervisor.models import parameters_model
from ghcm.supervisor.problems import problem_of
from tests.unit.runtime.small_operators import unit

ASK = unit("ask", responsive=True)
UNIT = KnownUnit("small", ASK, Topic("ghcm:cache:small:ask"), parameters_model(ASK))


@dataclass
class SlowCache:
    """A msg cache that stores an instruction when it is told to, or is away for good."""

    answers: asyncio.Event = field(default_factory=asyncio.Event)
    away: bool = False
    sent: list[Instruction] = field(default_factory=list[Instruction])
    stored: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, instruction: Instruction) -> None:
        await self.answers.wait()
        if self.away:
            raise GhcmError("Redis cannot be reached", code="GHCM-720")
        self.sent.append(instruction)
        self.stored.set()

    async def feedback(self, address: str, after: str = START) -> AsyncIterator[Positioned]:
        await asyncio.Event().wait()
        yield Positioned(after, Feedback("", State.DONE))

    async def close(self) -> None:
        pass


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "jobs.sqlite")
    store.jobs.submit("small-1", "small", "small.ghcm")
    yield store
    store.close()


def with_service(store: Store, scene: Callable[[CallService, SlowCache], Coroutine[None, None, None]]) -> None:
    """Play a scene at a service with such a cache."""

    async def play() -> None:
        cache = SlowCache()
        service = CallService(store, Inbox(cache, "replies"), lambda _: cache)
        async with asyncio.timeout(60):
            await scene(service, cache)
            await service.close()

    asyncio.run(play())


async def take(service: CallService, id: str) -> None:
    await service.take(UNIT, {}, id=id, seconds=None, job="small-1")


def test_a_call_is_sent_even_if_its_caller_has_not_waited_for_that(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_service, "_SEND_SECONDS", 0.01)

    async def scene(service: CallService, cache: SlowCache) -> None:
        await take(service, "slow")
        assert not cache.sent
        cache.answers.set()
        await cache.stored.wait()
        assert [instruction.id for instruction in cache.sent] == ["slow"]

    with_service(store, scene)


def test_a_cache_that_is_away_fails_the_call_of_who_waits_and_leaves_that_of_who_went_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(service: CallService, cache: SlowCache) -> None:
        cache.away = True
        monkeypatch.setattr(call_service, "_SEND_SECONDS", 0.01)
        await take(service, "left")
        cache.answers.set()
        monkeypatch.setattr(call_service, "_SEND_SECONDS", 60)
        with pytest.raises(GhcmError, match="cannot be reached"):
            await take(service, "failed")

    with_service(store, scene)
    states = [call.state for id in ("left", "failed") if (call := store.calls.get(id)) is not None]
    assert states == [CallState.ACCEPTED, CallState.FAILED]


async def waited_for(service: CallService, cache: SlowCache) -> asyncio.Task[Call]:
    """Somebody who waits for a call that nobody answers."""
    cache.answers.set()
    await take(service, "call")
    waiting = asyncio.create_task(service.wait("call", 1000))
    await asyncio.sleep(0)  # it waits now
    return waiting


def test_who_waits_learns_of_an_answer_that_nobody_tells(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_service, "_LOOK_SECONDS", 0.01)

    async def scene(service: CallService, cache: SlowCache) -> None:
        waiting = await waited_for(service, cache)
        await service.cancel("call")
        assert (await waiting).state is CallState.CANCELLED

    with_service(store, scene)


def test_nobody_waits_for_a_service_that_ends(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_service, "_LOOK_SECONDS", 0.01)

    async def scene(service: CallService, cache: SlowCache) -> None:
        waiting = await waited_for(service, cache)
        service.ending = True
        assert (await waiting).state is CallState.ACCEPTED

    with_service(store, scene)


def test_a_store_that_is_locked_for_long_refuses_calls_and_says_why(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_service, "_BUSY_SECONDS", 0.1)
    other = open_store(tmp_path / "jobs.sqlite", busy=0.1)

    async def scene(service: CallService, cache: SlowCache) -> None:
        cache.answers.set()
        service.store = other
        with store.database.transaction():
            refused = await asyncio.gather(*(take(service, f"c{n}") for n in range(8)), return_exceptions=True)
        problems = [problem_of(each) for each in refused if isinstance(each, GhcmError)]
        assert [(each.status, each.code) for each in problems] == [(503, "GHCM-740")] * 8
        await take(service, "afterwards")

    with_service(store, scene)
    assert [call.id for call in store.calls.find()] == ["afterwards"]
    other.close()


def test_no_call_is_taken_behind_the_end_of_a_job_whoever_has_not_heard_of_it(store: Store) -> None:
    async def scene(service: CallService, cache: SlowCache) -> None:
        cache.answers.set()
        await take(service, "before")
        for state, said in ((JobState.STOPPING, "is being stopped"), (JobState.STOPPED, "was stopped")):
            store.jobs.move("small-1", state)
            await take(service, "before")  # once more: it is that call
            with pytest.raises(GhcmError) as caught:
                await take(service, "behind")
            problem = problem_of(caught.value)
            assert problem.status == 503 and said in problem.message

    with_service(store, scene)
    assert store.calls.get("behind") is None
