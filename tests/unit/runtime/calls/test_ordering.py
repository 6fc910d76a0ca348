"""Calls of units that write the same latest state: one at a time, in the order in which they were accepted."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from ghcm.runtime.calls import receiver
from ghcm.runtime.calls.ordering import SerialQueue, serialized_with
from ghcm.runtime.jobs.store import Store, open_store
from ghcm.runtime.pubsub.cache import Delivery, cache_topic
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State
from ghcm.runtime.sinks.sink import latest_version
from ghcm.runtime.sinks.table_sink import TableWriter
from ghcm.spg.connectors import Generate, Mode
from ghcm.spg.graph import Program
from ghcm.spg.ops import Distinct, ReadTable, Reply, Source, To
from ghcm.types import Int, Shape, pair_of
from tests.redis_server import connected
from tests.unit.runtime.calls.test_calls import answers_at, ask, started
from tests.unit.runtime.small_operators import NUMBERED, Compiled, sink, task, unit

PAIR = pair_of(Int(), Int())


def writing(name: str, *sinks: str) -> Any:
    tasks = (task(f"to_{each}", To(each), PAIR, "read") for each in sinks)
    return unit(name, task("read", ReadTable("main", "seen", None), PAIR), *tasks, responsive=True)


def program() -> Program:
    """A table, units that write it to sinks, and one that answers with it."""
    modes = {"one": Mode.REPLACE, "two": Mode.REPLACE, "three": Mode.REPLACE, "log": Mode.APPEND}
    return Program(
        "small",
        (),
        tuple(sink(name, name, PAIR, mode) for name, mode in modes.items()),
        (
            unit(
                "main",
                task("numbers", Source(Generate(5, None, 0, 1)), NUMBERED),
                task("seen", Distinct(), PAIR, "numbers", shape=Shape.TABLE),
            ),
            writing("first", "one"),
            writing("both", "one", "two"),
            writing("second", "two"),
            writing("alone", "three", "log"),
            writing("appends", "log"),
            unit(
                "ask",
                task("read", ReadTable("main", "seen", None), PAIR),
                task("answer", Reply(), PAIR, "read"),
                responsive=True,
            ),
        ),
    )


@pytest.mark.parametrize(
    ("name", "turns"),
    [
        ("first", {"first", "both", "second"}),
        ("both", {"first", "both", "second"}),
        ("second", {"first", "both", "second"}),
        ("alone", {"alone"}),
        ("appends", set[str]()),
        ("ask", set[str]()),
        ("main", set[str]()),
    ],
)
def test_units_that_keep_the_latest_in_one_place_take_turns(name: str, turns: set[str]) -> None:
    found = program()
    assert serialized_with(found, found.unit(name)) == turns


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "jobs.sqlite")
    yield store
    store.close()


CALLS = [Instruction(f"c{number}", "p", "u") for number in range(4)]


def test_the_order_is_that_of_acceptance_not_of_delivery(store: Store) -> None:
    for call in CALLS:
        store.calls.accept(call)
    queue: SerialQueue[str] = SerialQueue(store.calls, "p", {"u"})
    for call in reversed(CALLS):
        assert queue.step() is None  # whose turn it is has not come yet
        queue.join(call, call.id)
    done: list[str] = []
    while (id := queue.step()) is not None:
        assert queue.step() is None  # one at a time
        store.calls.finish(id, Feedback(id, State.DONE))
        queue.leave(id)
        done.append(id)
    assert done == [call.id for call in CALLS]


def test_a_call_that_is_over_before_its_turn_holds_nobody_up(store: Store) -> None:
    queue: SerialQueue[str] = SerialQueue(store.calls, "p", {"u"})
    for call in CALLS[:3]:
        queue.join(call, call.id)  # which accepts it
    store.calls.cancel("c0")
    store.calls.cancel("c2")
    assert queue.step() == "c1"
    queue.leave("c0")  # it was not its turn
    assert queue.step() is None
    store.calls.finish("c1", Feedback("c1", State.DONE))
    queue.leave("c1")
    for id in ("c0", "c2"):  # no turn, only to be acknowledged
        assert queue.step() == id
        queue.leave(id)
    assert queue.step() is None


def test_a_call_waits_for_one_of_another_unit(store: Store) -> None:
    other = replace(CALLS[0], unit="other")
    store.calls.accept(other)
    queue: SerialQueue[str] = SerialQueue(store.calls, "p", {"u", "other"})
    queue.join(CALLS[1], "c1")
    assert queue.step() is None
    store.calls.finish(other.id, Feedback(other.id, State.DONE))
    assert queue.step() == "c1"


def test_an_older_call_that_is_slow_does_not_replace_what_a_newer_one_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, newer_waits = threading.Event(), threading.Event()
    prepare, join = TableWriter.prepare, SerialQueue[Any].join

    def slow(writer: TableWriter, version: str) -> int:
        if version == "older":
            begun.set()
            assert newer_waits.wait(60)
        elif version == "newer":
            newer_waits.set()  # only where it may overtake
        return prepare(writer, version)

    def waiting(queue: SerialQueue[Any], instruction: Instruction, item: object) -> None:
        join(queue, instruction, item)
        if instruction.id == "newer":
            newer_waits.set()

    monkeypatch.setattr(TableWriter, "prepare", slow)
    found = program()
    with started(found, tmp_path) as (_, connections):
        cache = connections.cache(cache_topic("small", "first"), "small", "test")
        cache.send(Instruction("older", "small", "first", reply="written"))
        assert begun.wait(60)
        assert ask(connections, "ask").rows == 5  # others are answered meanwhile
        monkeypatch.setattr(SerialQueue, "join", waiting)
        cache.send(Instruction("newer", "small", "first", reply="written"))
        answers = answers_at(cache, "written", 2)
        assert [(each.id, each.state) for each in answers] == [("older", State.DONE), ("newer", State.DONE)]
        assert latest_version(found.sink("one"), connections) == "newer"


def test_many_calls_are_answered_in_turn(tmp_path: Path) -> None:
    found = program()
    with started(found, tmp_path) as (_, connections):
        caches = {name: connections.cache(cache_topic("small", name), "small", "test") for name in ("first", "both")}
        ids = [f"call-{number:02}" for number in range(40)]
        for number, id in enumerate(ids):
            name = "both" if number % 3 == 0 else "first"
            caches[name].send(Instruction(id, "small", name, reply="many"))
        answers = answers_at(caches["first"], "many", len(ids))
        assert {each.state for each in answers} == {State.DONE}
        last = latest_version(found.sink("one"), connections)
        assert last == answers[-1].id


def hold_first(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Have the call "1" wait while it writes; whether it has come there, and whether it may go on."""
    begun, goes_on, prepare = threading.Event(), threading.Event(), TableWriter.prepare

    def slow(writer: TableWriter, version: str) -> int:
        if version == "1":
            begun.set()
            assert goes_on.wait(60)
        return prepare(writer, version)

    monkeypatch.setattr(TableWriter, "prepare", slow)
    return begun, goes_on


