"""What is told of the values of each key, from one to the next."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from ghcm.functions import Failure
from ghcm.spg.reference.expressions import evaluate
from ghcm.spg.reference.functions import Failed, checked
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.state import Record, Run, Step
from ghcm.spg.sequences import Absent, Chunks, Preceding, Present, Scan
from ghcm.values import encode


def with_preceding(run: Run, step: Step, op: Preceding, records: Sequence[Record]) -> list[Record]:
    """The records that are not late, each with the values before it of its key."""
    found: list[Record] = []
    for spell in _spells(run, step, records, _in_time, op.ttl_us):
        values = [step.value(record) for record in spell]
        for at, record in enumerate(spell):
            found.append(record.with_value((step.key(record), (values[at], values[max(0, at - op.count) : at]))))
    return found


def silences(run: Run, step: Step, op: Absent, records: Sequence[Record]) -> list[Record]:
    """A record for each silence, with the value that came before it."""

    def end(record: Record) -> int:
        _in_time(record)
        return checked(cast("int", record.time) + op.after_us)

    last = [spell[-1] for spell in _spells(run, step, records, end, op.after_us)]
    return [replace(each, value=(step.key(each), (step.value(each), each.time)), time=end(each)) for each in last]


def returned(run: Run, step: Step, op: Present, records: Sequence[Record]) -> list[Record]:
    """The first record behind each silence."""
    return [spell[0] for spell in _spells(run, step, records, _in_time, op.after_us)]


def scanned(run: Run, step: Step, op: Scan, records: Sequence[Record]) -> list[Record]:
    """What the function makes of the values so far of a key, for each of them."""
    found: list[Record] = []
    for spell in _spells(run, step, records, _in_time, op.ttl_us):
        so_far: list[object] = []
        for record in spell:
            try:
                before = so_far[-1] if so_far else evaluate(op.start, {}, run.parameters)
                so_far.append(run.apply(op.function, before, step.value(record)))
            except Failed as failure:
                run.dead(step, encode(record.value, step.takes.element), failure)
            else:
                found.append(record.with_value((step.key(record), so_far[-1])))
    return found


def in_chunks(step: Step, op: Chunks, records: Sequence[Record]) -> list[Record]:
    """The values of each key in lists, as they come."""
    groups: dict[object, list[Record]] = {}
    for record in records:
        groups.setdefault(step.identity(step.key(record)), []).append(record)
    chunks = [each[at : at + op.count] for each in groups.values() for at in range(0, len(each), op.count)]
    return [Record((step.key(chunk[0]), [step.value(each) for each in chunk])) for chunk in chunks]


def _spells(
    run: Run, step: Step, records: Sequence[Record], check: Callable[[Record], object], after_us: int | None
) -> list[list[Record]]:
    """The pairs that pass the check, those of each key by event time, those of equal times by value; apart where the
    key was silent for so long.
    """
    type_ = step.takes.pair[1]
    there = [record for record, _ in run.each(step, records, check)]
    spells: dict[object, list[list[Record]]] = {}
    for record in sorted(there, key=lambda each: (cast("int", each.time), order_key(step.value(each), type_))):
        of_key = spells.setdefault(step.identity(step.key(record)), [])
        if not of_key or (
            after_us is not None and cast("int", record.time) - cast("int", of_key[-1][-1].time) >= after_us
        ):
            of_key.append([])
        of_key[-1].append(record)
    return [spell for of_key in spells.values() for spell in of_key]


def _in_time(record: Record) -> None:
    if cast("int", record.time) < record.watermark:
        raise Failed(Failure.LATE, f"its time is {record.time}, the watermark was {record.watermark}")
