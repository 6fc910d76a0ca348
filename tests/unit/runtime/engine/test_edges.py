"""Edges, watermarks, the scheduler and snapshots by themselves."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread
from weakref import ReferenceType, ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghcm.errors import GhcmError
from ghcm.runtime.contract import INFINITY, NEVER
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.engine.edge import Barrier, Edge, End, Watermark
from ghcm.runtime.engine.host import TaskState
from ghcm.runtime.engine.scheduler import Progress, Scheduler
from ghcm.runtime.engine.watermarks import Inputs
from ghcm.runtime.snapshot.store import Snapshot, SnapshotStore
from ghcm.types import Field, Int, String, Struct

NUMBER = Struct((Field("n", Int()),))


def batch(*numbers: int, partition: str = "p") -> Batch:
    return Batch.from_rows(NUMBER, [(n,) for n in numbers], partition=partition)


def test_a_full_edge_refuses_batches_and_tells_when_there_is_room() -> None:
    edge, woken = Edge(rows=4), list[str]()
    edge.wake_sender = lambda: woken.append("sender")
    edge.wake_receiver = lambda: woken.append("receiver")
    assert edge.offer(batch(1, 2, 3))
    assert edge.offer(batch(4, 5, 6))
    assert not edge.offer(batch(7))
    assert edge.offer(Barrier(1)), "what steers is always taken"
    assert woken == ["receiver"]
    assert edge.take(2) is not None
    assert woken == ["receiver"]
    assert edge.take(100) is not None
    assert woken == ["receiver", "sender"]
    assert edge.offer(batch(7))


def test_an_edge_is_bounded_by_bytes_too() -> None:
    text = Struct((Field("t", String()),))
    edge = Edge(rows=1000, size=10_000)
    assert edge.offer(Batch.from_rows(text, [("x" * 50_000,)])), "a batch larger than the bound passes alone"
    assert not edge.offer(Batch.from_rows(text, [("x",)]))


@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from("ab"), st.booleans())), st.integers(1, 7))
def test_what_comes_out_is_what_went_in_by_partition_and_in_order(sent: list[tuple[int, str, bool]], rows: int) -> None:
    edge, counter, expected = Edge(), 0, list[object]()
    for length, partition, mark in sent:
        numbers = range(counter, counter + length)
        counter += length
        one = batch(*numbers, partition=partition)
        edge.offer(Batch.from_frame(NUMBER, one.frame(), partition=partition) if length > 3 else one)
        expected += [(n, partition) for n in numbers]
        if mark:
            edge.offer(Watermark(counter))
            expected.append(counter)
    edge.offer(End())
    received: list[object] = []
    while not isinstance(item := edge.take(rows), End):
        assert item is not None
        if isinstance(item, Batch):
            assert 0 < len(item) <= rows
            received += [(row[0], item.partition) for row in item.rows()]
        elif isinstance(item, Watermark):
            received.append(item.time)
    assert received == expected
    assert edge.rows == 0


def test_event_time_is_that_of_the_slowest_input() -> None:
    inputs = Inputs([False, False])
    inputs.advance(0, 10)
    assert inputs.watermark == NEVER
    inputs.advance(1, 7)
    inputs.advance(1, 3)
    assert inputs.watermark == 7
    inputs.ended[1] = True
    assert inputs.watermark == 10
    inputs.ended[0] = True
    assert inputs.watermark == INFINITY


def test_open_partitions_are_known_when_every_input_has_said_them() -> None:
    inputs = Inputs([False, False])
    inputs.open[0] = frozenset({"a"})
    before = inputs.partitions
    assert before is None
    inputs.open[1] = frozenset({"b", "c"})
    assert inputs.partitions == frozenset({"a", "b", "c"})
    inputs.ended[1] = True
    assert inputs.partitions == frozenset({"a"})


class Turns:
    """Takes so many turns and notes its name."""

    def __init__(self, name: str, turns: int, log: list[str], *, urgent: bool = False) -> None:
        self.name, self.urgent = name, urgent
        self._turns, self._log = turns, log

    def step(self) -> Progress:
        if not self._turns:
            return Progress.WAITING
        self._turns -= 1
        self._log.append(self.name)
        return Progress.WORKED

    def stepped(self, seconds: float) -> None:
        pass

    def fail(self, error: Exception) -> None:
        self._log.append(f"{self.name}: {error}")


def run(scheduler: Scheduler) -> None:
    """Run the loop until it would sleep."""
    scheduler._sleep = scheduler.stop  # type: ignore[method-assign]
    scheduler.run()


class Littering:
    """Takes turns that leave circles behind, and notes how many of them there were at most."""

    name, urgent = "littering", False

    def __init__(self, turns: int, circles: int) -> None:
        self.most = 0
        self._turns, self._circles = turns, circles
        self._left: list[ReferenceType[Circle]] = []

    def step(self) -> Progress:
        self._left = [each for each in self._left if each() is not None]
        self.most = max(self.most, len(self._left))
        for _ in range(self._circles):
            circle = Circle()
            circle.itself = circle
            self._left.append(ref(circle))
        self._turns -= 1
        return Progress.WORKED if self._turns else Progress.DONE

    def stepped(self, seconds: float) -> None:
        pass

    def fail(self, error: Exception) -> None:
        raise error


class Circle:
    """Garbage that only the collector finds."""

    itself: object = None


def test_a_loop_that_never_rests_looks_for_garbage() -> None:
    scheduler, tasklet = Scheduler(tame_collector=True), Littering(30, 5_000)
    scheduler.wake(tasklet)
    run(scheduler)
    assert 5_000 <= tasklet.most <= 50_000


def test_tasklets_take_turns_and_calls_go_first() -> None:
    scheduler, log = Scheduler(), list[str]()
    for tasklet in (Turns("a", 3, log), Turns("b", 3, log), Turns("call", 2, log, urgent=True)):
        scheduler.wake(tasklet)
        scheduler.wake(tasklet)
    run(scheduler)
    assert log == ["call", "call", "a", "b", "a", "b", "a", "b"]


def test_calls_without_end_do_not_keep_the_others_from_their_turns() -> None:
    scheduler, log = Scheduler(), list[str]()
    for tasklet in (Turns("a", 2, log), Turns("call", 1000, log, urgent=True)):
        scheduler.wake(tasklet)
    run(scheduler)
    assert log.index("a") < 100
    assert log.count("call") == 1000


def test_a_tasklet_that_raises_is_told_so_and_the_others_go_on() -> None:
    class Broken(Turns):
        def step(self) -> Progress:
            raise ValueError("broken")

    scheduler, log = Scheduler(), list[str]()
    scheduler.wake(Broken("x", 1, log))
    scheduler.wake(Turns("a", 1, log))
    scheduler.post(lambda: scheduler.post(lambda: log.append("posted")))
    run(scheduler)
    assert sorted(log) == ["a", "posted", "x: broken"]


def test_threads_wake_a_sleeping_loop() -> None:
    scheduler, log = Scheduler(), list[str]()
    thread = Thread(target=scheduler.run)
    thread.start()
    for n in range(100):
        scheduler.post(lambda n=n: log.append(str(n)))  # type: ignore[misc]
    scheduler.post(scheduler.stop)
    thread.join(timeout=30)
    assert log == [str(n) for n in range(100)]


def test_whoever_asks_a_loop_that_ends_gets_an_answer() -> None:
    scheduler, asked = Scheduler(), Event()
    post = scheduler.post

    def posted(call: Callable[[], None]) -> None:
        post(call)
        asked.set()

    def fail() -> None:
        assert asked.wait(30)
        raise ZeroDivisionError("a bug")

    scheduler.post(fail)
    scheduler.post = posted  # type: ignore[method-assign]
    with ThreadPoolExecutor(2) as threads:
        loop = threads.submit(scheduler.run)
        assert threads.submit(scheduler.call, lambda: "behind the bug").result(30) == "behind the bug"
        with pytest.raises(ZeroDivisionError):
            loop.result(30)
        assert scheduler.call(lambda: "behind the end") == "behind the end"


def test_what_is_raised_in_answer_to_a_call_is_raised_to_who_called() -> None:
    class Panic(BaseException):
        """As those of Polars are."""

    def raises() -> None:
        raise Panic

    scheduler = Scheduler()
    with ThreadPoolExecutor(1) as threads:
        loop = threads.submit(scheduler.run)
        with pytest.raises(Panic):
            scheduler.call(raises)
        assert scheduler.call(lambda: "it goes on") == "it goes on"
        scheduler.stop()
        loop.result(30)


def test_cancelled_timers_do_not_fire() -> None:
    scheduler, log = Scheduler(), list[str]()
    now = time.monotonic()
    scheduler.at(now + 0.01, lambda: log.append("cancelled")).cancel()
    scheduler.at(now + 0.02, lambda: log.append("fired"))
    scheduler.at(now + 0.03, scheduler.stop)
    scheduler.run()
    assert log == ["fired"]


def test_cancelled_timers_are_forgotten_though_one_before_them_is_not_due() -> None:
    class Large:
        """What a timer's call may hold."""

        def call(self) -> None: ...

    scheduler, now, held = Scheduler(), time.monotonic(), list[ref[Large]]()
    scheduler.at(now + 1800, scheduler.stop)
    for number in range(10_000):
        large = Large()
        held.append(ref(large))
        scheduler.at(now + 3600 + number, large.call).cancel()
    del large
    assert not any(each() for each in held)
    assert len(scheduler._timers) < 100


