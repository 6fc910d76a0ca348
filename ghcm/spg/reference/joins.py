"""Joins in the reference: every left record is held against every right record of its keys."""

from collections.abc import Sequence

from ghcm.expr import Lambda
from ghcm.functions import Failure
from ghcm.spg.joining import JoinKind, is_endless, is_late, is_lookup, joined_element, joined_pair, waits_us
from ghcm.spg.ops import Join
from ghcm.spg.reference.functions import Failed
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.state import Record, Run, Step, part
from ghcm.types import Collection, Type
from ghcm.values import encode


def joined(run: Run, step: Step, op: Join, sides: Sequence[tuple[Collection, Sequence[Record]]]) -> list[Record]:
    """Each left record with each right record of the same keys, in the order of the left, then of the right; then the
    right records that nobody met, where the kind keeps them. A table that never ends is complete before the first left
    record comes.
    """
    (left_type, left), (right_type, right) = sides
    if op.by_time and is_endless(left_type, right_type):
        interval = (0, 0) if op.asof or op.interval_us is None else op.interval_us
        left, right = (
            _in_time(run, step, waits_us(interval, number), side, records)
            for number, (side, records) in enumerate(sides)
        )
    rights = _keyed(run, step, op.right_keys, right_type, right)
    met: set[int] = set()
    results: list[Record] = []
    for record, key in _keyed(run, step, op.left_keys, left_type, left):
        found = [
            number
            for number, (other, its) in enumerate(rights)
            if key is not None and key == its and _near(op, record, other)
        ]
        if op.versions:
            found = _latest(rights, found, right_type.element)
        types = (left_type, right_type)
        found = [number for number in found if _belong(run, step, op, record, rights[number][0], types)]
        if op.asof:
            found = _latest(rights, found, right_type.element)
        met.update(found)
        made = _of_left(op, record, [rights[number][0] for number in found], (left_type, right_type))
        results += [_in_place(each, record) for each in made] if is_lookup(left_type, right_type) else made
    if op.kind.keeps_right:
        alone = [other for number, (other, _) in enumerate(rights) if number not in met]
        results += [_made(op, None, other, (left_type, right_type)) for other in alone]
    return results


def _in_time(run: Run, step: Step, within_us: int, takes: Collection, records: Sequence[Record]) -> list[Record]:
    """The records of one side that are not late."""
    side = Step(step.id, step.op, takes, step.gives, step.origin)

    def check(record: Record) -> None:
        if record.time is not None and is_late(record.time, record.watermark, within_us):
            raise Failed(Failure.LATE, "the interval in which others belong to it has passed")

    return [record for record, _ in run.each(side, records, check)]


def _latest(rights: Sequence[tuple[Record, object]], found: Sequence[int], type_: Type) -> list[int]:
    """Of the right records that belong to a left one the latest, and of several at that time the greatest."""
    ordered = sorted(found, key=lambda number: (rights[number][0].time, order_key(rights[number][0].value, type_)))
    return ordered[-1:]


def _in_place(made: Record, left: Record) -> Record:
    """What a lookup gives stands where the left record stood."""
    return Record(made.value, made.time if left.time is not None else None, left.watermark, left.partition)


def _of_left(op: Join, record: Record, found: Sequence[Record], types: tuple[Collection, Collection]) -> list[Record]:
    """What one left record gives, with the right ones that belong to it."""
    match op.kind:
        case JoinKind.SEMI:
            return [Record(record.value, record.time)] if found else []
        case JoinKind.ANTI:
            return [] if found else [Record(record.value, record.time)]
        case JoinKind.INNER | JoinKind.LEFT | JoinKind.RIGHT | JoinKind.FULL:
            if not found and op.kind.keeps_left:
                return [_made(op, record, None, types)]
            return [_made(op, record, other, types) for other in found]


def _keyed(
    run: Run, step: Step, keys: tuple[Lambda, ...], takes: Collection, records: Sequence[Record]
) -> list[tuple[Record, tuple[object, ...] | None]]:
    """The records with the identity of their keys; None where one of them is null, since those never join."""
    side = Step(step.id, step.op, takes, step.gives, step.origin)
    found = run.each(side, records, lambda record: [run.apply(key, record.value) for key in keys])
    return [
        (
            record,
            None
            if any(value is None for value in values)
            else tuple(order_key(value, key.body.type) for value, key in zip(values, keys, strict=True)),
        )
        for record, values in found
    ]


def _near(op: Join, left: Record, right: Record) -> bool:
    """Whether their times are near enough."""
    times = (left.time or 0, right.time or 0)
    if op.interval_us is not None and not op.interval_us[0] <= times[1] - times[0] <= op.interval_us[1]:
        return False
    return not op.asof or times[1] <= times[0]


def _belong(run: Run, step: Step, op: Join, left: Record, right: Record, types: tuple[Collection, Collection]) -> bool:
    """Whether the residual is true; where it fails the two are a dead letter instead."""
    try:
        return op.residual is None or run.apply(op.residual, left.value, right.value) is True
    except Failed as failure:
        run.dead(step, encode(_value(op, left, right, types), _pair_type(op, types)), failure)
        return False


def _pair_type(op: Join, types: tuple[Collection, Collection]) -> Type:
    """The type of two records that were held against each other, whatever the kind gives on."""
    if not op.by_key:
        return joined_element(types[0].element, types[1].element, JoinKind.INNER)
    parts = [tuple(field.type for field in side.columns.fields[:2]) for side in types]
    windowed = types[0].windowed
    return joined_pair((parts[0][0], parts[0][1]), (parts[1][0], parts[1][1]), JoinKind.INNER, windowed=windowed)


def _made(op: Join, left: Record | None, right: Record | None, types: tuple[Collection, Collection]) -> Record:
    times = [each.time for each in (left, right) if each is not None and each.time is not None]
    return Record(_value(op, left, right, types), max(times) if times else None)


def _value(
    op: Join, left: Record | None, right: Record | None, types: tuple[Collection, Collection]
) -> tuple[object, ...]:
    sides = list(zip((left, right), types, strict=True))
    if not op.by_key:
        return tuple(None if record is None else record.value for record, _ in sides)
    values = tuple(None if record is None else part(record.value, side.element, "value") for record, side in sides)
    record, side = next((record, side) for record, side in sides if record is not None)
    window = (part(record.value, side.element, "window"),) if side.windowed else ()
    return (part(record.value, side.element, "key"), values, *window)
