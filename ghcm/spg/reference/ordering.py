"""Sort, top and join: the operations that look at whole inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ghcm.expr import Lambda
from ghcm.spg.ops import Join, Sort, Top
from ghcm.spg.reference.expressions import evaluate
from ghcm.spg.reference.functions import Failed
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.state import Record, Run, Step, part
from ghcm.types import Collection
from ghcm.values import encode

__all__ = ["joined", "sorted_records", "top"]


def sorted_records(run: Run, step: Step, op: Sort, records: Sequence[Record]) -> list[Record]:
    """All records in order; nulls come first in ascending order and last in descending."""
    return _in_order(run, step, op.by, op.descending, records, nulls_last=op.descending)


def _in_order(
    run: Run, step: Step, by: Lambda, descending: bool, records: Sequence[Record], *, nulls_last: bool
) -> list[Record]:
    keyed = run.each(step, records, lambda record: run.apply(by, record.value))
    keyed.sort(key=lambda pair: order_key(pair[0].value, step.takes.element))
    keyed.sort(key=lambda pair: order_key(pair[1], by.body.type), reverse=descending)  # keeps equal ones as they were
    known = [record for record, key in keyed if key is not None]
    nulls = [record for record, key in keyed if key is None]
    return known + nulls if nulls_last else nulls + known


def top(run: Run, step: Step, op: Top, records: Sequence[Record]) -> list[Record]:
    """The first so many records; nulls rank last."""
    ranked = _in_order(run, step, op.by, op.descending, records, nulls_last=True)
    try:
        count = evaluate(op.count, {}, run.parameters)
    except Failed as failure:
        run.dead(step, "null", failure)
        return []
    return ranked[: max(0, cast("int", count or 0))]


def joined(run: Run, step: Step, op: Join, sides: Sequence[tuple[Collection, Sequence[Record]]]) -> list[Record]:
    """Each left record with each right record of the same keys, in the order of the left, then of the right."""
    (left_type, left), (right_type, right) = sides
    matches: dict[object, list[Record]] = {}
    for record, key in _keyed(run, step, op.right_keys, right_type, right):
        matches.setdefault(key, []).append(record)
    results: list[Record] = []
    for record, key in _keyed(run, step, op.left_keys, left_type, left):
        for other in matches.get(key, ()):
            made = _pair(op, record, left_type, other, right_type)
            try:
                holds = op.residual is None or run.apply(op.residual, record.value, other.value) is True
            except Failed as failure:
                run.dead(step, encode(made, step.gives.element), failure)
                continue
            if holds:
                times = [each.time for each in (record, other) if each.time is not None]
                results.append(Record(made, max(times) if times else None))
    return results


def _keyed(
    run: Run, step: Step, keys: tuple[Lambda, ...], takes: Collection, records: Sequence[Record]
) -> list[tuple[Record, object]]:
    """The records with the identity of their keys; those with a null among them never join."""
    side = Step(step.id, step.op, takes, step.gives, step.origin)
    found = run.each(side, records, lambda record: [run.apply(key, record.value) for key in keys])
    return [
        (record, tuple(order_key(value, key.body.type) for value, key in zip(values, keys, strict=True)))
        for record, values in found
        if not any(value is None for value in values)
    ]


def _pair(op: Join, left: Record, left_type: Collection, right: Record, right_type: Collection) -> tuple[object, ...]:
    if not op.by_key:
        return (left.value, right.value)
    values = (part(left.value, left_type.element, "value"), part(right.value, right_type.element, "value"))
    return (part(left.value, left_type.element, "key"), values)