def snapshot(number: int) -> Snapshot:
    first, second = {0: b"x" * number, 127: b""}, {0: b"y"}
    tasks = {"a": TaskState((first, second)), "s": TaskState((), ({"offset": number}, None), finished=True)}
    return Snapshot(number, tasks, {"to": "v1"}, {"sink": "v1"}, ({"id": "1"},), {"dead": 2})


def test_snapshots_are_read_as_they_were_written_and_old_ones_go(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path / "snapshots")
    assert (store.latest(), store.newest_number()) == (None, 0)
    for number in range(1, 6):
        store.write(snapshot(number))
        assert store.latest() == snapshot(number)
    assert sorted(path.name for path in store.folder.iterdir()) == [f"{n:020d}" for n in (4, 5)]


def test_a_snapshot_without_manifest_is_none(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    store.write(snapshot(1))
    store.write(snapshot(2))
    (tmp_path / f"{2:020d}" / "manifest.json").unlink()
    assert store.latest() == snapshot(1)
    assert store.newest_number() == 2


def test_a_snapshot_of_another_version_is_refused(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    store.write(snapshot(1))
    manifest = next(tmp_path.glob("*/manifest.json"))
    manifest.write_text(manifest.read_text().replace('"format": 3', '"format": 2'))
    with pytest.raises(GhcmError, match="has format 2, this GHCM reads format 3") as caught:
        store.latest()
    assert caught.value.code == "GHCM-756"
