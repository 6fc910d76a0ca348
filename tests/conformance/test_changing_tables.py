"""Tables of the newest records, and what follows them: what is left of it is what the reference makes of the end."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.optimizer import optimise
from ghcm.runtime.contract import Context
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.operators import build
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from ghcm.spg import ops
from ghcm.spg.graph import Sink
from ghcm.spg.reference import run
from ghcm.types import Struct
from ghcm.values import encode
from ghcm.verification.compare import compare_rows
from tests.campaigns import times
from tests.conformance.live_runs import Compiled, put
from tests.conformance.text_programs import PROGRAMS, agrees_natively, program_of
from tests.redis_server import connected
from tests.unit.runtime.operators.harness import Box, Refusal, module_of

CITIES = ("graz", "wien", None, "linz")


def users(random: Random, count: int) -> list[Row]:
    """Records of few keys, with nulls, in no order of their numbers, a third of them deletions."""
    return [
        (
            random.choice((1, 2, 3, 4, 5, None)),
            random.choice(("ann", "bob", None)),
            random.choice(CITIES),
            random.choice("cud"),
            random.randrange(count),
            random.choice((0.5, -0.0, 0.0, None, 2.25)),
        )
        for _ in range(count)
    ]


def orders(random: Random, count: int) -> list[Row]:
    return [
        (
            random.randrange(6),
            random.choice((1, 2, 3, 9, None)),
            random.randrange(8),
            random.choice((True, False, None)),
        )
        for _ in range(count)
    ]


def test_what_follows_tables_is_that_of_their_end() -> None:
    program = program_of("changing")
    for seed in range(times(3)):
        random = Random(seed)
        given = {"changes": users(random, 40), "placed": orders(random, 30)}
        agrees_natively(program, given=given)


LIVE = {
    'socket("localhost:9000", format = json)': 'files("in/users*", format = json, follow = true)',
    'socket("localhost:9001", format = json)': 'files("in/orders*", format = json, follow = true)',
    'redis("by_city"': 'parquet("by_city"',
}


@pytest.mark.slow
def test_sinks_lose_what_tables_lose_over_restarts_at_other_instances(tmp_path: Path) -> None:
    text = (PROGRAMS / "changing.istream").read_text(encoding="utf-8")
    for old, new in LIVE.items():
        text = text.replace(old, new)
    program = lower(parse(Source("changing.istream", text)))
    unit, random = program.unit("u"), Random(7)
    (tmp_path / "in").mkdir()
    lines: dict[str, list[str]] = {"changes": [], "placed": []}
    for at, parallelism in enumerate((3, 1, 3)):
        plan = optimise(replace(program, units=(replace(unit, parallelism=parallelism),))).program
        running = Engine(Compiled(plan), connections=connected(tmp_path), state=tmp_path / "state", commit_s=0.01)
        running.start()
        for task, name, rows in (("changes", "users", users(random, 30)), ("placed", "orders", orders(random, 20))):
            fresh = [encode(row, unit.task(task).schema) for row in rows]
            lines[task] += fresh
            put(tmp_path, f"{name}{at}", "".join(f"{line}\n" for line in fresh))
        inputs = {task: {"": "\n".join(held).encode()} for task, held in lines.items()}
        expected = run(program, "u", inputs=inputs)
        for sink in program.sinks:
            until_same(running, sink, expected.sinks[sink.name], tmp_path)
        running.close()


def until_same(running: Engine, sink: Sink, rows: list[object], base: Path) -> None:
    """Wait until the sink holds these rows, and no others."""
    connections = connected(base)
    wanted = rows if isinstance(sink.element, Struct) else [(row,) for row in rows]
    while compare_rows(wanted, list(read(sink, connections)), sink.columns):
        running.check()
        running.wait(0.05)
    connections.close()


FOLLOWED = """\
program followed

record User {{ id: int, name: string, op: string }}
record Visit {{ user: int, page: string }}

sink visits  = parquet("visits", mode = append)
sink others  = parquet("others", mode = append)
sink users   = redis("users", key = r => r.key, mode = upsert)

stream u {{
  seen   = {visits}.as(Visit)
  people = {users}.as(User).latest(key = u => u.id, deleted = u => u.op == "d")
  people.to(users).publish(told(n = count()), every = 2, at_end = true)
  named  = people.filter(p => p.value.name != "x")
  known  = seen.join(named, on = (v, p) => v.user == p.key)
  known.map(j => {{ page: j.left.page, name: j.right.value.name }}).to(visits)
  unknown = seen.join(named, on = (v, p) => v.user == p.key, kind = anti)
  unknown.to(others)
}}

