"""What is told of the values of each key, from one to the next."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from ghcm.functions import Failure
from ghcm.spg.reference.expressions import evaluate
from ghcm.spg.reference.functions import Failed, checked
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.python import load, result_of
from ghcm.spg.reference.state import Record, Run, Step
from ghcm.spg.sequences import Absent, Chunks, Preceding, Present, Process, Scan
from ghcm.types import Collection, Shape, Struct, answered_of_key, asked_of_key
from ghcm.values import encode
from ghcm.values.processing import MOST_MOMENTS


def with_preceding(run: Run, step: Step, op: Preceding, records: Sequence[Record]) -> list[Record]:
    """The records that are not late, each with the values before it of its key."""
    found: list[Record] = []
    for spell in _spells(run, step, records, in_time, op.ttl_us):
        values = [step.value(record) for record in spell]
        for at, record in enumerate(spell):
            found.append(record.with_value((step.key(record), (values[at], values[max(0, at - op.count) : at]))))
    return found


def silences(run: Run, step: Step, op: Absent, records: Sequence[Record]) -> list[Record]:
    """A record for each silence, with the value that came before it."""

    def end(record: Record) -> int:
        in_time(record)
        return checked(cast("int", record.time) + op.after_us)

    last = [spell[-1] for spell in _spells(run, step, records, end, op.after_us)]
    return [replace(each, value=(step.key(each), (step.value(each), each.time)), time=end(each)) for each in last]


def returned(run: Run, step: Step, op: Present, records: Sequence[Record]) -> list[Record]:
    """The first record behind each silence."""
    return [spell[0] for spell in _spells(run, step, records, in_time, op.after_us)]


def scanned(run: Run, step: Step, op: Scan, records: Sequence[Record]) -> list[Record]:
    """What the function makes of the values so far of a key, for each of them."""
    found: list[Record] = []
    for spell in _spells(run, step, records, in_time, op.ttl_us):
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


def processed(run: Run, step: Step, op: Process, records: Sequence[Record]) -> list[Record]:
    """What the user's function answers to the values of each key, and at the moments that it names."""
    process = _Process(run, step, op)
    for spell in _spells(run, step, records, in_time, None):
        process.begin()
        for before, record in zip((spell[0], *spell), spell, strict=False):
            process.ring(before, cast("int", record.time))
            process.call(record, step.value(record), cast("int", record.time))
        process.ring(spell[-1], None)
    return process.given


class _Process:
    """The calls for one key after the other, and what they have given."""

    def __init__(self, run: Run, step: Step, op: Process) -> None:
        (key, value), given = step.takes.pair, step.gives.pair[1]
        self._run, self._step = run, step
        self._function = cast("Callable[..., object]", load(op.module, op.function, run.outside.base))
        self._asked = Collection(Shape.STREAM, asked_of_key(key, value, op.state), bounded=True)
        self._answered = answered_of_key(given, op.state)
        self.given: list[Record] = []

    def _answer(self, asked: object) -> object:
        return self._function(*cast("tuple[object, ...]", asked))

    def begin(self) -> None:
        """Of the next key nothing is known."""
        self._state: object = None
        self._moment: int | None = None
        self._rung = 0

    def ring(self, last: Record, until: int | None) -> None:
        """The calls at moments that are named, up to a time."""
        while self._moment is not None and (until is None or self._moment <= until):
            moment, self._moment = self._moment, None
            self.call(last, None, moment)

    def call(self, record: Record, value: object, time: int) -> None:
        """One call, of a value or at a moment of the key of the record before it."""
        key, rung = self._step.key(record), 0 if value is not None else self._rung + 1
        try:
            asked = (key, value, time, self._state)
            rows, state, moment = cast(
                "tuple[list[object], object, int | None]", result_of(self._answer, asked, self._asked, self._answered)
            )
            if moment is not None and (moment <= time or rung == MOST_MOMENTS):
                raise Failed(Failure.WRONG_RESULT, f"the moment {moment} follows {time} and {rung} moments")
        except Failed as failure:
            takes = cast("Struct", self._step.takes.element)
            of_key = (key,), Struct(takes.fields[:1])
            self._run.dead(self._step, encode(*(of_key if value is None else (record.value, takes))), failure)
            return
        self._state, self._moment, self._rung = state, moment, rung
        self.given += [replace(record, value=(key, each), time=time) for each in rows]


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


def in_time(record: Record) -> None:
    """Fails for a record whose time is before its partition's watermark."""
    if cast("int", record.time) < record.watermark:
        raise Failed(Failure.LATE, f"its time is {record.time}, the watermark was {record.watermark}")
