"""Idle sources: event time goes on without them, and what they give later is late where windows have closed; the
reference, with the same moments of arrival, gives the same.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from ghcm.runtime.contract import NEVER, Context, Form, Idler
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.operators import build
from ghcm.runtime.operators.event_time import EventTimeOperator
from ghcm.spg.graph import watermark_groups
from ghcm.spg.reference import Result, run
from ghcm.verification.compare import compare_dead
from tests.conformance.live_runs import Running, checked, put
from tests.conformance.text_programs import FORMS
from tests.unit.runtime.operators.harness import Box, Refusal, module_of
from tests.unit.runtime.small_operators import dead_letters

S, MS = 1_000_000, 1_000
START = 1_700_000_000 * S

LIVE = """program live
record R { k: string, n: int, at: int }
sink seen = files("seen", format = json, mode = append)
sink out = files("out", format = json, mode = append)
stream u {
  a = files("in/a*", format = json, follow = true).as(R)
  b = files("in/b*", format = json, follow = true).as(R)
  union(a, b).to(seen)
  timed_a = a.event_time(r => from_micros(r.at), disorder = 0s, idle = 100ms)
  timed_b = b.event_time(r => from_micros(r.at), disorder = 0s IDLE)
  union(timed_a, timed_b)
    .map_to_pair(r => (r.k, r.n)).window(tumbling(1s)).reduce_by_key((a, b) => a + b).to(out)
}
"""
BOTH = LIVE.replace("IDLE", ", idle = 100ms")
ONE = LIVE.replace("IDLE", "")


def lines(*records: tuple[int, int]) -> str:
    """Records of number and time (milliseconds)."""
    return "".join(json.dumps({"k": "k", "n": n, "at": at * MS}) + "\n" for n, at in records)


def window(n: int, second: int) -> tuple[object, ...]:
    return ("k", n, (second * S, (second + 1) * S))


class Script:
    """Gives files to a running unit, and the same at the same moments to the reference."""

    def __init__(self, base: Path, text: str, *, optimised: bool) -> None:
        (base / "in").mkdir()
        self.base, self.text, self.optimised = base, text, optimised
        self.given: dict[str, list[str]] = {"a": [], "b": []}
        self.arrivals: dict[str, list[int]] = {"a": [], "b": []}
        self.running = Running(base, START, text, optimised=optimised)

    def give(self, source: str, *records: tuple[int, int]) -> None:
        """A file with these records, and wait until all of it is through."""
        text = lines(*records)
        self.given[source].append(text)
        self.arrivals[source] += [self.running.now] * len(records)
        put(self.base, f"{source}{len(self.given[source])}", text)
        total = sum(map(len, self.arrivals.values()))
        self.running.until(lambda: len(self.running.rows("seen")) == total)
        self.later(1)  # no two files come at the same moment

    def later(self, ms: int) -> None:
        self.running.now += ms * MS

    def closed(self, *windows: tuple[object, ...]) -> None:
        """Wait until these are all windows that have closed."""
        self.running.until(lambda: self.running.rows("out") == list(windows))

    def expected(self) -> Result:
        program = checked(self.text)
        inputs = {name: {"": "".join(texts).encode()} for name, texts in self.given.items()}
        return run(
            program, "u", inputs=inputs, arrivals={f"timed_{name}": moments for name, moments in self.arrivals.items()}
        )

    def agrees(self) -> list[object]:
        """End, and compare what has closed and what was late with the reference, of which the numbers of the late
        records are given.
        """
        expected, closed = self.expected(), self.running.rows("out")
        self.running.close()
        found = dead_letters(self.base, checked(self.text), "u")
        assert compare_dead(expected.dead, [(each.task, each.reason.value, each.input) for each in found]) == []
        assert set(closed) <= set(expected.sinks["out"])
        return [json.loads(each.input) for each in found]


@pytest.fixture(params=[True, False], ids=["optimised", "as written"])
def script(request: pytest.FixtureRequest, tmp_path: Path) -> Script:
    return Script(tmp_path, BOTH, optimised=request.param)


def test_a_silent_source_holds_no_window_back(script: Script) -> None:
    script.give("a", (1, 500), (2, 1500), (3, 5200))
    script.later(80)
    script.give("a", (4, 5500))
    assert script.running.rows("out") == []
    script.later(30)
    script.closed(window(1, 0), window(2, 1))
    script.give("b", (10, 1200), (20, 5400), (30, 5900))
    script.give("a", (5, 8000))
    script.give("b", (40, 7000))
    script.closed(window(1, 0), window(2, 1), window(57, 5))
    script.later(1000)
    script.running.commit(2)
    script.closed(window(1, 0), window(2, 1), window(57, 5))
    assert script.agrees() == [{"key": "k", "value": 10}]


def test_what_was_late_is_late_after_a_restart(script: Script) -> None:
    script.give("a", (1, 500))
    script.later(90)
    script.give("a", (2, 3500))
    script.later(20)
    script.closed(window(1, 0))
    script.running.close()
    script.running = Running(script.base, script.running.now, BOTH, optimised=script.optimised)
    script.give("b", (10, 800), (20, 3600))
    script.give("a", (3, 5000))
    script.give("b", (30, 5000))
    script.closed(window(1, 0), window(25 - 3, 3))
    assert script.agrees() == [{"key": "k", "value": 10}]


def test_only_those_that_may_be_idle_are(tmp_path: Path) -> None:
    script = Script(tmp_path, ONE, optimised=True)
    script.give("a", (1, 500))
    script.give("b", (2, 900), (3, 4100))
    script.later(1000)
    script.closed(window(3, 0))
    script.give("a", (4, 700), (5, 4200))
    script.give("b", (6, 6000))
    script.closed(window(3, 0))
    script.later(1000)
    script.closed(window(3, 0), window(8, 4))
    assert script.agrees() == [{"key": "k", "value": 4}]


def test_beside_what_has_ended_an_idle_source_goes_on_as_far_as_that_came(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    put(tmp_path, "a1", lines((1, 500), (2, 3500)))
    running = Running(tmp_path, START, BOTH.replace('a*", format = json, follow = true', 'a*", format = json'))
    running.until(lambda: len(running.rows("seen")) == 2)
    running.now += 100 * MS
    running.until(lambda: running.rows("out") == [window(1, 0)])
    put(tmp_path, "b1", lines((10, 800), (20, 3600), (30, 4000)))
    running.until(lambda: running.rows("out") == [window(1, 0), window(22, 3)])
    running.close()


@pytest.mark.parametrize("form", FORMS)
def test_both_forms_carry_how_far_an_idle_partition_has_come(form: Form) -> None:
    program = checked(BOTH)
    unit = program.unit("u")
    task, moment = unit.task("timed_a"), START
    code = module_of(program, unit).TASKS["timed_a"]
    operator, box = build(task, unit, code, Context(form=form, now=lambda: moment)), Box(Refusal.NEVER)
    assert isinstance(operator, EventTimeOperator)
    both = frozenset({"p", "q"})

    def come(at: int, partition: str) -> None:
        batch = Batch.from_rows(task.schema, [("k", 1, at), ("k", 2, at - 1)], partition=partition)
        box.all(partial(operator.process, 0, batch))

    come(5 * S, "p")
    moment += 60 * MS
    come(5 * S, "p")
    moment += 60 * MS
    operator.look(both)
    assert operator.silent() == {"q"}
    assert not operator.idle()
    operator.look(both)
    assert operator.idle() == {"q"}
    operator.follow("q", 5 * S)
    come(3 * S, "q")
    assert not operator.idle()
    operator.look(both)
    come(6 * S, "q")
    assert operator.counts == {"rows": 0, "columns": 0} | {form: 8}
    marks = [row[-1] for item in box.items if isinstance(item, Batch) for row in item.rows()]
    assert marks == [NEVER, *[5 * S] * 6, 6 * S]
    again = build(task, unit, code, Context(form=form, now=lambda: moment))
    again.restore(operator.save())
    assert isinstance(again, Idler)
    assert again.watermarks() == {"p": 5 * S, "q": 6 * S}
    assert not again.idle()


def test_without_a_script_nothing_is_idle_in_the_reference() -> None:
    inputs = {"a": {"": lines((1, 500), (2, 5000)).encode()}, "b": {"": lines((3, 900)).encode()}}
    program = checked(BOTH)
    assert {task.id for task in program.unit("u").tasks} >= set(inputs)
    assert run(program, "u", inputs=inputs).dead == []


def test_those_are_waited_for_whose_records_may_meet() -> None:
    text = """program p
sink out = files("out", format = json, mode = append)
sink out2 = files("out2", format = json, mode = append)
sink out3 = files("out3", format = json, mode = append)
stream u {
  a = generate(rows = 1, step = 1s).event_time(r => r.time, disorder = 0s)
  b = generate(rows = 1, step = 1s).event_time(r => r.time, disorder = 0s)
  c = generate(rows = 1, step = 1s).event_time(r => r.time, disorder = 0s)
  alone = generate(rows = 1, step = 1s).event_time(r => r.time, disorder = 0s)
  union(a, b).window(tumbling(1s)).count().to(out)
  union(b, c).window(tumbling(1s)).count().to(out2)
  alone.window(tumbling(1s)).count().to(out3)
}
"""
    together = frozenset({"a", "b", "c"})
    found = watermark_groups(checked(text).unit("u"))
    assert found == {"a": together, "b": together, "c": together, "alone": frozenset({"alone"})}
