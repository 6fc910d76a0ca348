"""What an iteration asks of its inputs and gives; its step is a graph that `ghcm.spg.verify` looks into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ghcm.expr import Lambda
from ghcm.reducers import Aggregate
from ghcm.spg.group_rules import aggregate_problems
from ghcm.spg.iterations import entry_of
from ghcm.spg.ops import Iterate, Until
from ghcm.spg.rule_parts import Around, collection_problems, flowing
from ghcm.spg.well_typed import expr_problems
from ghcm.types import Bool, Field, Int, Struct, strip


def iterate_problems(around: Around, op: Iterate) -> Iterator[str]:
    """What is wrong with an iteration, but for the tasks of its step."""
    takes, gives = around.takes[0], around.gives
    yield from flowing(takes)
    if any(not each.bounded or each.windowed for each in around.takes):
        yield "an iteration needs bounded input without windows"
    yield from collection_problems(gives, replace(takes, timed=False))
    yield from expr_problems(op.limit, {}, around.parameters)
    if strip(op.limit.type) != Int():
        yield f'the limit of an iteration is "{op.limit.type}"'
    results = {task.id: task.collection for task in op.tasks}
    results |= {entry_of(place): each for place, each in enumerate((gives, *around.takes[1:]))}
    if op.result not in results:
        yield f'its step has no task "{op.result}"'
    else:
        yield from collection_problems(gives, replace(results[op.result], timed=False))
    if op.until is not None:
        yield from _until(around, op.until)


def _until(around: Around, until: Until) -> Iterator[str]:
    for each in (*until.before, *until.after):
        yield from aggregate_problems(around, each, around.gives.element)
        if each.placed:
            yield f'"{each.function.value}" goes by an order, and an iteration ends by totals'
    condition: Lambda = until.condition
    yield from around.of(condition, _totals(until.before), _totals(until.after))
    if strip(condition.body.type) != Bool():
        yield f'the end of an iteration is "{condition.body.type}"'


def _totals(aggregates: tuple[Aggregate, ...]) -> Struct:
    return Struct(tuple(Field(each.name, each.type) for each in aggregates))
