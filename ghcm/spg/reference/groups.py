"""The operations on groups and whole inputs: reductions and aggregations by key, lists, counts, orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from ghcm.expr import Lambda
from ghcm.reducers import Aggregate
from ghcm.spg.ops import AggregateByKey, Count, Distinct, GroupByKey, ReduceByKey, Sort, Top
from ghcm.spg.reference.aggregates import Given, aggregate, given, reduce
from ghcm.spg.reference.functions import Failed
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.state import NO_KEY, Record, Run, Step, Window, part
from ghcm.types import Shape, Struct


@dataclass(slots=True)
class Group:
    """The values of one key (and window), in order of arrival."""

    key: object
    window: Window | None
    values: list[object] = field(default_factory=list[object])


def _groups(step: Step, records: Sequence[tuple[Record, object]]) -> list[Group]:
    """The groups of records, each with the second of its pair as value."""
    groups: dict[object, Group] = {}
    for record, value in records:
        key, window = step.key(record), step.window(record)
        groups.setdefault((step.identity(key), window), Group(key, window)).values.append(value)
    return sorted(groups.values(), key=lambda group: group.window[1] if group.window else 0)


def _results(run: Run, step: Step, groups: list[Group], result_of: Callable[[Group], object]) -> list[Record]:
    results: list[Record] = []
    for group in groups:
        try:
            value = result_of(group)
        except Failed as failure:
            run.dead_group(step, group.key, group.window, failure)
            continue
        names = {"key": None if group.key is NO_KEY else group.key, "value": value, "window": group.window}
        element = step.gives.element
        made = tuple(names[name] for name in element.names) if isinstance(element, Struct) else value
        results.append(Record(made, _last(group.window)))
    return results


def _last(window: Window | None) -> int | None:
    """The event time of what a window gives."""
    return None if window is None else window[1] - 1


def _by_value(step: Step, records: Sequence[Record]) -> list[Group]:
    return _groups(step, [(record, part(record.value, step.takes.element, "value")) for record in records])


def reduced(run: Run, step: Step, op: ReduceByKey, records: Sequence[Record]) -> list[Record]:
    """One value per key."""
    return _results(run, step, _by_value(step, records), lambda group: reduce(run, op.reducer, group.values))


def aggregated(run: Run, step: Step, op: AggregateByKey, records: Sequence[Record]) -> list[Record]:
    """The aggregates per key; a record whose arguments fail takes part in none of them."""

    type_ = step.takes.pair[1]

    def arguments(record: Record) -> tuple[Given, ...]:
        value = part(record.value, step.takes.element, "value")
        return tuple([given(run, each, record, value, type_) for each in op.aggregates])

    groups = _groups(step, run.each(step, records, arguments))
    return _results(run, step, groups, lambda group: _aggregates(run, op.aggregates, op.scalar, group.values))


def _aggregates(run: Run, aggregates: tuple[Aggregate, ...], scalar: bool, rows: list[object]) -> object:
    columns = list(zip(*cast("list[tuple[Given, ...]]", rows), strict=True))
    values = tuple([aggregate(run, each, column) for each, column in zip(aggregates, columns, strict=True)])
    return values[0] if scalar else values


def grouped(run: Run, step: Step, _: GroupByKey, records: Sequence[Record]) -> list[Record]:
    """The values per key in ascending order."""
    type_ = step.takes.pair[1]
    groups = _by_value(step, records)
    return _results(run, step, groups, lambda group: sorted(group.values, key=lambda value: order_key(value, type_)))


def counted(run: Run, step: Step, _: Count, records: Sequence[Record]) -> list[Record]:
    """How many values per key, or records per window or in all."""
    groups = _groups(step, [(record, None) for record in records])
    if not groups and step.takes.shape is Shape.STREAM and step.takes.bounded and not step.takes.windowed:
        groups = [Group(NO_KEY, None)]
    return _results(run, step, groups, lambda group: len(group.values))


def distinct(_run: Run, step: Step, _op: Distinct, records: Sequence[Record]) -> list[Record]:
    """The first of equal records; the window is part of the record."""
    found: dict[object, Record] = {}
    for record in records:
        found.setdefault(order_key(record.value, step.takes.element), record)
    return [Record(record.value, _last(step.window(record))) for record in found.values()]


def sorted_records(run: Run, step: Step, op: Sort, records: Sequence[Record]) -> list[Record]:
    """All records in order; nulls come first in ascending order and last in descending."""
    return _in_order(run, step, op.by, op.descending, records, nulls_last=op.descending)


def _in_order(
    run: Run, step: Step, by: Lambda, descending: bool, records: Sequence[Record], *, nulls_last: bool
) -> list[Record]:
    keyed = run.applied(step, by, records)
    keyed.sort(key=lambda pair: order_key(pair[0].value, step.takes.element))
    keyed.sort(key=lambda pair: order_key(pair[1], by.body.type), reverse=descending)  # keeps equal ones as they were
    known = [record for record, key in keyed if key is not None]
    nulls = [record for record, key in keyed if key is None]
    return known + nulls if nulls_last else nulls + known


def top(run: Run, step: Step, op: Top, records: Sequence[Record]) -> list[Record]:
    """The first so many records, of each window where there are windows; nulls rank last."""
    ranked = _in_order(run, step, op.by, op.descending, records, nulls_last=True)
    most = run.count(step, op.count)
    if not step.takes.windowed:
        return ranked[:most]
    windows: dict[Window, list[Record]] = {}
    for record in ranked:
        windows.setdefault(cast("Window", step.window(record)), []).append(record)
    ends = sorted(windows, key=lambda window: window[1])
    return [Record(record.value, window[1] - 1) for window in ends for record in windows[window][:most]]
