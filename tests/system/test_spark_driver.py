"""The Spark driver as the daemon runs it: a process of its own, called through the msg cache, killed, started again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from ghcm import driver as compiler
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import JobState, Store, open_store
from ghcm.runtime.pubsub.cache import START
from ghcm.runtime.pubsub.connections import Connections, topic_of
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State, new_id, now_us
from ghcm.runtime.settings import REDIS
from ghcm.runtime.sinks.reply import load_reply
from ghcm.runtime.sinks.sink import read
from tests.redis_server import RedisServer
from tests.system.running import until

pytestmark = [pytest.mark.slow, pytest.mark.system]

PROGRAM = """program sales

record Sale { shop: string, amount: int }
record Total { shop: string, total: int }

sink totals = parquet("out/totals", mode = replace)
sink latest = redis("sales:total", key = t => t.key, mode = upsert)

responsive batch add_up(least: int = 0) {
  sums = files("sales.json", format = json).as(Sale)
    .filter(s => s.amount >= least)
    .map_to_pair(s => (s.shop, s.amount))
    .reduce_by_key((a, b) => a + b)
  sums.to(latest)
  sums.map(p => Total { shop: p.key, total: p.value }).to(totals)
}

responsive batch shops(name: string) {
  files("sales.json", format = json).as(Sale).filter(s => s.shop == name).reply()
}

responsive batch slow(rows: int) {
  generate(rows = 3000000).map_to_pair(g => (to_string(g.number), upper(to_string(g.number * rows))))
    .group_by_key().count().reply()
}

responsive batch divide(by: int) {
  files("sales.json", format = json).as(Sale).map(s => s.amount // by).reply()
}
"""
SALES = [("a", 3), ("b", 5), ("a", 4), ("c", 1)]


class World:
    """A state directory with one submitted job, and the driver process that serves it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        source = folder / "sales.istream"
        source.write_text(PROGRAM)
        lines = [json.dumps({"shop": shop, "amount": amount}) for shop, amount in SALES]
        (folder / "sales.json").write_text("\n".join([*lines, "no record"]) + "\n")
        self.state = StateDirectory(folder / "state")
        bundle = self.state.bundle("sales-1")
        bundle.parent.mkdir(parents=True)
        compiler.build(source, bundle)
        self.state.base("sales-1").write_text(str(folder))
        self.store: Store = open_store(self.state.store)
        self.store.jobs.submit("sales-1", "sales", str(bundle))
        self.store.jobs.move("sales-1", JobState.RUNNING)
        self.program = Bundle.open(bundle).program
        self.connections = Connections(folder, url)
        self.process: subprocess.Popen[str] | None = None
        self.events: list[dict[str, Any]] = []
        self.heard = threading.Condition()

    def start(self) -> None:
        command = [sys.executable, "-u", "-m", "ghcm.runtime.spark", "--state", str(self.state.path)]
        environment = {**os.environ, "GHCM_SPARK_MASTER": "local[2]", "GHCM_LIMITS_ATTEMPTS": "1", REDIS: self.url}
        with (self.folder / "driver.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
            )
        self.events.clear()
        self.listener = threading.Thread(target=self._listen, args=(self.process,), daemon=True)
        self.listener.start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with self.heard:
                self.events.append(json.loads(line))
                self.heard.notify_all()

    def ask(self, op: str) -> None:
        assert self.process is not None and self.process.stdin is not None
        self.process.stdin.write(json.dumps({"op": op}) + "\n")
        self.process.stdin.flush()

    def await_event(self, event: str, **parts: object) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            fits = (each for each in self.events if {"event": event, **parts}.items() <= each.items())
            return next(fits, None)

        with self.heard:
            assert self.heard.wait_for(found, 240), (event, (self.folder / "driver.log").read_text()[-3000:])
            result = found()
            assert result is not None
            return result

    def send(self, unit: str, id: str | None = None, deadline: int | None = None, **parameters: object) -> str:
        call = id or new_id()
        reply = f"ghcm:feedback:{call}"
        instruction = Instruction(call, "sales", unit, parameters=parameters, reply=reply, deadline=deadline)
        self.store.calls.accept(instruction)
        cache = self.connections.cache(topic_of(self.program, self.program.unit(unit)), "sales", "test")
        cache.send(instruction)
        cache.close()
        return call

    def answer(self, call: str, seconds: float = 240) -> Feedback:
        """The final feedback of a call, as its caller gets it."""
        return self.feedback(call, seconds)[-1]

    def feedback(self, call: str, seconds: float = 240) -> list[Feedback]:
        address, after, seen = f"ghcm:feedback:{call}", START, list[Feedback]()
        cache = self.connections.cache(address, "sales", "test")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for placed in cache.feedback(address, after, timeout=1):
                after = placed.position
                seen.append(placed.feedback)
                if placed.feedback.final:
                    cache.close()
                    return seen
        raise AssertionError(f"no answer to {call}: {seen}\n{(self.folder / 'driver.log').read_text()[-3000:]}")

    def call(self, unit: str, **parameters: object) -> Feedback:
        return self.answer(self.send(unit, None, None, **parameters))

    def rows(self, sink: str) -> list[tuple[object, ...]]:
        return sorted(read(self.program.sink(sink), self.connections))

    def family(self) -> list[psutil.Process]:
        assert self.process is not None
        parent = psutil.Process(self.process.pid)
        return [parent, *parent.children(recursive=True)]

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self, seconds: float = 30) -> int:
        """Wait for the end of the process; its exit code."""
        assert self.process is not None and self.process.stdin is not None and self.process.stdout is not None
        code = self.process.wait(seconds)
        self.listener.join(10)
        self.process.stdin.close()
        self.process.stdout.close()
        return code

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.ended()
        self.connections.close()
        self.store.close()


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
    assert load_reply(world.connections, call) == [{"shop": "a", "amount": 3}, {"shop": "a", "amount": 4}]


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


def at_work(world: World, call: str) -> None:
    """Wait until the process that runs now has begun with a call on Spark."""
    assert world.process is not None
    executor = f"spark-{world.process.pid}-"

    def begun() -> bool:
        stored = world.store.calls.get(call)
        return stored is not None and (stored.executor or "").startswith(executor)

    until(begun, "the call to begin")


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
