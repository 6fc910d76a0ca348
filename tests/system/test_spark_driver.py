"""The Spark driver as the daemon runs it: a process of its own, called through the msg cache, killed, started again."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from ghcm.runtime.bundle import Bundle
from ghcm.runtime.jobs.calls import CallState
from ghcm.runtime.jobs.store import JobState
from ghcm.runtime.pubsub.envelope import Instruction, State, now_us
from ghcm.runtime.pubsub.redis_connection import commands, open_client
from ghcm.runtime.sinks.reply import load_reply
from tests.redis_server import RedisServer
from tests.system.running import until
from tests.system.spark_world import World

pytestmark = [pytest.mark.slow, pytest.mark.system]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, redis_server: RedisServer) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("spark"), redis_server.url)
    made.start()
    made.await_event("ready")
    yield made
    made.close()


def test_a_call_writes_its_sinks_and_says_what_it_did(world: World) -> None:
    call = world.send("add_up", least=3)
    feedback = world.feedback(call)
    assert feedback[0].state is State.ACCEPTED
    done = feedback[-1]
    assert done.state is State.DONE, done
    assert {name: (each.version, each.rows) for name, each in done.sinks.items()} == {
        "totals": (call, 2),
        "latest": (call, 2),
    }
    assert done.detail.startswith("1 record failed")
    assert world.rows("totals") == [("a", 7), ("b", 5)]
    assert world.rows("latest") == [("a", 7), ("b", 5)]
    dead = list((world.state.dead / "sales" / "add_up").glob("part-*"))
    assert [json.loads(path.read_text())["input"] for path in dead] == ["no record"]


def test_a_reply_is_kept_under_the_call(world: World) -> None:
    call = world.send("shops", name="a")
    done = world.answer(call)
    assert (done.state, done.rows) == (State.DONE, 2)
    assert load_reply(world.connections, call) == '[{"shop":"a","amount":3},{"shop":"a","amount":4}]'


def test_a_repeated_id_is_answered_with_the_first_result(world: World) -> None:
    call = world.send("add_up", least=0)
    first = world.answer(call)
    again = world.send("add_up", id=call, least=0)
    assert world.feedback(again)[-1] == first
    stored = world.store.calls.get(call)
    assert stored is not None and stored.attempts == 1
    assert world.rows("totals") == [("a", 7), ("b", 5), ("c", 1)]


def test_a_wrong_parameter_fails_the_call_and_nothing_else(world: World) -> None:
    failed = world.call("shops", name=7)
    assert failed.state is State.FAILED and failed.error is not None
    assert failed.error.message == 'cannot call unit "shops": parameter "name": expected string, found 7'
    assert world.call("shops", name="b").rows == 1


def test_failing_records_do_not_fail_the_call(world: World) -> None:
    done = world.call("divide", by=0)
    assert (done.state, done.rows) == (State.DONE, 0)
    assert done.detail.startswith("5 records failed")


def test_a_cancelled_call_stops_and_the_next_one_runs(world: World) -> None:
    call = world.send("slow", rows=3)
    world.await_event("call", id=call, state="running")
    world.store.calls.cancel(call)
    world.await_event("call", id=call, state="over")
    assert world.answer(call).state is State.CANCELLED
    assert world.call("shops", name="b").state is State.DONE


def test_a_call_that_is_too_late_expires(world: World) -> None:
    call = world.send("slow", deadline=now_us() + 1_000_000, rows=3)
    assert world.answer(call).state is State.EXPIRED
    world.await_event("call", id=call, state="over")


def test_calls_run_beside_each_other(world: World) -> None:
    long = world.send("slow", rows=2)
    world.await_event("call", id=long, state="running")
    assert world.call("shops", name="b").state is State.DONE
    world.store.calls.cancel(long)
    world.await_event("call", id=long, state="over")


def test_asked_whether_it_is_there_it_answers_unless_java_hangs(world: World) -> None:
    world.ask("beat")
    world.await_event("beat", trouble="")
    machine = java(world)
    machine.suspend()
    until(lambda: stands_still(machine.pid), "Java to stand still")
    try:
        with world.heard:
            world.events = [each for each in world.events if each["event"] != "beat"]
            world.ask("beat")
            assert not world.heard.wait_for(lambda: any(each["event"] == "beat" for each in world.events), 1)
    finally:
        machine.resume()
    world.await_event("beat", trouble="")


def test_killed_at_work_it_leaves_nothing_and_its_successor_answers(world: World) -> None:
    call = world.send("add_up", least=0)
    world.await_event("call", id=call, state="running")
    family = world.family()
    assert any("java" in process.name() for process in family)
    os.kill(family[0].pid, signal.SIGKILL)
    assert world.ended() == -signal.SIGKILL
    assert psutil.wait_procs(family[1:], timeout=60)[1] == []
    world.store.calls.cut_off()
    world.start()
    done = world.answer(call)
    assert done.state is State.DONE and done.sinks["totals"].rows == 3
    assert world.rows("totals") == [("a", 7), ("b", 5), ("c", 1)]


def test_when_java_is_killed_the_driver_ends_too(world: World) -> None:
    world.await_event("ready")
    java(world).kill()
    assert world.ended() == 1
    world.start()
    assert world.call("shops", name="b").state is State.DONE


def test_a_call_whose_process_has_ended_waits_for_its_next_attempt(world: World) -> None:
    for id, unit in (("soon", "shops"), ("late", "divide")):
        world.store.calls.started(Instruction(id, "sales", unit, reply=f"ghcm:feedback:{id}"), "spark-before")
    late, soon = world.send("divide", "late", by=1), world.send("shops", "soon", name="b")

    def waits() -> bool:
        call = world.store.calls.get(late)
        return call is not None and call.next_attempt is not None

    until(waits, "the call to wait")
    assert world.answer(soon).state is State.DONE
    found = world.store.calls.get(late)
    assert found is not None and found.state is CallState.ACCEPTED
    assert found.feedback.detail.startswith("attempt 2 of 3 begins at ")
    world.store.calls.cancel(late)
    assert world.answer(late).state is State.CANCELLED


def test_a_call_that_finds_no_room_waits_for_it(world: World) -> None:
    limit(world, (world.folder / "driver.log").stat().st_size + 300_000)
    call = world.send("write_many")

    def waits() -> bool:
        stored = world.store.calls.get(call)
        return stored is not None and stored.waits_for != ""

    until(waits, "the call to wait")
    stored = world.store.calls.get(call)
    assert stored is not None and "there is no room to write to" in stored.waits_for, stored
    limit(world, resource.RLIM_INFINITY)
    done = world.answer(call)
    assert (done.state, done.rows) == (State.DONE, 100_000), done
    stored = world.store.calls.get(call)
    assert stored is not None and stored.deaths == 0
    assert len(world.rows("many")) == 100_000


def limit(world: World, size: int) -> None:
    """Let no file of Java's and of its workers grow beyond so many bytes."""
    every: Any = psutil.RLIMIT_FSIZE
    found = java(world)
    for process in (found, *found.children(recursive=True)):
        process.rlimit(every, (size, resource.RLIM_INFINITY))


