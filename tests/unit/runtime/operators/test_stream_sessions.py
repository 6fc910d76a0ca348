"""Sessions of streams, in which batches by rows and batches by columns meet."""

from __future__ import annotations

from functools import partial

import pytest

from ghcm.runtime.contract import Context
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.operators import build
from tests.conformance.live_runs import checked
from tests.unit.runtime.operators.harness import Refusal, drive, module_of

TEXT = """program p
record Event { at: timestamp, key: int, n: int }
sink out = files("out", format = json, mode = append)
stream u {
  events = socket("localhost:9000", format = json).as(Event).event_time(e => e.at, disorder = 1s)
  events.map_to_pair(e => (e.key, e.n)).window(session(2s)).named("kept").count().to(out)
}
"""


@pytest.mark.parametrize("restores", [False, True])
def test_a_session_has_its_records_in_the_order_in_which_they_came(restores: bool) -> None:
    program = checked(TEXT)
    unit = program.unit("u")
    task = unit.task("kept")
    takes = unit.task(task.inputs[0].producer).schema

    def batch(*numbers: int) -> Batch:
        rows = [(key, n, n * 1000, -1_000_000) for n in numbers for key in (7, 8)]
        return Batch.from_rows(takes, rows, timed=True)

    make = partial(build, task, unit, module_of(program, unit).TASKS.get(task.id), Context(columnar_from=4))
    came = [batch(5, 6, 7), batch(1), batch(3, 2, 4), batch(0)]
    box, counts, _ = drive(make, [came], Refusal.NEVER, restores=restores)
    assert counts == {"rows": 4, "columns": 12}
    rows = [row for item in box.items if isinstance(item, Batch) for row in item.rows()]
    for key in (7, 8):
        assert [row[1] for row in rows if row[0] == key] == [5, 6, 7, 1, 3, 2, 4, 0]
