"""Lookups at work: a stream that waits in an engine for the end of a list, and one that sees a table grow."""

import socket
from pathlib import Path
from threading import Thread

import pytest

from ghcm.driver import build as build_bundle
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.batch import Batch
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.engine import Engine
from ghcm.runtime.operator import Context, Form
from ghcm.runtime.operators import build
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.sink import read
from ghcm.source import Source
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
    connections = Connections(tmp_path)
    Engine(bundle, connections=connections, state=tmp_path / "state").run()
    server.close()
    found = list(read(bundle.plan.sink("out"), connections))
    assert found == [("owner of h0", 1), ("nobody", 1), ("owner of h19999", 1)]


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
        operator.process(0, Batch.from_rows(flows, rows, partition="p"), box)

    def table(*rows: tuple[str, int]) -> None:
        operator.process(1, Batch.from_rows(totals, rows), box)

    flow(("a", 1))
    table(("a", 10), ("b", 20))
    flow(("a", 2), ("c", 3), ("b", 4))
    table(("a", 11))
    state = operator.save()
    operator = build(task, unit, code, Context(form=form))
    for group, data in state.items():
        operator.restore({group: data})
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
