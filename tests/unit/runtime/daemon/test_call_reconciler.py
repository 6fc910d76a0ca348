"""What becomes of calls whose program was stopped, or that nobody has sent."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ghcm.runtime.daemon import call_reconciler
from ghcm.runtime.daemon.call_reconciler import CallReconciler, Settled
from ghcm.runtime.jobs.calls import CallState, Start
from ghcm.runtime.jobs.store import Store, open_store
from ghcm.runtime.pubsub.cache import cache_topic
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import Failed, Feedback, Instruction, State, now_us
from ghcm.spg.graph import Program
from tests.redis_server import connected
from tests.unit.runtime.small_operators import unit

PROGRAM = Program("work", (), (), (unit("keep", responsive=True),))
OWN = Instruction("own", "work", "keep", publisher="work.feed")
DAEMON = Instruction("work-1.all", "work", "all", publisher="daemon")
OUTSIDE = Instruction("outside", "work", "keep", reply="caller", publisher="supervisor")
WHY = Failed("GHCM-748", "it was stopped")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "jobs.sqlite")
    for instruction in (OWN, DAEMON, OUTSIDE):
        store.calls.accept(instruction)
        assert store.calls.started(instruction, "spark-1")[0] is Start.RUN
    store.calls.accept(Instruction("theirs", "other", "keep", publisher="other.feed"))
    yield store
    store.close()


@pytest.fixture
def connections(tmp_path: Path) -> Connections:
    return connected(tmp_path)


def state(store: Store, id: str) -> CallState:
    call = store.calls.get(id)
    assert call is not None
    return call.state


def test_calls_of_a_stopped_program_wait_or_are_answered_by_who_made_them(
    store: Store, connections: Connections
) -> None:
    reconciler = CallReconciler(store, connections, list, lambda _: None, timeout=60)
    assert asyncio.run(reconciler.settle("work", WHY)) == Settled(kept=2, answered=1)
    assert [state(store, id) for id in ("own", "work-1.all", "theirs")] == [CallState.ACCEPTED] * 3
    told = connections.cache("caller", "work", "test").feedback("caller", timeout=0)
    assert [placed.feedback.error for placed in told] == [WHY]
    # The executor that was at it may go on with it, as any other.
    assert store.calls.started(OWN, "spark-1")[0] is Start.RUN
    # What it was at has ended all the same: there is one answer.
    store.calls.finish("own", Feedback("own", State.DONE))
    assert not store.calls.keep("own")
    assert asyncio.run(reconciler.settle("work", WHY)) == Settled(kept=1, answered=0)
    assert state(store, "own") is CallState.DONE


def test_a_program_that_begins_anew_answers_what_has_waited(store: Store, connections: Connections) -> None:
    reconciler = CallReconciler(store, connections, list, lambda _: None, timeout=60)

    async def scene() -> None:
        await reconciler.settle("work", WHY)
        await reconciler.give_up("work")

    asyncio.run(scene())
    assert state(store, "own") is CallState.FAILED
    call = store.calls.get("own")
    assert call is not None and call.feedback.error is not None
    assert call.feedback.error.message == 'program "work" was stopped before, and has begun anew'
    assert state(store, "theirs") is CallState.ACCEPTED


def test_the_time_in_which_a_program_does_not_run_is_not_counted(
    store: Store, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: list[Program] = []
    swept = threading.Event()
    reconciler = CallReconciler(store, connections, lambda: running, lambda _: PROGRAM, timeout=1)
    later = now_us() + 10_000_000
    monkeypatch.setattr(call_reconciler, "now_us", lambda: later)
    monkeypatch.setattr(call_reconciler, "_SWEEPS_FOR_OVERDUE", 1)
    monkeypatch.setattr(call_reconciler, "_SWEEP_SECONDS", 0.01)
    forget = store.calls.forget

    def swept_once(before: int) -> int:  # it comes last in a round
        swept.set()
        return forget(before)

    monkeypatch.setattr(store.calls, "forget", swept_once)

    async def scene() -> None:
        keeping = asyncio.create_task(reconciler.run())
        assert await asyncio.to_thread(swept.wait, 30)
        swept.clear()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    asyncio.run(scene())
    assert state(store, "own") is CallState.RUNNING
    running.append(PROGRAM)
    monkeypatch.setattr("ghcm.runtime.jobs.calls.now_us", lambda: later)
    store.calls.renew("work")
    asyncio.run(scene())
    assert state(store, "own") is CallState.RUNNING
    later += 10_000_000
    asyncio.run(scene())
    assert state(store, "own") is CallState.EXPIRED


def test_a_call_that_nobody_has_sent_is_sent(
    store: Store, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    for id in ("own", "outside"):
        store.calls.cancel(id)
    forgotten = [replace(OWN, id=f"forgotten-{number}") for number in range(2)]
    for instruction in forgotten:
        store.calls.accept(instruction)
    monkeypatch.setattr(call_reconciler, "_SWEEPS_FOR_OVERDUE", 1)
    monkeypatch.setattr(call_reconciler, "_FORGOTTEN_US", 0)
    cache = connections.cache(cache_topic("work", "keep"), "work", "test")

    async def scene() -> None:
        reconciler = CallReconciler(store, connections, lambda: [PROGRAM], lambda _: PROGRAM, timeout=60)
        keeping = asyncio.create_task(reconciler.run())
        for instruction in forgotten:  # the second when it is the first
            delivery = await asyncio.to_thread(cache.receive, "keep", 30)
            assert delivery is not None and delivery.instruction.id == instruction.id
            delivery.acknowledge(store.calls.finish(instruction.id, Feedback(instruction.id, State.DONE)))
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    asyncio.run(scene())


def look_once(reconciler: CallReconciler, monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    """Have the reconciler look after all calls, one round long."""
    looked = threading.Event()

    def over(before: int) -> int:  # it comes last in a round
        looked.set()
        return 0

    monkeypatch.setattr(call_reconciler, "_SWEEPS_FOR_OVERDUE", 1)
    monkeypatch.setattr(store.calls, "forget", over)

    async def scene() -> None:
        keeping = asyncio.create_task(reconciler.run())
        assert await asyncio.to_thread(looked.wait, 30)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    asyncio.run(scene())


NEW = replace(OWN, id="new", unit="new")
GROWN = replace(PROGRAM, units=(*PROGRAM.units, unit("new", responsive=True)))


@pytest.mark.parametrize("known", [None, GROWN], ids=["not known here yet", "known meanwhile"])
def test_a_call_of_a_unit_that_has_come_this_moment_is_no_orphan(
    store: Store, connections: Connections, monkeypatch: pytest.MonkeyPatch, known: Program | None
) -> None:
    store.calls.accept(NEW)  # by the engine, which is a version further than the programs that the round begins with
    reconciler = CallReconciler(store, connections, lambda: [PROGRAM], lambda _: known, timeout=60)
    look_once(reconciler, monkeypatch, store)
    assert state(store, "new") is CallState.ACCEPTED


def test_orphans_of_the_dead_are_answered_when_it_is_known_what_the_program_has(
    store: Store, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    present: list[Program | None] = [None]
    reconciler = CallReconciler(store, connections, lambda: [PROGRAM], lambda _: present[0], timeout=60)
    assert store.calls.started(NEW, "engine-1")[0] is Start.RUN
    reconciler.send_again(died=True)
    look_once(reconciler, monkeypatch, store)
    assert state(store, "new") is CallState.RUNNING
    present[0] = PROGRAM
    reconciler.send_again(died=False)
    look_once(reconciler, monkeypatch, store)
    assert state(store, "new") is CallState.FAILED


def test_a_call_that_was_accepted_behind_the_end_of_its_program_is_answered(
    store: Store, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(CallReconciler(store, connections, list, lambda _: None, timeout=60).settle("work", WHY))
    store.jobs.submit("other-1", "other", "other.ghcm")  # which is being started
    late = [replace(OUTSIDE, id=f"late {program}", program=program) for program in ("work", "other")]
    for instruction in late:
        store.calls.accept(instruction)
    look_once(CallReconciler(store, connections, list, lambda _: None, timeout=60), monkeypatch, store)
    assert [state(store, call.id) for call in late] == [CallState.FAILED, CallState.ACCEPTED]
    assert [state(store, id) for id in ("own", "theirs")] == [CallState.ACCEPTED] * 2


def test_nobody_is_waited_for_when_everything_is_cut_off(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = Connections(tmp_path, f"unix://{tmp_path}/none.sock")
    reconciler = CallReconciler(store, nowhere, list, lambda _: None, timeout=60)
    reconciler.hurry()
    assert asyncio.run(reconciler.settle("work", WHY)) == Settled(kept=2, answered=1)
    assert "callers cannot be told just now: error[GHCM-723]: the daemon is ending" in caplog.text
    assert state(store, "outside") is CallState.FAILED
    reconciler.close()