def note_joined(monkeypatch: pytest.MonkeyPatch) -> SimpleQueue[str]:
    """The calls that have come to wait for their turn."""
    joined, join = SimpleQueue[str](), SerialQueue[Any].join

    def noted(queue: SerialQueue[Any], instruction: Instruction, item: object) -> None:
        join(queue, instruction, item)
        joined.put(instruction.id)

    monkeypatch.setattr(SerialQueue, "join", noted)
    return joined


def test_a_turn_that_comes_back_from_another_unit_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiver, "_LOOK_S", 1000.0)  # whoever waits for the next instruction notices nothing else
    begun, rest_waits = hold_first(monkeypatch)
    joined = note_joined(monkeypatch)
    with started(program(), tmp_path) as (_, connections):
        caches = {name: connections.cache(cache_topic("small", name), "small", "test") for name in ("first", "both")}
        caches["first"].send(Instruction("1", "small", "first", reply="all"))
        assert begun.wait(60) and joined.get(timeout=30) == "1"
        for id, name in (("2", "both"), ("3", "first")):
            caches[name].send(Instruction(id, "small", name, reply="all"))
            assert joined.get(timeout=30) == id
        rest_waits.set()
        answers = [answer.id for answer in answers_at(caches["first"], "all", 3)]
        assert answers == ["1", "2", "3"]


def test_those_who_wait_for_a_turn_when_turns_are_given_up_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = hold_first(monkeypatch)
    joined = note_joined(monkeypatch)
    before = program()
    appending = tuple(writing("first", "log") if unit.name == "first" else unit for unit in before.units)
    with started(before, tmp_path) as (running, connections):
        cache = connections.cache(cache_topic("small", "first"), "small", "test")
        for id in ("1", "2", "3"):
            cache.send(Instruction(id, "small", "first", reply="all"))
            assert joined.get(timeout=30) == id
        assert begun.wait(60)
        running.upgrade(Compiled(replace(before, units=appending)), {}, lambda: None)
        goes_on.set()
        answers = [answer.id for answer in answers_at(cache, "all", 3)]
        assert answers == ["1", "2", "3"]


def test_the_end_of_a_turn_waits_for_no_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    joined, begun = note_joined(monkeypatch), SimpleQueue[str]()
    cache, queue = connected(tmp_path).cache("k", "p", "engine"), SerialQueue[Delivery](None, "p", {"u"})
    taking = receiver.Receiver(
        "u", cache, None, "engine", queue, lambda delivery: begun.put(delivery.instruction.id), at_once=2
    )
    taking.start()
    for call in CALLS[:2]:
        cache.send(call)
        assert joined.get(timeout=30) == call.id
    assert begun.get(timeout=30) == "c0"
    queue.units = ()  # of a program that has grown: those that come now do not wait behind others
    cache.send(CALLS[2])
    assert begun.get(timeout=30) == "c2"
    cache.send(CALLS[3])
    taking.make_room()
    assert begun.get(timeout=30) == "c3"
    answering = threading.Thread(target=taking.over, args=("c0",), daemon=True)
    answering.start()
    answering.join(30)
    assert not answering.is_alive()
    taking.make_room()
    assert begun.get(timeout=30) == "c1"
    taking.stop()
    taking.join(time.monotonic() + 30)
