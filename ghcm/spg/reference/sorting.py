"""Sort and top: the operations that put whole inputs in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ghcm.expr import Lambda
from ghcm.spg.ops import Sort, Top
from ghcm.spg.reference.expressions import evaluate
from ghcm.spg.reference.functions import Failed
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.state import Record, Run, Step, part


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
    """The first so many records, of each window where there are windows; nulls rank last."""
    ranked = _in_order(run, step, op.by, op.descending, records, nulls_last=True)
    try:
        count = evaluate(op.count, {}, run.parameters)
    except Failed as failure:
        run.dead(step, "null", failure)
        return []
    most = max(0, cast("int", count or 0))
    if not step.takes.windowed:
        return ranked[:most]
    windows: dict[tuple[int, int], list[Record]] = {}
    for record in ranked:
        windows.setdefault(cast("tuple[int, int]", part(record.value, step.takes.element, "window")), []).append(record)
    ends = sorted(windows, key=lambda window: window[1])
    return [Record(record.value, window[1] - 1) for window in ends for record in windows[window][:most]]
