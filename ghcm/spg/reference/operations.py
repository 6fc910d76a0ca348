"""The operations on single records: filter, map and their kind, event time, windows, Python functions; and those on
groups and whole inputs: reductions and aggregations by key, lists, counts, orders.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, assert_never, cast

from ghcm.expr import Lambda
from ghcm.functions import Failure
from ghcm.reducers import Aggregate
from ghcm.spg import ops, windows
from ghcm.spg.graph import without_order
from ghcm.spg.reference.aggregates import Given, aggregate, given, reduce
from ghcm.spg.reference.expressions import evaluate
from ghcm.spg.reference.functions import Failed, checked
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.python import awaited, batch_result, load, result_of
from ghcm.spg.reference.sequences import in_time
from ghcm.spg.reference.state import NEVER, NO_KEY, Record, Result, Run, Step, Window, part
from ghcm.spg.stages import given_by
from ghcm.types import INT_MAX, Field, Shape, Struct
from ghcm.values import encode


def row_operation(run: Run, step: Step, op: ops.RowOp | ops.PythonOp, records: Sequence[Record]) -> list[Record]:
    """What the operation makes of the records, in order."""
    match op:
        case ops.Filter(predicate=predicate):
            return [record for record, holds in run.applied(step, predicate, records) if holds is True]
        case ops.Map(function=function) | ops.MapToPair(function=function):
            return [record.with_value(value) for record, value in run.applied(step, function, records)]
        case ops.FlatMap(function=function):
            several = run.applied(step, function, records)
            return [record.with_value(each) for record, items in several for each in cast("list[Any]", items) or ()]
        case ops.MapValues(function=function):
            return _new_values(run, step, function, records)
        case ops.KeyBy(function=function):
            return [record.with_value((key, record.value)) for record, key in run.applied(step, function, records)]
        case ops.PythonCall() | ops.PythonBatch() | ops.PythonAsync():
            called = load(op.module, op.function, run.outside.base)
            called = awaited(called) if isinstance(op, ops.PythonAsync) else called
            result = batch_result if isinstance(op, ops.PythonBatch) else result_of
            made = run.each(step, records, lambda record: result(called, record.value, step.takes, step.gives.element))
            return [record.with_value(value) for record, value in made]
        case ops.Window():
            found = run.each(step, records, lambda record: _windowed(run, step, op, record))
            return [new for _, several in found for new in several]
        case _:
            assert_never(op)


def _new_values(run: Run, step: Step, function: Lambda, records: Sequence[Record]) -> list[Record]:
    index = cast("Struct", step.takes.element).index("value")
    made = run.each(step, records, lambda record: run.apply(function, part(record.value, step.takes.element, "value")))
    result: list[Record] = []
    for record, value in made:
        row = cast("tuple[object, ...]", record.value)
        result.append(record.with_value((*row[:index], value, *row[index + 1 :])))
    return result


def _windowed(run: Run, step: Step, op: ops.Window, record: Record) -> list[Record]:
    """The record in each of its windows that is open."""
    assigner = op.assigner
    if isinstance(assigner, windows.TumblingBy):
        size = cast("int", evaluate(assigner.size, {}, run.parameters))
        if size < 1:
            raise Failed(Failure.ZERO_DIVISOR, f"windows of {size} microseconds")
        assigner = windows.Tumbling(size)
    found = _windows(assigner, cast("int", record.time))
    still_open = [window for window in found if window[1] + op.allowed_lateness_us > record.watermark]
    if not still_open:
        raise Failed(Failure.LATE, f"the window ended at {found[-1][1]}, the watermark was {record.watermark}")
    return [step.in_window(record, window) for window in still_open]


def _windows(assigner: windows.Fixed, time: int) -> list[Window]:
    """The windows that hold a time, in their order; `Failed` if one of them does not fit."""
    size, every = assigner.size_us, assigner.every_us
    if isinstance(assigner, windows.Cumulating):
        start = checked(time - (time - assigner.offset_us) % size)
        ends = range(start + every, checked(start + size) + 1, every)
        return [(start, end) for end in ends if end > time]
    found: list[Window] = []
    start = time - (time - assigner.offset_us) % every
    while start + size > time:
        found.insert(0, (checked(start), checked(start + size)))
        start -= every
    return found


def event_time(run: Run, step: Step, op: ops.EventTime, records: Sequence[Record]) -> list[Record]:
    """The records with their time, and with the watermark of their partition before them, which an idle one follows."""
    timed: list[Record] = []
    greatest: dict[tuple[str, str], int] = {}
    floors = run.outside.floors.get(step.id) or [NEVER] * len(records)
    unordered = without_order(run.unit)
    records = [replace(record, watermark=floor) for record, floor in zip(records, floors, strict=True)]
    for record, time in run.each(step, records, lambda record: _time(run, op, record)):
        seen = greatest.get(record.partition)
        disorder = None if record.partition[0] in unordered else op.disorder_us
        watermark = NEVER if seen is None or disorder is None else max(NEVER, seen - disorder)
        timed.append(Record(record.value, time, max(watermark, record.watermark), record.partition))
        greatest[record.partition] = time if seen is None else max(seen, time)
    ordered = [time for partition, time in greatest.items() if partition[0] not in unordered]
    run.reached[step.id] = [NEVER] if op.disorder_us is None else [time - op.disorder_us for time in ordered]
    return timed


def _time(run: Run, op: ops.EventTime, record: Record) -> int:
    time = run.apply(op.time, record.value)
    if time is None:
        raise Failed(Failure.NULL_TIME, "the record has no time")
    return cast("int", time)


def arrival_time(run: Run, step: Step, records: Sequence[Record]) -> list[Record]:
    """The records with the time at which they come, as the script says; the clock never goes back."""
    timed: list[Record] = []
    clock = NEVER
    for record, moment in zip(records, run.script(step.id, records, "goes by the clock"), strict=True):
        before, clock = clock, max(clock, moment)
        timed.append(Record(record.value, clock, before, record.partition))
    return timed


def fused(run: Run, step: Step, op: ops.Fused, records: Sequence[Record]) -> list[Record]:
    """What the stages make of the records, one after the other."""
    takes = step.takes
    for stage in op.stages:
        inner = Step(stage.id, stage.op, takes, given_by(stage, takes), stage.origin)
        match stage.op:
            case ops.Union():
                pass
            case ops.EventTime():
                records = event_time(run, inner, stage.op, records)
            case _:  # the others are row operations
                records = row_operation(run, inner, stage.op, records)
        takes = inner.gives
    return list(records)


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
        made = value
        if isinstance(step.op, ops.AggregateByKey) and group.key is NO_KEY and not step.op.scalar:
            made = (*cast("tuple[object, ...]", value), *([] if group.window is None else [group.window]))
        elif isinstance(element, Struct):
            made = tuple(names[name] for name in element.names)
        results.append(Record(made, _last(group.window)))
    return results


def _last(window: Window | None) -> int | None:
    """The event time of what a window gives."""
    return None if window is None else window[1] - 1


def _by_value(step: Step, records: Sequence[Record]) -> list[Group]:
    return _groups(step, [(record, part(record.value, step.takes.element, "value")) for record in records])


def reduced(run: Run, step: Step, op: ops.ReduceByKey, records: Sequence[Record]) -> list[Record]:
    """One value per key."""
    return _results(run, step, _by_value(step, records), lambda group: reduce(run, op.reducer, group.values))


def aggregated(run: Run, step: Step, op: ops.AggregateByKey, records: Sequence[Record]) -> list[Record]:
    """The aggregates per key; a record whose arguments fail takes part in none of them."""

    type_, whole = step.takes.aggregated, step.takes.shape is Shape.STREAM

    def arguments(record: Record) -> tuple[Given, ...]:
        value = part(record.value, step.takes.element, "value") if not whole else record.value
        if whole and step.takes.windowed:
            value = cast("tuple[object, ...]", value)[:-1]
        return tuple([given(run, each, record, value, type_) for each in op.aggregates])

    groups = _groups(step, run.each(step, records, arguments))
    if not groups and whole and step.takes.bounded and not step.takes.windowed:
        groups = [Group(NO_KEY, None)]
    return _results(run, step, groups, lambda group: _aggregates(run, op.aggregates, op.scalar, group.values))


def _aggregates(run: Run, aggregates: tuple[Aggregate, ...], scalar: bool, rows: list[object]) -> object:
    columns = [[row[index] for row in cast("list[tuple[Given, ...]]", rows)] for index in range(len(aggregates))]
    values = tuple([aggregate(run, each, column) for each, column in zip(aggregates, columns, strict=True)])
    return values[0] if scalar else values


def grouped(run: Run, step: Step, _: ops.GroupByKey, records: Sequence[Record]) -> list[Record]:
    """The values per key in ascending order."""
    type_ = step.takes.pair[1]
    groups = _by_value(step, records)
    return _results(run, step, groups, lambda group: sorted(group.values, key=lambda value: order_key(value, type_)))


def latest(run: Run, step: Step, op: ops.Latest, records: Sequence[Record]) -> list[Record]:
    """The newest record of each key that is not forgotten, unless that one is deleted."""
    type_ = step.takes.pair[1]
    assert isinstance(type_, Struct)
    ordered, deletes, ttl = "order" in type_.names, "deleted" in type_.names, op.ttl_us

    def deleted(record: Record) -> bool:
        return deletes and part(step.value(record), type_, "deleted") is True

    def silent(heard: int, watermark: int) -> bool:
        return ttl is not None and heard + ttl <= watermark

    held: dict[object, tuple[Record, int]] = {}
    for record in records:
        name, time = step.identity(step.key(record)), record.time or 0
        before, heard = held.get(name, (record, time))
        if silent(heard, record.watermark):
            before, heard = record, time
        kept = ordered and order_key(step.value(before), type_) > order_key(step.value(record), type_)
        held[name] = before if kept else record, max(heard, time)
        if silent(held[name][1], record.watermark) or (deleted(record) and not ordered):
            del held[name]
    end = NEVER if ttl is None else _reached(run, step.id)
    there = [record for record, heard in held.values() if not deleted(record) and not silent(heard, end)]
    return [Record((step.key(record), part(step.value(record), type_, "record"))) for record in there]


def forgetting(run: Run, step: Step, op: ops.Forgetting, records: Sequence[Record]) -> list[Record]:
    """What the aggregation makes of the records of each key since it was forgotten last, if it is not now."""
    spells: dict[object, list[tuple[list[Record], int]]] = {}
    for record in records:
        of_key, time = spells.setdefault(step.identity(step.key(record)), []), record.time or 0
        if not of_key or of_key[-1][1] + op.ttl_us <= record.watermark:
            of_key.append(([], time))
        spell, heard = of_key[-1]
        of_key[-1] = [*spell, record], max(heard, time)
    inner, end = replace(step, op=op.group), _reached(run, step.id)
    found: list[Record] = []
    for of_key in spells.values():
        made = [(of_groups(run, inner, op.group, spell), heard) for spell, heard in of_key]
        found += made[-1][0] if made[-1][1] + op.ttl_us > end else []
    return found


def versions(run: Run, step: Step, op: ops.Versions, records: Sequence[Record]) -> list[Record]:
    """What the aggregation makes at each time of a key of the records up to then that are not late."""
    by_key: dict[object, list[Record]] = {}
    for record, _ in run.each(step, records, in_time):
        by_key.setdefault(step.identity(step.key(record)), []).append(record)
    inner, value_type = replace(step, op=op.group), step.takes.pair[1]
    found: list[Record] = []
    for of_key in (spell for all_of_key in by_key.values() for spell in _spells(all_of_key, op.ttl_us)):
        of_key.sort(key=lambda each: (each.time or 0, order_key(step.value(each), value_type)))
        of_group = encode((step.key(of_key[0]),), Struct((Field("key", step.takes.pair[0]),)))
        told = 0
        for time in sorted({cast("int", record.time) for record in of_key}):
            quiet = replace(run, result=Result())
            up_to = [each for each in of_key if cast("int", each.time) <= time]
            found += [replace(made, time=time) for made in of_groups(quiet, inner, op.group, up_to)]
            failed = [each for each in quiet.result.dead if each.input != of_group]
            run.result.dead += [*failed[told:], *(each for each in quiet.result.dead if each.input == of_group)]
            run.result.magnitude = max(run.result.magnitude, quiet.result.magnitude)
            told = len(failed)
    return found


def _spells(records: Sequence[Record], ttl_us: int | None) -> list[list[Record]]:
    """The records of a key, parted where there is none for so long."""
    spells: list[list[Record]] = []
    for record in sorted(records, key=lambda each: each.time or 0):
        if not spells or (ttl_us is not None and (record.time or 0) - (spells[-1][-1].time or 0) >= ttl_us):
            spells.append([])
        spells[-1].append(record)
    return spells


def of_groups(run: Run, step: Step, op: ops.GroupOp, records: Sequence[Record]) -> list[Record]:
    """What the aggregation makes of the records of each key."""
    match op:
        case ops.ReduceByKey():
            return reduced(run, step, op, records)
        case ops.AggregateByKey():
            return aggregated(run, step, op, records)
        case ops.GroupByKey():
            return grouped(run, step, op, records)
        case ops.Count():
            return counted(run, step, op, records)
        case _:
            assert_never(op)


def _reached(run: Run, id: str) -> int:
    """How far event time has come at a task when its input ends."""
    found, before = [*run.reached.get(id, [])], run.unit.task(id).inputs
    return min([*found, *(_reached(run, edge.producer) for edge in before)], default=INT_MAX)


def counted(run: Run, step: Step, _: ops.Count, records: Sequence[Record]) -> list[Record]:
    """How many values per key, or records per window or in all."""
    groups = _groups(step, [(record, None) for record in records])
    if not groups and step.takes.shape is Shape.STREAM and step.takes.bounded and not step.takes.windowed:
        groups = [Group(NO_KEY, None)]
    return _results(run, step, groups, lambda group: len(group.values))


def distinct(_run: Run, step: Step, _op: ops.Distinct, records: Sequence[Record]) -> list[Record]:
    """The first of equal records; the window is part of the record."""
    found: dict[object, Record] = {}
    for record in records:
        found.setdefault(order_key(record.value, step.takes.element), record)
    return [Record(record.value, _last(step.window(record))) for record in found.values()]


def sorted_records(run: Run, step: Step, op: ops.Sort, records: Sequence[Record]) -> list[Record]:
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


def top(run: Run, step: Step, op: ops.Top, records: Sequence[Record]) -> list[Record]:
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
