"""Lookups at work: a stream that waits in an engine for the end of a list, and one that sees a table grow."""

import socket
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from ghcm.driver import build as build_bundle
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.contract import Context, Form
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.engine.edge import Barrier, Edge, End, Item
from ghcm.runtime.engine.host import Saved
from ghcm.runtime.engine.inlets import Ends
from ghcm.runtime.engine.instances import Instance
from ghcm.runtime.engine.operator_tasklet import OperatorTasklet
from ghcm.runtime.engine.routes import Direct
from ghcm.runtime.engine.scheduler import Progress, Scheduler
from ghcm.runtime.operators import build
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from tests.redis_server import connected
from tests.unit.runtime.operators.harness import Box, Refusal, module_of

ENRICHED = """program enriched
record Flow {{ src: string, bytes: int }}
record Host {{ name: string, owner: string }}
sink out = files("out")
stream u {{
  flows = socket("127.0.0.1:{port}", format = json).as(Flow)
  hosts = files("hosts.csv", format = csv).as(Host)
  owned = flows.join(hosts, on = (f, h) => f.src == h.name, kind = left)
  owned.map(o => {{ owner: o.right.owner ?? "nobody", bytes: o.left.bytes }}).to(out)
}}
"""


def test_a_stream_waits_until_the_list_is_complete(tmp_path: Path) -> None:
    names = [f"h{number}" for number in range(20_000)]
    hosts = "".join(f"{name},owner of {name}\n" for name in names)
    (tmp_path / "hosts.csv").write_text(f"name,owner\n{hosts}")
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            for name in ("h0", "stranger", "h19999"):
                connection.sendall(f'{{"src": "{name}", "bytes": 1}}\n'.encode())

    Thread(target=serve, daemon=True).start()
    program = tmp_path / "enriched.istream"
    program.write_text(ENRICHED.format(port=server.getsockname()[1]))
    bundle = Bundle.open(build_bundle(program, tmp_path / "enriched.ghcm"))
    connections = connected(tmp_path)
    Engine(bundle, connections=connections, state=tmp_path / "state").run()
    server.close()
    found = list(read(bundle.plan.sink("out"), connections))
    assert found == [("owner of h0", 1), ("nobody", 1), ("owner of h19999", 1)]


SHARED = """program shared
sink out = files("out")
stream u {
  rows = generate(rows = 400000, step = 1ms).event_time(r => r.time, disorder = 0s).window(tumbling(10s))
  highest = rows.map_to_pair(r => (r.window, r.number)).reduce_by_key((a, b) => max(a, b))
  joined = rows.join(highest, on = (r, h) => r.window == h.key and r.number == h.value)
  joined.map(j => { n: j.left.number }).to(out)
}
"""


def test_more_than_an_edge_holds_waits_for_a_table_of_the_same_records(tmp_path: Path) -> None:
    program = tmp_path / "shared.istream"
    program.write_text(SHARED)
    bundle = Bundle.open(build_bundle(program, tmp_path / "shared.ghcm"))
    connections = connected(tmp_path)
    Engine(bundle, connections=connections, state=tmp_path / "state").run()
    assert list(read(bundle.plan.sink("out"), connections)) == [(10_000 * n + 9_999,) for n in range(40)]


GROWING = """program growing
record Flow { src: string, bytes: int }
sink out = files("out")
stream u {
  flows = socket("a:1", format = json).as(Flow)
  totals = socket("b:1", format = json).as(Flow).map_to_pair(f => (f.src, f.bytes)).reduce_by_key((a, b) => a + b)
  seen = flows.join(totals, on = (f, t) => f.src == t.key and t.value < 100, kind = left)
  seen.to(out)
}
"""


