"""What is told of the values of each key, from one to the next."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import cast

from ghcm.functions import Failure
from ghcm.spg.reference.functions import Failed, checked
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.state import Record, Run, Step
from ghcm.spg.sequences import Absent, Preceding


def with_preceding(run: Run, step: Step, op: Preceding, records: Sequence[Record]) -> list[Record]:
    """The records that are not late, each with the values before it of its key, in their order."""
    found: list[Record] = []
    for records_of_key in _in_time_order(run, step, records, _in_time):
        values = [step.value(record) for record in records_of_key]
        for at, record in enumerate(records_of_key):
            found.append(record.with_value((step.key(record), (values[at], values[max(0, at - op.count) : at]))))
    return found


def silences(run: Run, step: Step, op: Absent, records: Sequence[Record]) -> list[Record]:
    """A record for each silence, with the value that came before it."""

    def end(record: Record) -> int:
        _in_time(record)
        return checked(cast("int", record.time) + op.after_us)

    found: list[Record] = []
    for records_of_key in _in_time_order(run, step, records, end):
        for record, following in zip(records_of_key, [*records_of_key[1:], None], strict=True):
            silent = end(record)
            if following is None or cast("int", following.time) >= silent:
                value = (step.key(record), (step.value(record), record.time))
                found.append(replace(record, value=value, time=silent))
    return found


def _in_time_order(
    run: Run, step: Step, records: Sequence[Record], check: Callable[[Record], object]
) -> Iterable[list[Record]]:
    """The pairs that pass the check, those of each key by event time, those of equal times by value."""
    type_ = step.takes.pair[1]
    there = [record for record, _ in run.each(step, records, check)]
    groups: dict[object, list[Record]] = {}
    for record in sorted(there, key=lambda each: (cast("int", each.time), order_key(step.value(each), type_))):
        groups.setdefault(step.identity(step.key(record)), []).append(record)
    return groups.values()


def _in_time(record: Record) -> None:
    if cast("int", record.time) < record.watermark:
        raise Failed(Failure.LATE, f"its time is {record.time}, the watermark was {record.watermark}")
