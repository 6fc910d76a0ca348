"""Calls of responsive stream units, publish policies, and tables, with places in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import cast

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.calls.run import CallRun
from ghcm.runtime.jobs.calls import Call, CallState, CallStore, Start
from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.pubsub.cache import START, MessageCache, cache_topic
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State, new_id, now_us
from ghcm.runtime.retry import Retry
from ghcm.runtime.slot.engine import Engine
from ghcm.spg.connectors import Files, Format, Generate
from ghcm.spg.graph import Parameter, Program
from ghcm.spg.ops import CallTemplate, Distinct, Filter, Policy, Publish, ReadTable, Reply, Source, To
from ghcm.types import Int, Shape, pair_of
from tests.redis_server import connected
from tests.unit.runtime.small_operators import _X, LINE, NUMBERED, Compiled, build, engine, rows_of, sink, task, unit

PAIR = pair_of(Int(), Int())


def serving(rows: int | None = 5) -> Program:
    """A table of numbers, a unit that answers with it, and one that writes it to a sink."""
    return Program(
        "small",
        (),
        (sink("copies", "copies", PAIR),),
        (
            unit(
                "main",
                task("numbers", Source(Generate(rows, None, 0, 1)), NUMBERED),
                task("seen", Distinct(), PAIR, "numbers", shape=Shape.TABLE),
            ),
            unit(
                "ask",
                task("read", ReadTable("main", "seen", None), PAIR),
                task("pass", Filter(_X), PAIR, "read"),
                task("answer", Reply(), PAIR, "pass"),
                responsive=True,
                parameters=(Parameter("n", Int(), False, 3),),
            ),
            unit(
                "keep",
                task("read", ReadTable("main", "seen", None), PAIR),
                task("to", To("copies"), PAIR, "read"),
                responsive=True,
            ),
        ),
    )


@contextmanager
def started(program: Program, base: Path, *, waits: bool = True) -> Iterator[tuple[Engine, Connections]]:
    connections = connected(base)
    store = open_store(base / "jobs.sqlite", lambda _program, _unit: Retry(initial_interval=0.2))
    running = Engine(
        Compiled(program),
        connections=connections,
        state=base / "state",
        build=build,
        serve=True,
        calls=store.calls,
        commit_s=0.05,
        waits=waits,
    )
    try:
        with running:
            assert running.wait(timeout=30)
            yield running, connections
            running.check()
    finally:
        store.close()


def answers_at(cache: MessageCache, address: str, count: int) -> list[Feedback]:
    """So many answers, in the order in which they came to an address."""
    answers: list[Feedback] = []
    position = START
    while len(answers) < count:
        found = cache.feedback(address, after=position, timeout=30)
        assert found, f"no answer came behind {answers}"
        answers += [placed.feedback for placed in found]
        position = found[-1].position
    return answers


def ask(connections: Connections, called: str, parameters: dict[str, object] | None = None, **more: object) -> Feedback:
    """The final answer of a call."""
    id = str(more.pop("id", new_id()))
    cache = connections.cache(cache_topic("small", called), "small", "test")
    cache.send(Instruction(id, "small", called, parameters or {}, reply=f"reply-{id}", **more))  # type: ignore[arg-type]
    found = cache.feedback(f"reply-{id}", timeout=30)
    assert found, "no answer came"
    return found[-1].feedback


def test_a_call_is_answered_from_the_table(tmp_path: Path) -> None:
    with started(serving(), tmp_path) as (_, connections):
        answer = ask(connections, "ask")
        assert (answer.state, answer.rows) == (State.DONE, 5)
        assert answer.as_of is not None
        with closing(open_store(tmp_path / "jobs.sqlite")) as store:
            assert '"key":4,"value":1}]' in store.database.rows("SELECT rows FROM replies")[0]["rows"]


def test_the_same_call_again_has_the_same_answer(tmp_path: Path) -> None:
    with started(serving(), tmp_path) as (running, connections):
        first = ask(connections, "ask", id="once")
        ask(connections, "ask", id="once")
        assert first == ask(connections, "ask", id="once")
        answered = running.status()["units"]["ask"]["answered"]  # type: ignore[index]
        assert answered == 1


def test_a_call_that_writes_to_a_sink_says_which_version(tmp_path: Path) -> None:
    program = serving()
    with started(program, tmp_path) as (_, connections):
        answer = ask(connections, "keep", id="the-call")
        assert answer.sinks["copies"].rows == 5
        assert answer.sinks["copies"].version == "the-call"
    assert len(rows_of(program, "copies", tmp_path)) == 5


@pytest.mark.parametrize(
    ("parameters", "said"), [({"n": "x"}, '"n"'), ({"m": 1}, 'no parameter "m"'), ({"n": 2**63}, "fit")]
)
def test_wrong_parameters_are_refused_with_the_reason(tmp_path: Path, parameters: dict[str, object], said: str) -> None:
    with started(serving(), tmp_path) as (_, connections):
        answer = ask(connections, "ask", parameters)
        assert answer.state is State.FAILED
        assert answer.error is not None
        assert said in answer.error.message


def test_a_call_whose_deadline_has_passed_expires(tmp_path: Path) -> None:
    with started(serving(), tmp_path) as (_, connections):
        assert ask(connections, "ask", deadline=now_us() - 1).state is State.EXPIRED


def test_a_call_that_fails_is_answered_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.unit.runtime import small_operators

    def broken(*_: object) -> object:
        raise ZeroDivisionError("a bug")

    with started(serving(), tmp_path) as (_, connections):
        monkeypatch.setattr(small_operators.Rows, "process", broken)
        answer = ask(connections, "ask")
        assert answer.state is State.FAILED
        assert answer.error is not None
        assert "a bug" in answer.error.message
        monkeypatch.undo()
        assert ask(connections, "ask").state is State.DONE


def test_tables_are_copied_between_two_steps(tmp_path: Path) -> None:
    with started(serving(), tmp_path) as (running, _):

        def copy(unit: str, table: str, key: object, one: bool) -> list[tuple[object, object]]:
            return running.call(lambda: running._tables.pairs(unit, table, key, one))

        assert copy("main", "seen", None, False) == [(n, 1) for n in range(5)]
        assert copy("main", "seen", 3, True) == [(3, 1)]
        with pytest.raises(GhcmError, match="has no table"):
            copy("main", "sen", None, False)
        with pytest.raises(GhcmError, match="does not run here"):
            copy("mian", "seen", None, False)


def test_answers_at_hand_are_given_before_the_engine_stops(tmp_path: Path) -> None:
    with started(serving(), tmp_path) as (running, connections):
        cache = connections.cache(cache_topic("small", "ask"), "small", "test")
        ids = [new_id() for _ in range(20)]
        for id in ids:
            cache.send(Instruction(id, "small", "ask", reply="all"))
        while not cache.feedback("all", timeout=30):
            pass
        assert running.stop(timeout=30)
        answered = {placed.feedback.id for placed in cache.feedback("all", timeout=0)}
        left = {delivery.instruction.id for _ in ids if (delivery := cache.receive("ask", timeout=0)) is not None}
        assert answered | left == set(ids)
        assert not answered & left


@dataclass(slots=True)
class Held:
    """A call store that lets one call begin, and another end, only when it is told to."""

    calls: CallStore
    begins: str = ""
    ends: str = ""
    may_begin: Event = field(default_factory=Event)
    may_end: Event = field(default_factory=Event)
    beginning: Event = field(default_factory=Event)
    ending: Event = field(default_factory=Event)

    def accept_own(self, instruction: Instruction) -> bool:
        return self.calls.accept_own(instruction)

    def sync(self) -> None:
        self.calls.sync()

    def started(self, instruction: Instruction, executor: str) -> tuple[Start, Call]:
        found = self.calls.started(instruction, executor)
        if instruction.id == self.begins:
            self.beginning.set()
            assert self.may_begin.wait(30)
        return found

    def finish(self, id: str, feedback: Feedback, reply: str | None = None) -> Feedback:
        if id == self.ends:
            self.ending.set()
            assert self.may_end.wait(30)
        return self.calls.finish(id, feedback, reply)

    def first_open(self, program: str, units: Collection[str]) -> str | None:
        return self.calls.first_open(program, units)

    def answered(self, id: str) -> bool:
        return self.calls.answered(id)


@contextmanager
def held(base: Path) -> Iterator[tuple[Engine, MessageCache, Held]]:
    """An engine with such a store, and the cache of its unit "ask" as callers have it."""
    store, connections = open_store(base / "jobs.sqlite"), connected(base)
    calls = Held(store.calls)
    running = Engine(
        Compiled(serving()),
        connections=connections,
        state=base / "state",
        build=build,
        serve=True,
        calls=cast("CallStore", calls),
    )
    try:
        with running:
            assert running.wait(timeout=30)
            yield running, connections.cache(cache_topic("small", "ask"), "small", "test"), calls
    finally:
        store.close()


def test_a_call_that_is_being_taken_while_its_unit_goes_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = CallRun.start

    def start_slowly(self: CallRun) -> None:
        start(self)
        if self.id == "second":
            Event().wait(0.3)  # in the loop: whoever takes all calls for answered ends the unit now

    monkeypatch.setattr(CallRun, "start", start_slowly)
    with held(tmp_path) as (running, cache, calls):
        calls.ends, calls.begins = "first", "second"
        for id in ("first", "second"):
            cache.send(Instruction(id, "small", "ask", reply=id))
        assert calls.ending.wait(30) and calls.beginning.wait(30)
        running.upgrade(Compiled(without_ask()), {}, lambda: None)
        calls.may_end.set()
        assert cache.feedback("first", timeout=30)
        for _ in range(100):  # the loop hears of the first's end
            running.call(lambda: None)
        calls.may_begin.set()
        assert [placed.feedback.state for placed in cache.feedback("second", timeout=30)] == [State.DONE]


def test_calls_do_not_wait_behind_one_that_is_at_work_where_its_unit_has_gone(tmp_path: Path) -> None:
    with held(tmp_path) as (running, cache, calls):
        calls.ends = "slow"
        cache.send(Instruction("slow", "small", "ask", reply="slow"))
        assert calls.ending.wait(30)
        for program in (without_ask(), serving()):
            running.upgrade(Compiled(program), {}, lambda: None)
        for id in ("slow", "quick"):  # as the daemon sends what has no answer
            cache.send(Instruction(id, "small", "ask", reply=id))
        assert [placed.feedback.state for placed in cache.feedback("quick", timeout=30)] == [State.DONE]
        assert not cache.feedback("slow", timeout=0)
        calls.may_end.set()
        assert {placed.feedback.state for placed in cache.feedback("slow", timeout=30)} == {State.DONE}
        assert ask_status(running)["answered"] == 1


def without_ask() -> Program:
    program = serving()
    return replace(program, units=tuple(unit for unit in program.units if unit.name != "ask"))


def ask_status(running: Engine) -> dict[str, object]:
    units = cast("dict[str, dict[str, object]]", running.status()["units"])
    return units["ask"]


def publishing() -> Program:
    return Program(
        "small",
        (),
        (),
        (
            unit(
                "main",
                task("lines", Source(Files("*.txt", Format("text"))), LINE),
                task("calls", Publish(CallTemplate("called", ()), Policy(every_records=10), None), LINE, "lines"),
            ),
            unit("called", responsive=True, parameters=(Parameter("seen", Int(), True),)),
        ),
    )


def test_a_policy_calls_once_for_each_publication_whatever_happens(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("line\n" * 100)
    connections = connected(tmp_path)
    state = tmp_path / "state"
    for _ in range(4):
        running = Engine(
            Compiled(publishing()), connections=connections, state=state, build=build, commit_s=0.001, piece=60
        )
        running.start()
        running.wait(timeout=0.03)
        running.close()
        running.check()
    Engine(Compiled(publishing()), connections=connections, state=state, build=build, piece=60).run()
    cache = connections.cache(cache_topic("small", "called"), "small", "test")
    calls: dict[str, object] = {}
    while (delivery := cache.receive("called", timeout=0)) is not None:
        instruction = delivery.instruction
        assert calls.setdefault(instruction.id, instruction.parameters["seen"]) == instruction.parameters["seen"]
        delivery.acknowledge(Feedback(instruction.id, State.DONE))
    assert sorted(calls.values()) == list(range(10, 301, 10))  # type: ignore[type-var]
    assert sorted(calls) == sorted(f"small.main.calls.{n}" for n in range(30))


def test_a_policys_call_whose_id_is_taken_fails_and_the_others_are_made(tmp_path: Path) -> None:
    (tmp_path / "0.txt").write_text("line\n" * 40)
    store = open_store(tmp_path / "jobs.sqlite")
    store.calls.accept(Instruction("small.main.calls.1", "small", "called", publisher="supervisor"))
    Engine(
        Compiled(publishing()),
        connections=connected(tmp_path),
        state=tmp_path / "state",
        build=build,
        calls=store.calls,
    ).run()
    made = store.calls.find(state=CallState.ACCEPTED)
    assert {call.id for call in made if call.own} == {f"small.main.calls.{number}" for number in (0, 2, 3)}
    [failed] = store.calls.find(state=CallState.FAILED)
    assert failed.instruction.parameters == {"seen": 20}
    store.close()


def test_an_engine_without_calls_leaves_responsive_units_out(tmp_path: Path) -> None:
    engine(serving(), tmp_path).run()
    assert rows_of(serving(), "copies", tmp_path) == []


def test_a_flood_of_calls_is_answered(tmp_path: Path) -> None:
    with started(serving(), tmp_path) as (_, connections):
        cache = connections.cache(cache_topic("small", "ask"), "small", "test")
        ids = [new_id() for _ in range(300)]
        for id in ids:
            cache.send(Instruction(id, "small", "ask", reply="flood"))
        answers = answers_at(cache, "flood", len(ids))
        assert {(answer.state, answer.rows) for answer in answers} == {(State.DONE, 5)}
        assert {answer.id for answer in answers} == set(ids)


def test_calls_are_not_answered_from_tables_that_are_still_being_restored(tmp_path: Path) -> None:
    for _ in range(3):
        with started(serving(), tmp_path) as (_, connections):
            assert ask(connections, "ask").rows == 5


def test_a_call_whose_answer_could_not_be_stored_begins_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, failures = CallStore.finish, [2]  # its answer, and then that this could not be stored

    def full(self: CallStore, id: str, feedback: Feedback, reply: str | None) -> Feedback:
        if failures[0]:
            failures[0] -= 1
            raise GhcmError("the disk is full", code="GHCM-740")
        return finish(self, id, feedback, reply)

    monkeypatch.setattr(CallStore, "finish", full)
    with started(serving(), tmp_path) as (_, connections):
        answer = ask(connections, "ask", deadline=now_us() + 300_000_000)
        assert (answer.state, answer.rows) == (State.DONE, 5)
