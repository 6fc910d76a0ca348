"""Generated programs whose tasks have three instances, and the same restored with one in between: what they leave is
what the reference leaves.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from ghcm.optimizer import optimise
from ghcm.reducers import Aggregate
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.spg.connectors import Memory
from ghcm.spg.graph import Forward, Input, Program, Task, Unit
from ghcm.spg.ops import Source, Union
from ghcm.spg.reference import run
from ghcm.spg.text import print_program
from ghcm.spg.verify import verify
from ghcm.types import Struct
from ghcm.verification.compare import differences
from tests.campaigns import times
from tests.conformance.live_runs import Compiled, checked
from tests.laws.covered_types import nodes
from tests.laws.spgs import programs
from tests.redis_server import connected

SOURCES = 3
LOOSE = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    max_examples=times(12),
    derandomize=True,
    phases=(Phase.generate,),
)


def from_several(unit: Unit) -> Unit:
    """The unit with its rows in three sources in place of one, unless the order counts in which they come."""
    if any(isinstance(node, Aggregate) and node.arrival for node in nodes(unit.tasks)):
        return unit
    tasks: list[Task] = []
    for task in unit.tasks:
        if isinstance(task.op, Source) and isinstance(task.op.connector, Memory):
            rows = task.op.connector.rows
            parts = [Source(replace(task.op.connector, rows=rows[n::SOURCES])) for n in range(SOURCES)]
            tasks += [replace(task, id=f"{task.id}.{n}", op=part, named=False) for n, part in enumerate(parts)]
            inputs = tuple(Input(f"{task.id}.{n}", Forward()) for n in range(SOURCES))
            tasks.append(replace(task, op=Union(), inputs=inputs, calls=0))
        else:
            tasks.append(task)
    return replace(unit, tasks=tuple(tasks))


@LOOSE
@given(program=programs("stream"))
def test_three_instances_leave_what_the_reference_leaves(program: Program) -> None:
    several = replace(program, units=tuple(from_several(unit) for unit in program.units))
    expected = run(several, "u")
    asked = replace(several, units=tuple(replace(unit, parallelism=SOURCES) for unit in several.units))
    plan = optimise(asked).program
    assert verify(plan) == []
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        connections, state = connected(base), base / "state"
        for parallelism in (SOURCES, 1, SOURCES):
            running = Engine(
                Compiled(plan), connections=connections, state=state, commit_s=0.001, parallelism=parallelism
            )
            running.start()
            running.wait(0 if parallelism == 1 else 0.02)
            running.close()
        Engine(Compiled(plan), connections=connections, state=state).run()
        [sink] = program.sinks
        rows = list(read(sink, connections))
        files = (state / "dead" / program.name / "u").glob("*.json*")
        letters = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    sinks = {sink.name: rows if isinstance(sink.element, Struct) else [row[0] for row in rows]}
    dead = [(letter["task"], letter["reason"], letter["input"]) for letter in letters]
    found = differences(several, expected, sinks=sinks, dead=dead)
    assert found == [], print_program(plan)


FILES = """
program shares
record Row { n: int, host: string, note: string }
sink sums = files("sums", mode = append)
stream u parallelism = 3 {
  files("*.json", format = json).as(Row).map_to_pair(r => (r.host, r.n)).reduce_by_key((a, b) => a + b).to(sums)
}
"""


def test_each_instance_reads_its_share_of_files_whichever_columns_are_read(tmp_path: Path) -> None:
    for number in range(5):
        rows = [{"n": n, "host": f"h{n % 3}", "note": "read by nobody"} for n in range(number, 15_000, 5)]
        (tmp_path / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = optimise(checked(FILES)).program
    assert plan.units[0].tasks[0].schema != plan.units[0].tasks[0].whole
    connections, state = connected(tmp_path), tmp_path / "state"
    for parallelism in (3, 2):
        running = Engine(
            Compiled(plan), connections=connections, state=state, commit_s=0.001, piece=2000, parallelism=parallelism
        )
        running.start()
        running.wait(0.05)
        running.close()
    Engine(Compiled(plan), connections=connections, state=state).run()
    assert sorted(read(plan.sinks[0], connections)) == [(f"h{n}", sum(range(n, 15_000, 3))) for n in range(3)]