responsive batch told(n: int) {{ users.read().reply() }}
"""


def test_streams_look_up_what_is_left_of_a_table() -> None:
    given = {"seen": 'socket("localhost:9000", format = json)', "people": 'socket("localhost:9001", format = json)'}
    program = lower(parse(Source("f.istream", FOLLOWED.format(visits=given["seen"], users=given["people"]))))
    (source,) = (t.id for t in program.unit("u").tasks if t.id.startswith("people") and isinstance(t.op, ops.Source))
    people: list[Row] = [
        (1, "ann", "c"),
        (2, "bob", "c"),
        (3, "x", "c"),
        (1, "eve", "u"),
        (2, "bob", "d"),
        (4, "x", "c"),
    ]
    first: list[Row] = [(9, "first"), (9, "first"), (9, "first")]  # of nobody: until the table has given what it holds
    second: list[Row] = [(1, "/"), (2, "/docs"), (3, "/"), (4, "/"), (1, "/docs")]
    result = agrees_natively(program, given={"seen": first * 3 + second, source: people})
    assert result.sinks["visits"] == [("/", "eve"), ("/docs", "eve")]
    assert result.sinks["users"] == [(1, (1, "eve", "u")), (3, (3, "x", "c")), (4, (4, "x", "c"))]


CHANGES = """\
program changes

record User { id: int, name: string, op: string }

sink changed = parquet("changed", mode = append)

stream u {
  people = socket("localhost:9001", format = json).as(User).latest(key = u => u.id, deleted = u => u.op == "d")
  told = people.changes()
  told.map(c => { id: c.key, name: c.value.name }).to(changed)
}
"""


def test_a_null_says_that_a_table_has_lost_a_key() -> None:
    """As in the engine one commit of the table is one of what follows it."""
    program = lower(parse(Source("changes.istream", CHANGES)))
    unit = program.unit("u")
    latest, changes = (next(t for t in unit.tasks if isinstance(t.op, kind)) for kind in (ops.Latest, ops.Changes))
    commits: list[list[tuple[int, tuple[str, bool]]]] = [
        [(1, ("ann", False)), (2, ("bob", False)), (3, ("eve", False)), (3, ("eve", True))],
        [(1, ("ann", False)), (2, ("bob", True))],
        [(2, ("joe", False)), (1, ("ann", True)), (1, ("ann", False))],
        [(4, ("lea", True)), (1, ("ada", False))],
    ]
    takes = unit.task(latest.inputs[0].producer).schema
    told: list[Row] = []
    state: tuple[Mapping[int, bytes], ...] = ({}, {})
    for rows in commits:
        pairs: list[Row] = [(key, ((key, name, "c"), deleted)) for key, (name, deleted) in rows]
        table, follower = (build(task, unit, None, Context()) for task in (latest, changes))
        for operator, kept in zip((table, follower), state, strict=True):
            operator.restore(kept)
        box = Box(Refusal.NEVER)
        list(table.process(0, Batch.from_rows(takes, pairs), box))
        for batch in table.flush(box):
            told += [row for each in follower.process(0, batch, box) for row in each.rows()]
        told += [row for each in follower.flush(box) for row in each.rows()]
        state = (table.save(), follower.save())
    names = [(key, None if record is None else record[1]) for key, record in cast("list[tuple[int, Any]]", told)]
    assert names == [(1, "ann"), (2, "bob"), (2, None), (2, "joe"), (1, "ada")]


LISTED = """program listed
record R { k: string, n: int }
sink out = redis("out", key = r => r.key, mode = upsert)
stream u {
  rows = memory([R { k: "a", n: 1 }]).event_time(r => from_micros(r.n), disorder = 0s).map_to_pair(r => (r.k, r.n))
  lists = rows.aggregate_by_key(ttl = 1h, all = collect(value))
  lists.to(out)
}
"""


def test_a_snapshot_of_a_table_that_forgets_is_of_its_moment_however_late_it_is_written() -> None:
    program = lower(parse(Source("listed.istream", LISTED)))
    unit = program.unit("u")
    task, box = unit.task("lists"), Box(Refusal.NEVER)
    code, takes = module_of(program, unit).TASKS["lists"], unit.task(unit.task("lists").inputs[0].producer)
    operator: Any = build(task, unit, code, Context())
    for number in (1, 2):
        operator.process(0, Batch.from_rows(takes.schema, [("a", number, number, -1)], timed=True), box)
    saved = operator.save()
    operator.process(0, Batch.from_rows(takes.schema, [("a", 3, 3, -1)], timed=True), box)
    again: Any = build(task, unit, code, Context())
    again.restore(dict(saved))
    assert (again.copy(), operator.copy()) == ([("a", ([1, 2],))], [("a", ([1, 2, 3],))])
