"""Sessions in the reference: of each key, or of all records, what comes close enough together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ghcm.functions import Failure
from ghcm.spg.ops import Sessions
from ghcm.spg.reference.functions import Failed, checked
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.state import Record, Run, Step, part
from ghcm.types import Shape, Struct

Window = tuple[int, int]


def in_sessions(run: Run, step: Step, op: Sessions, records: Sequence[Record]) -> list[Record]:
    """The records that are not late, each with its session, in their order."""
    element = step.takes.columns
    keyed = step.takes.shape is not Shape.STREAM
    key_type = element.fields[element.index("key")].type if keyed else None
    ends = run.each(step, records, lambda record: _end_alone(op, record))
    times: dict[object, list[int]] = {}
    placed: list[tuple[Record, object]] = []
    for record, _ in ends:
        key = order_key(part(record.value, element, "key"), key_type) if key_type is not None else None
        times.setdefault(key, []).append(cast("int", record.time))
        placed.append((record, key))
    sessions = {key: _sessions(op.gap_us, each) for key, each in times.items()}
    return [_in_window(step, record, _session_of(sessions[key], cast("int", record.time))) for record, key in placed]


def _end_alone(op: Sessions, record: Record) -> int:
    """When the session of this record alone ends; `Failed` where that is too late, or no time."""
    end = checked(cast("int", record.time) + op.gap_us)
    if end + op.allowed_lateness_us <= record.watermark:
        raise Failed(Failure.LATE, f"its session ended at {end}, the watermark was {record.watermark}")
    return end


def _sessions(gap: int, times: Sequence[int]) -> list[Window]:
    """The sessions of these times, in order."""
    sessions: list[Window] = []
    for time in sorted(times):
        if sessions and time < sessions[-1][1]:
            sessions[-1] = (sessions[-1][0], time + gap)
        else:
            sessions.append((time, time + gap))
    return sessions


def _session_of(sessions: Sequence[Window], time: int) -> Window:
    return next(session for session in sessions if session[0] <= time < session[1])


def _in_window(step: Step, record: Record, window: Window) -> Record:
    plain = cast("tuple[object, ...]", record.value) if isinstance(step.takes.element, Struct) else (record.value,)
    return record.with_value((*plain, window))
