"""A job that becomes another version while other things happen to it."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.job_runner import JobRunner, JobServices
from ghcm.runtime.daemon.spawning import Command
from ghcm.runtime.jobs.store import JobState, Store, open_store
from ghcm.runtime.retry import Restarts
from ghcm.spg.graph import Program
from tests.unit.runtime.small_operators import unit

BATCHES = Program("work", (), (), (replace(unit("fold", responsive=True), kind="batch", engine="spark"),))
GROWN = replace(BATCHES, units=(*BATCHES.units, unit("ask", responsive=True)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "jobs.sqlite")
    yield store
    store.close()


def runner(store: Store, base: Path, program: Program = BATCHES, *words: str) -> JobRunner:
    """Of a program without stream units, so that it has no engine process, or with these `words` as one."""
    job = store.jobs.submit("work-1", "work", "work.ghcm")
    around = JobServices(store, lambda _: None, lambda _, __: None, Restarts(), lambda _: None)
    return JobRunner(job, program, Command("engine", words or ["/nothing"], base / "engine.log"), around)


def test_whoever_asks_an_engine_that_ends_is_told(store: Store, tmp_path: Path) -> None:
    async def scene() -> None:
        asked = runner(store, tmp_path, GROWN, "sleep", "60")
        assert asked.child is not None
        with pytest.raises(GhcmError, match="has no engine that runs"):
            await asked.look([("ask", "sums")], "/x")
        asked.start()
        while (pid := asked.child.pid) is None:
            await asyncio.sleep(0.01)
        look = asyncio.create_task(asked.look([("ask", "sums")], "/x"))
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(GhcmError, match="the engine ended before it answered"):
            await asyncio.wait_for(look, 60)
        await asked.stop(reason="by request")

    asyncio.run(scene())


def test_a_job_that_was_stopped_starts_no_engine_for_a_version_that_is_read_late(store: Store, tmp_path: Path) -> None:
    async def scene() -> None:
        stopped = runner(store, tmp_path)
        stopped.start()
        store.jobs.upgrade("work-1", 2, "work.ghcm", {})
        stopped.take_no_more()
        await stopped.stop(reason="by request")
        stopped.adopt(GROWN, 2)
        assert stopped.child is None
        assert stopped.job.state is JobState.STOPPED

    asyncio.run(scene())


def test_what_becomes_of_a_job_is_noted_when_the_store_is_free_again(store: Store, tmp_path: Path) -> None:
    async def scene() -> None:
        with closing(open_store(tmp_path / "jobs.sqlite", busy=0.01)) as impatient:
            moved = runner(impatient, tmp_path)
            with store.database.transaction():
                moved.start()
                moved.take_no_more()
                stopping = asyncio.create_task(moved.stop(reason="by request"))
                await asyncio.sleep(0)
                assert moved.job.state is JobState.SUBMITTED
                assert "cannot be noted yet" in moved.unnoted and "jobs.sqlite" in moved.unnoted
            await asyncio.wait_for(stopping, 60)
        assert (moved_to := store.jobs.known("work-1")).state is JobState.STOPPED
        assert moved_to.reason == "by request" and not moved.unnoted

    asyncio.run(scene())


def test_what_a_program_is_now_is_not_known_while_the_store_is_a_version_further(store: Store, tmp_path: Path) -> None:
    grows = runner(store, tmp_path)

    def known() -> Program | None:
        return grows.present

    assert known() is BATCHES
    store.jobs.upgrade("work-1", 2, "work.ghcm", {})
    assert known() is None
    grows.take_no_more()
    grows.adopt(GROWN, 2)
    assert known() is GROWN
    grows.adopt(BATCHES, 1)  # it was read before, and comes late
    assert known() is GROWN


@pytest.mark.parametrize("code", ["GHCM-720", "GHCM-739"])
def test_a_job_that_has_run_waits_for_a_redis_or_kafka_that_refuses_it(store: Store, tmp_path: Path, code: str) -> None:
    refused = GhcmError("it refuses the password", code=code)
    report = json.dumps({"event": "failed", "error": refused.document()})
    program = replace(GROWN, units=(unit("ask", responsive=True),))

    async def ended(running: bool) -> JobState:
        refuses = runner(store, tmp_path, program, "sh", "-c", f"echo '{report}'; exit 1")
        if running:
            store.jobs.move("work-1", JobState.RUNNING)
        refuses.start()
        assert refuses.child is not None
        while refuses.child.restarts == 0:
            await asyncio.sleep(0.01)
        state = refuses.job.state
        await refuses.leave()
        return state

    assert asyncio.run(ended(running=False)) is JobState.FAILED
    store.jobs.forget("work-1")
    assert asyncio.run(ended(running=True)) is JobState.STARTING
