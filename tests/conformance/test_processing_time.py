"""Windows of processing time: what the reference gives for scripted arrivals is what the engine gives at those."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from ghcm.errors import GhcmError
from ghcm.optimizer import optimise
from ghcm.runtime.contract import Form
from ghcm.runtime.data.batch import Batch
from ghcm.spg.graph import Program
from ghcm.spg.ops import ArrivalTime
from ghcm.spg.reference import run
from ghcm.verification.compare import differences
from tests.conformance.live_runs import Running, put
from tests.conformance.text_programs import FORMS, program_of
from tests.unit.runtime.operators.harness import Given, Refusal, run_unit

S = 1_000_000


class Clock:
    """Goes on a little whenever it is asked, and now and then back, as clocks of machines do."""

    def __init__(self) -> None:
        self.now = 1_700_000_000 * S
        self._asked = 0

    def __call__(self) -> int:
        self._asked += 1
        self.now += (0, 3 * S, 1, -5 * S, 9 * S, 0, 4 * S + 7)[self._asked % 7]
        return self.now


def stamps(program: Program, found: Given) -> dict[str, list[int]]:
    """When records came, by task that goes by the clock."""
    tasks = [task.id for task in program.unit("u").tasks if isinstance(task.op, ArrivalTime)]
    batches = {id: [item for item in found.outputs[id] if isinstance(item, Batch)] for id in tasks}
    return {id: [cast("int", row[-2]) for each in several for row in each.rows()] for id, several in batches.items()}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("size", "restores"), [(1, True), (2, False), (3, True), (100, True)])
def test_records_are_in_the_windows_in_which_they_came(form: Form, size: int, restores: bool) -> None:
    written = program_of("arrivals")
    for program in (written, optimise(written).program):
        clock = Clock()
        found = run_unit(
            program, program.unit("u"), form, size=size, refusal=Refusal.ONE_SLOT, restores=restores, now=clock
        )
        times = stamps(program, found)
        assert len(times) == 7 and all(one <= two for each in times.values() for one, two in pairwise(each))
        expected = run(program, "u", arrivals=times)
        dead = [(letter.task, letter.reason.value, letter.input) for letter in found.letters]
        assert differences(program, expected, sinks=found.sinks, dead=dead) == []
        assert size > 3 or len(found.sinks["totals"]) > 5


def test_the_reference_asks_for_a_script() -> None:
    with pytest.raises(GhcmError, match="goes by the clock, and 11 records come to it"):
        run(program_of("arrivals"), "u")


LIVE = """program live
record R { k: string, n: int }
sink seen = files("seen", format = json, mode = append)
sink out = files("out", format = json, mode = append)
sink visits = files("visits", format = json, mode = append)
stream u {
  records = files("in/*", format = json, follow = true).as(R)
  records.to(seen)
  records.map_to_pair(r => (r.k, r.n)).window(tumbling(100ms, time = processing)).reduce_by_key((a, b) => a + b).to(out)
  records.map_to_pair(r => (r.k, r.n)).window(session(60ms, time = processing)).count().to(visits)
}
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


def test_windows_close_by_the_clock_while_nothing_comes(base: Path) -> None:
    running = Running(base, 10 * S + 20_000, LIVE)
    put(base, "a", '{"k":"a","n":1}\n{"k":"a","n":2}\n{"k":"b","n":3}\n')
    running.until(lambda: len(running.rows("seen")) == 3)
    before = running.commits()
    running.until(lambda: running.commits() > before + 2)
    assert running.rows("out") == running.rows("visits") == []
    running.now += 80_000
    window = (10 * S, 10 * S + 100_000)
    running.until(lambda: running.rows("out") == [("a", 3, window), ("b", 3, window)])
    session = (10 * S + 20_000, 10 * S + 80_000)
    running.until(lambda: running.rows("visits") == [("a", 2, session), ("b", 1, session)])
    running.close()


def test_a_crash_loses_and_repeats_nothing_and_the_clock_does_not_go_back(base: Path) -> None:
    running = Running(base, 20 * S + 50_000, LIVE)
    put(base, "a", '{"k":"a","n":1}\n')
    running.until(lambda: len(running.rows("seen")) == 1)
    running.close()
    put(base, "b", '{"k":"a","n":4}\n')
    again = Running(base, 19 * S, LIVE)
    again.until(lambda: len(again.rows("seen")) == 2)
    assert again.rows("out") == []
    again.now = 21 * S
    again.until(lambda: again.rows("out") == [("a", 5, (20 * S, 20 * S + 100_000))])
    again.close()