@pytest.mark.parametrize("form", ["rows", "columns"])
def test_records_see_what_a_table_holds_when_they_come(form: Form) -> None:
    program = lower(parse(Source("growing.istream", GROWING)))
    unit = program.unit("u")
    task, code = unit.task("seen"), module_of(program, unit).TASKS["seen"]
    flows, totals = (unit.task(edge.producer).schema for edge in task.inputs)
    operator, box = build(task, unit, code, Context(form=form)), Box(Refusal.NEVER)

    def flow(*rows: tuple[str, int]) -> None:
        box.all(partial(operator.process, 0, Batch.from_rows(flows, rows, partition="p")))

    def table(*rows: tuple[str, int]) -> None:
        box.all(partial(operator.process, 1, Batch.from_rows(totals, rows)))

    flow(("a", 1))
    table(("a", 10), ("b", 20))
    flow(("a", 2), ("c", 3), ("b", 4))
    table(("a", 11))
    state = operator.save()
    operator = build(task, unit, code, Context(form=form))
    operator.restore(state)
    flow(("a", 5))
    table(("a", 100))
    flow(("a", 6))
    found = [row for item in box.items if isinstance(item, Batch) for row in item.rows()]
    assert found == [
        (("a", 1), None),
        (("a", 2), ("a", 10)),
        (("c", 3), None),
        (("b", 4), ("b", 20)),
        (("a", 5), ("a", 11)),
        (("a", 6), None),
    ]
    assert {item.partition for item in box.items if isinstance(item, Batch)} == {"p"}


WAITING = """program waiting
record Flow { src: string, bytes: int }
sink out = files("out")
stream u {
  flows = socket("a:1", format = json).as(Flow)
  hosts = memory([{src: "a", bytes: 7}]).as(Flow)
  seen = flows.join(hosts, on = (f, h) => f.src == h.src)
  seen.to(out)
}
"""


@dataclass
class Unit:
    """The host of a tasklet, which keeps what it is told."""

    keeps_state = True
    scheduler: Scheduler = field(default_factory=Scheduler)
    saved: list[tuple[int, Saved]] = field(default_factory=list[tuple[int, Saved]])

    def acknowledge(self, name: str, snapshot: int, saved: Saved) -> None:
        self.saved.append((snapshot, saved))

    def finished(self, name: str, saved: Saved) -> None:
        pass

    def failed(self, task: str, error: Exception) -> None:
        raise error

    def mark_dirty(self) -> None:
        pass

    def dead(self, letter: DeadLetter) -> None:
        pass


@pytest.mark.parametrize("columnar", [False, True])
def test_a_stream_that_waits_holds_no_snapshot_up(columnar: bool) -> None:
    """Its records before the barrier go into the snapshot, those behind it wait outside; none is lost or doubled."""
    program = lower(parse(Source("waiting.istream", WAITING)))
    unit = program.unit("u")
    task, code = unit.task("seen"), module_of(program, unit).TASKS["seen"]
    flows, hosts = (unit.task(edge.producer).schema for edge in task.inputs)
    host = Unit()
    left, right, out = Edge(), Edge(), Edge()
    tasklet = OperatorTasklet(
        Instance("seen"),
        build(task, unit, code, Context(form="rows")),
        Ends([left, right], [0, 1], [Direct(out)]),
        host,
    )

    def steps() -> None:
        while tasklet.step() is Progress.WORKED:
            pass

    first = Batch.from_rows(flows, [("a", 1)])
    left.offer(Batch.from_frame(flows, first.frame()) if columnar else first)
    steps()
    assert left.rows == 1
    right.offer(Barrier(1))
    left.offer(Barrier(1))
    left.offer(Batch.from_rows(flows, [("a", 2)]))
    steps()
    ((snapshot, saved),) = host.saved
    assert (snapshot, left.rows) == (1, 1)
    right.offer(Batch.from_rows(hosts, [("a", 7)]))
    steps()
    assert not [item for item in drained(out) if isinstance(item, Batch)]
    right.offer(End())
    steps()
    assert rows_in(out) == [(("a", 1), ("a", 7)), (("a", 2), ("a", 7))]

    again, left, right, out = build(task, unit, code, Context(form="rows")), Edge(), Edge(), Edge()
    again.restore(saved.state)
    tasklet = OperatorTasklet(Instance("seen"), again, Ends([left, right], [0, 1], [Direct(out)]), host)
    right.offer(Batch.from_rows(hosts, [("a", 7)]))
    right.offer(End())
    left.offer(Batch.from_rows(flows, [("a", 2)]))
    steps()
    assert rows_in(out) == [(("a", 1), ("a", 7)), (("a", 2), ("a", 7))]


def drained(edge: Edge) -> list[Item]:
    items: list[Item] = []
    while (item := edge.take(1000)) is not None:
        items.append(item)
    return items


def rows_in(edge: Edge) -> list[Row]:
    return [row for item in drained(edge) if isinstance(item, Batch) for row in item.rows()]
