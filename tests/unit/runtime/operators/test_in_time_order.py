"""What is kept of keys in the order of event time: what a snapshot has of it, and how much it becomes."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from ghcm.runtime.contract import Context, Operator
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.operators import build
from ghcm.runtime.operators.processing import ProcessOperator
from ghcm.spg.ops import Versions
from ghcm.spg.sequences import Process
from tests.conformance.live_runs import checked
from tests.unit.runtime.operators.harness import Box, Refusal, module_of

TEXT = """program p
record Event { at: timestamp, key: int, n: int }
record Count { n: int }
sink out = files("out", format = json, mode = append)
sink numbers = files("numbers", mode = append)
stream u {
  events = socket("localhost:9000", format = json).as(Event).event_time(e => e.at, disorder = 0s)
  pairs = events.map_to_pair(e => (e.key, e.n))
  lists = pairs.group_by_key()
  events.join(lists, on = (e, t) => e.key == t.key).to(out)
  pairs.process("tests.unit.runtime.operators.test_in_time_order:put_off", state = Count) : int.to(numbers)
}
"""
UNIT = checked(TEXT).unit("u")
MODULE = module_of(checked(TEXT), UNIT)


def put_off(key: int, value: int | None, time: datetime, state: object) -> object:
    """Is called soon, and then never again, unless a value comes."""
    far = time.replace(year=9000)
    return [], {"n": 0}, far if value is None else time + timedelta(microseconds=1)


def made(op: type) -> Operator:
    task = next(each for each in UNIT.tasks if isinstance(each.op, op))
    return build(task, UNIT, MODULE.TASKS.get(task.id), Context())


def take(operator: Operator, *times: int) -> None:
    """Values of one key at these times, which are over when they have come."""
    pairs, box = UNIT.task("pairs").schema, Box(Refusal.NEVER)
    rows = [(7, time, time, time - 1) for time in times]
    box.all(partial(operator.process, 0, Batch.from_rows(pairs, rows, timed=True)))
    box.all(partial(operator.advance, times[-1] + 1))


def test_a_snapshot_that_is_written_later_has_nothing_that_came_behind_it() -> None:
    lists = made(Versions)
    take(lists, 1, 2)
    early, late = lists.save(), lists.save()
    written = dict(early)
    take(lists, 3, 4)
    assert dict(late) == written


def test_moments_that_are_put_off_do_not_pile_up() -> None:
    operator = made(Process)
    assert isinstance(operator, ProcessOperator)
    for time in range(1, 2001, 10):
        take(operator, time)
    assert len(operator._looks_at) < 100  # pyright: ignore[reportPrivateUsage]
