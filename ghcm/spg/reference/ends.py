"""Where records go in the reference: sinks, replies and publish policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from ghcm.reducers import Aggregate
from ghcm.spg.connectors import Mode
from ghcm.spg.ops import Publish, To
from ghcm.spg.reference.aggregates import Given, aggregate, given
from ghcm.spg.reference.expressions import evaluate
from ghcm.spg.reference.functions import Failed
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.state import NO_KEY, Published, Record, Run, Step, part
from ghcm.types import Struct


def write(run: Run, step: Step, op: To, records: Sequence[Record]) -> None:
    """Add records to a sink. With a key the last record of each key stays, where its first stood."""
    sink = run.program.sink(op.sink)
    rows = run.result.sinks.setdefault(op.sink, [])
    key = sink.key
    if key is None or sink.mode is Mode.APPEND:
        rows.extend(record.value for record in records)
        return
    places = {order_key(run.apply(key, row), key.body.type): index for index, row in enumerate(rows)}
    for record, value in run.each(step, records, lambda record: run.apply(key, record.value)):
        place = places.setdefault(order_key(value, key.body.type), len(rows))
        rows[place : place + 1] = [record.value]


def publish(run: Run, step: Step, op: Publish, records: Sequence[Record]) -> None:
    """Send instructions as the policy says, over the records in order of arrival (inputs one after the other).

    `every_us` is a matter of the clock: here nothing is sent before the end of input, and then only with `at_end`. On
    completion there is always one instruction; a window is closed once all of its records have come, windows by their
    ends.
    """
    for group in _groups(run, step, op, records):
        if not group and op.policy.on != "completion":
            continue
        try:
            arguments = {
                name: _argument(run, what, index, group) for index, (name, what) in enumerate(op.call.arguments)
            }
        except Failed as failure:
            run.dead_group(step, NO_KEY, None, failure)
            continue
        run.result.instructions.append(Published(step.id, op.call.unit, arguments))


def _argument(run: Run, what: object, index: int, group: list[tuple[Given, ...]]) -> object:
    if isinstance(what, Aggregate):
        return aggregate(run, what, [values[index] for values in group])
    return evaluate(what, {}, run.parameters)  # type: ignore[arg-type]


def _groups(run: Run, step: Step, op: Publish, records: Sequence[Record]) -> Iterator[list[tuple[Given, ...]]]:
    """The records' argument values, cut where an instruction is sent."""
    policy = op.policy
    if policy.on == "window_close":
        yield from _windows(run, step, op, records)
        return
    waiting: list[tuple[Given, ...]] = []
    for _, (values, due) in run.each(step, records, lambda record: _looked_at(run, step, op, record)):
        waiting.append(values)
        if due or len(waiting) == policy.every_records:
            yield waiting
            waiting = []
    if policy.on == "completion" or (policy.at_end and waiting):
        yield waiting


def _looked_at(run: Run, step: Step, op: Publish, record: Record) -> tuple[tuple[Given, ...], bool]:
    when = op.policy.when
    return _values(run, step, op, record), when is not None and run.apply(when, record.value) is True


def _values(run: Run, step: Step, op: Publish, record: Record) -> tuple[Given, ...]:
    """Per argument what the record adds to it; a constant takes nothing."""
    element = step.takes.element
    return tuple(
        [
            given(run, each, record, record.value, element) if isinstance(each, Aggregate) else Given(None)
            for _, each in op.call.arguments
        ]
    )


def _windows(run: Run, step: Step, op: Publish, records: Sequence[Record]) -> Iterator[list[tuple[Given, ...]]]:
    closed: dict[tuple[int, int], list[tuple[Given, ...]]] = {}
    for record, values in run.each(step, records, lambda record: _values(run, step, op, record)):
        window = cast("tuple[int, int]", part(record.value, cast("Struct", step.takes.element), "window"))
        closed.setdefault(window, []).append(values)
    yield from (closed[window] for window in sorted(closed, key=lambda window: window[1]))
