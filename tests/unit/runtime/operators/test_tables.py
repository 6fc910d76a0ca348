"""Aggregations of input without end are tables: they can be read at any time and give the latest value per key at
each commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from types import ModuleType

from ghcm.expr import Lambda, Var
from ghcm.functions import Failure
from ghcm.reducers import Aggregate, AggregateFunction, Builtin, Kind
from ghcm.runtime.contract import Context, Operator, Table
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.native.code import TaskCode
from ghcm.runtime.operators import build
from ghcm.source import Origin
from ghcm.spg.connectors import Format, Socket
from ghcm.spg.graph import Forward, Hash, Input, Program, Task, Unit
from ghcm.spg.ops import AggregateByKey, Changes, ReduceByKey, Source
from ghcm.types import INT_MAX, Collection, Int, Nullable, Shape, String, pair_of
from tests.unit.runtime.operators.harness import Box, Refusal, module_of

HERE = Origin("test.istream", 1, 1)
PAIR = pair_of(Nullable(String()), Int())
UNIT = Unit(
    "u",
    "stream",
    False,
    (),
    None,
    (
        Task("pairs", Source(Socket("localhost", 1, Format("json"))), (), Collection(Shape.PAIRS, PAIR, False), HERE),
        Task(
            "sums",
            ReduceByKey(Builtin(Kind.SUM, Int())),
            (Input("pairs", Hash(("key",))),),
            Collection(Shape.TABLE, PAIR, False),
            HERE,
            named=True,
        ),
        Task("told", Changes(), (Input("sums", Forward()),), Collection(Shape.PAIRS, PAIR, False), HERE),
    ),
    HERE,
)
MODULE: ModuleType = module_of(Program("p", (), (), (UNIT,)), UNIT)


def test_the_last_to_come_is_the_last_though_the_clock_goes_back_over_a_restart() -> None:
    value = Var("v", Int())
    found = (Aggregate("value", AggregateFunction.LAST, Lambda((value,), value), Int(), arrival=True),)
    [pairs, sums, told] = UNIT.tasks
    unit = replace(UNIT, tasks=(pairs, replace(sums, op=AggregateByKey(found, scalar=True)), told))
    module = module_of(Program("p", (), (), (unit,)), unit)
    states: list[Mapping[int, bytes]] = [{}]
    for form, now, number in product(("rows", "columns"), (9_000, 5, 7_000), (1, 2)):
        context = Context(rows=2, form=form, now=partial(int, now))  # type: ignore[arg-type]
        last, box = build(unit.task("sums"), unit, module.TASKS["sums"], context), Box(Refusal.NEVER)
        last.restore(states[-1])
        take(last, box, ("a", 0), ("a", now * number))
        box.all(last.finish)
        states.append(last.save())
        assert rows_of(box) == [("a", now * number)]


def operator(unit: Unit = UNIT) -> Operator:
    tasks: dict[str, TaskCode] = MODULE.TASKS
    return build(unit.task("sums"), unit, tasks["sums"], Context(rows=2))


def take(sums: Operator, box: Box, *rows: tuple[str | None, int]) -> None:
    box.all(partial(sums.process, 0, Batch.from_rows(PAIR, rows)))


def rows_of(box: Box) -> list[Sequence[object]]:
    rows: list[Sequence[object]] = [row for item in box.items if isinstance(item, Batch) for row in item.rows()]
    box.items.clear()
    return rows


def test_a_commit_gives_the_keys_that_changed() -> None:
    sums, box = operator(), Box(Refusal.NEVER)
    take(sums, box, ("a", 1), ("b", 2), (None, 3), ("a", 4))
    assert rows_of(box) == []
    box.all(sums.flush)
    assert sorted(rows_of(box), key=str) == [("a", 5), ("b", 2), (None, 3)]
    box.all(sums.flush)
    assert rows_of(box) == []
    take(sums, box, ("b", 5))
    box.all(sums.flush)
    assert rows_of(box) == [("b", 7)]


def test_the_end_of_the_input_gives_what_columns_hold_too() -> None:
    sums, box = operator(), Box(Refusal.NEVER)
    take(sums, box, *[("a", 1)] * 1000)
    take(sums, box, ("a", 1))
    box.all(sums.finish)
    assert rows_of(box) == [("a", 1001)]


def test_a_table_can_be_read_between_commits_and_after_a_restore() -> None:
    sums, box = operator(), Box(Refusal.NEVER)
    take(sums, box, ("a", 1), ("b", 2), ("a", 4), (None, 1))
    again = operator()
    again.restore(sums.save())
    for table in (sums, again):
        assert isinstance(table, Table)
        assert sorted(table.copy(), key=str) == [("a", 5), ("b", 2), (None, 1)]
        assert table.copy("b") == [("b", 2)]
        assert table.copy("c") == []


def test_a_refused_commit_goes_on_where_it_was() -> None:
    sums, box = operator(), Box(Refusal.ONE_SLOT)
    take(sums, box, ("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5))
    box.all(sums.flush)
    assert sorted(rows_of(box), key=str) == [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5)]
    assert box.refused == 2


def test_a_sum_that_does_not_fit_is_a_dead_letter_and_not_in_the_copy() -> None:
    sums, box = operator(), Box(Refusal.NEVER)
    take(sums, box, ("over", INT_MAX), ("over", 1), ("fine", 1))
    box.all(sums.flush)
    assert rows_of(box) == [("fine", 1)]
    assert [(each.reason, each.input) for each in box.letters] == [(Failure.OVERFLOW, '{"key":"over"}')]
    assert isinstance(sums, Table)
    assert sums.copy() == [("fine", 1)]
    take(sums, box, ("over", -1))
    box.all(sums.flush)
    assert rows_of(box) == [("over", INT_MAX)]


def test_a_table_that_nobody_takes_gives_nothing_at_commits_and_can_be_read() -> None:
    sums, box = operator(replace(UNIT, tasks=UNIT.tasks[:2])), Box(Refusal.NEVER)
    take(sums, box, ("a", 1), ("b", INT_MAX), ("b", 1))
    box.all(sums.flush)
    assert rows_of(box) == []
    assert isinstance(sums, Table)
    assert sums.copy("a") == [("a", 1)]
    assert not box.letters
    box.all(sums.finish)
    assert [letter.reason for letter in box.letters] == [Failure.OVERFLOW]
