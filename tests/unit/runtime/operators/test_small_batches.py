"""Few records at a time are aggregated as many are, and one that fails does not spoil the form of the others."""

from __future__ import annotations

from functools import partial

import pytest

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.contract import Context
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.operators import build
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.reference import run
from ghcm.verification.compare import differences, letters
from tests.unit.runtime.operators.harness import Box, Refusal, module_of, run_unit

WINDOWS = """
program p
sink out = files("out", format = json, mode = append)
stream u {{
  events = memory([{rows}]).event_time(e => e.at, disorder = 1s)
  sums = events.map_to_pair(e => (e.key, e)).window({window}).aggregate_by_key(n = count(), sum = sum(10 // value.by))
  sums.to(out)
}}
"""


def windows(window: str, *, fails: int) -> Program:
    """60 records in 30 seconds, of which every so-many-th has no sum."""
    rows = ", ".join(
        f'{{ at: from_micros({n * 500_000}), key: "k{n % 5}", by: {0 if n % fails == 7 else n % 3 + 1} }}'
        for n in range(60)
    )
    return lower(parse(Source("p.istream", WINDOWS.format(rows=rows, window=window))))


@pytest.mark.parametrize("window", ["tumbling(10s)", "sliding(10s, 5s)"])
@pytest.mark.parametrize("restores", [False, True])
def test_groups_in_windows_stay_columns_however_few_records_come_at_a_time(window: str, restores: bool) -> None:
    program = windows(window, fails=20)
    found = run_unit(program, program.unit("u"), size=1, refusal=Refusal.ONE_SLOT, restores=restores, columnar_from=16)
    assert differences(program, run(program, "u"), sinks=found.sinks, dead=letters(found.letters)) == []
    (counts,) = (counts for task, counts in found.counts.items() if task == "sums")
    assert counts == {"rows": 3, "columns": 57}


CHAIN = """
program p
sink out = files("out", format = json, mode = append)
stream u {{
  events = memory([{rows}]).event_time(e => from_micros(e.at // e.from), disorder = 5us)
  events.map_to_pair(e => (e.key, 10 // e.by)).window(tumbling(10us)).count().to(out)
}}
"""


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("restores", [False, True])
def test_only_records_near_one_that_fails_are_done_by_rows(many: bool, restores: bool) -> None:
    """Of 200 records one has no time, one no value and one is late; or every third."""
    rows: list[str] = []
    for n in range(200):
        fails = n == 90 or (many and n % 3 == 0)
        at, by = 0 if n == 150 else n, 0 if fails else 2
        rows.append(f"{{ at: {at}, from: {0 if n == 20 else 1}, key: {n % 7}, by: {by} }}")
    program = lower(parse(Source("p.istream", CHAIN.format(rows=", ".join(rows)))))
    found = run_unit(program, program.unit("u"), size=200, refusal=Refusal.ONE_SLOT, restores=restores, columnar_from=8)
    assert differences(program, run(program, "u"), sinks=found.sinks, dead=letters(found.letters)) == []
    done = [counts for counts in found.counts.values() if {"rows", "columns"} == set(counts)]
    for counts in [] if many else done:
        assert counts["columns"] >= 160


def test_what_has_waited_fails_where_it_is_asked_for() -> None:
    """The first to bring it may have been another thread, which has told its letters."""
    text = WINDOWS.format(rows="{ at: from_micros(0), key: 1, by: 1 }", window="tumbling(1s)")
    unit = lower(parse(Source("p.istream", text))).unit("u")
    task = unit.task("sums")
    takes = unit.task(task.inputs[0].producer).schema
    module = module_of(lower(parse(Source("p.istream", text))), unit)
    sums = build(task, unit, module.TASKS.get(task.id), Context())
    window = (0, 1_000_000)
    records = [(n, (0, n, n % 50), window, 5, -10) for n in range(100)]
    brought, asked = Box(Refusal.NEVER), Box(Refusal.NEVER)
    brought.all(partial(sums.process, 0, Batch.from_rows(takes, records, timed=True)))
    asked.all(partial(sums.advance, 3_000_000))
    assert sum(len(each) for each in asked.items if isinstance(each, Batch)) == 98
    assert (len(brought.letters), len(asked.letters)) == (0, 2)
