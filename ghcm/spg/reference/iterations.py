"""Iterations in the reference: the step on the whole collection, round by round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from ghcm.reducers import Aggregate
from ghcm.spg.iterations import entry_of
from ghcm.spg.ops import Iterate, Until
from ghcm.spg.reference.aggregates import aggregate, given
from ghcm.spg.reference.expressions import evaluate
from ghcm.spg.reference.functions import Failed
from ghcm.spg.reference.state import Record, Run, Step
from ghcm.types import Type

Outputs: TypeAlias = dict[str, list[Record]]


def iterated(
    run: Run, step: Step, op: Iterate, inputs: Sequence[list[Record]], round_of: Callable[[Outputs], Outputs]
) -> list[Record]:
    """What the last round gave. `round_of` runs the tasks of the step on what its entries hold."""
    state = _timeless(inputs[0])
    others = {entry_of(place): records for place, records in enumerate(inputs) if place}
    rounds = 0
    for _ in range(_limit(run, step, op)):
        after = _timeless(round_of({entry_of(0): state, **others})[op.result])
        ended = op.until is not None and _ended(run, step, op.until, state, after)
        state, rounds = after, rounds + 1
        if ended:
            break
    run.result.rounds[step.id] = rounds
    return state


def _timeless(records: Sequence[Record]) -> list[Record]:
    return [Record(record.value) for record in records]


def _limit(run: Run, step: Step, op: Iterate) -> int:
    try:
        limit = evaluate(op.limit, {}, run.parameters)
    except Failed as failure:
        run.dead(step, "null", failure)
        return 0
    return max(0, cast("int", limit or 0))


def _ended(run: Run, step: Step, until: Until, before: Sequence[Record], after: Sequence[Record]) -> bool:
    element = step.gives.element
    try:
        totals = [_totals(run, until.before, before, element), _totals(run, until.after, after, element)]
        return run.apply(until.condition, *totals) is True
    except Failed as failure:
        run.dead(step, "null", failure)
        return False


def _totals(run: Run, aggregates: Sequence[Aggregate], records: Sequence[Record], element: Type) -> tuple[object, ...]:
    columns = [[given(run, each, record, record.value, element) for record in records] for each in aggregates]
    return tuple([aggregate(run, each, column) for each, column in zip(aggregates, columns, strict=True)])