def at_work(world: World, call: str) -> None:
    """Wait until the process that runs now has begun with a call on Spark."""
    assert world.process is not None
    executor = f"spark-{world.process.pid}-"

    def begun() -> bool:
        stored = world.store.calls.get(call)
        return stored is not None and (stored.executor or "").startswith(executor)

    until(begun, "the call to begin")


def test_a_call_whose_redis_refuses_waits_for_it(world: World) -> None:
    client: Any = commands(open_client(world.url)).client()
    call = world.send("add_up", least=0)
    world.await_event("call", id=call, state="running")
    client.config_set("maxmemory", "1")
    try:
        until(lambda: f'call "{call}" ' in (world.folder / "driver.log").read_text(), "the call to wait")
        stored = world.store.calls.get(call)
        assert stored is not None and not stored.final, stored
    finally:
        client.config_set("maxmemory", "0")
        client.close()
    done = world.answer(call)
    assert done.state is State.DONE and done.sinks["totals"].rows == 3
    assert world.rows("latest") == world.rows("totals") == [("a", 7), ("b", 5), ("c", 1)]


def test_a_call_that_the_end_of_spark_cuts_off_has_no_answer_and_runs_again(world: World) -> None:
    call = world.send("slow", rows=3)
    at_work(world, call)
    assert world.process is not None and world.process.stdin is not None
    world.process.stdin.close()  # the driver ends in order, at once
    assert world.ended() == 0
    assert not world.store.calls.answered(call), world.store.calls.get(call)

    world.store.calls.cut_off()  # as a daemon does that starts: what ended with the one before was no fault of the call
    world.start()
    at_work(world, call)
    java(world).terminate()
    assert world.ended() == 1
    assert not world.store.calls.answered(call), world.store.calls.get(call)

    world.start()
    failed = world.answer(call)
    assert failed.state is State.FAILED and failed.error is not None and failed.error.code == "GHCM-759"
    assert failed.error.message.startswith('a call of unit "slow" was begun once')


def java(world: World) -> psutil.Process:
    return next(process for process in world.family() if "java" in process.name())


def stands_still(pid: int) -> bool:
    """Whether all threads of a process that was suspended have stopped: the signal has to reach one of them first."""
    stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


def test_edited_code_changes_results(world: World) -> None:
    assert world.call("shops", name="b").rows == 1
    built = Bundle.open(world.state.bundle("sales-1")).folder
    edited = world.folder / "edited.ghcm"
    shutil.copytree(built, edited)
    module = edited / "spark" / "shops.py"
    text = module.read_text()
    assert "shop = {name}" in text
    module.write_text(text.replace("shop = {name}", "shop > {name}"))
    world.store.jobs.move("sales-1", JobState.STOPPED)
    world.state.base("sales-2").write_text(str(world.folder))
    world.store.jobs.submit("sales-2", "sales", str(edited))
    world.ask("refresh")
    world.ask("status")
    world.await_event("status")
    assert world.call("shops", name="a").rows == 2


def test_asked_to_stop_it_ends_with_all_its_processes(world: World) -> None:
    world.await_event("ready")
    family = world.family()
    assert world.stop() == 0
    assert psutil.wait_procs(family, timeout=60)[1] == []
