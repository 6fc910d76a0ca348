"""Sessions, and idle partitions: how far the watermark of each is, as the script says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from ghcm.functions import Failure
from ghcm.spg.graph import watermark_groups, without_order
from ghcm.spg.ops import EventTime, Sessions
from ghcm.spg.reference.functions import Failed, checked
from ghcm.spg.reference.state import NEVER, Record, Run, Step, Window

_PartitionKey: TypeAlias = tuple[str, tuple[str, str]]
"""A task and a partition of its source."""


@dataclass(slots=True)
class _Partition:
    """What is known of a partition: how far it has come, when it was heard of last, and whether it is idle."""

    op: EventTime
    heard: int
    watermark: int = NEVER
    idle: bool = False

    @property
    def silent_at(self) -> int | None:
        """When it will be idle, if nothing comes."""
        return None if self.op.idle_us is None or self.idle else self.heard + self.op.idle_us


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A record that comes; `at` is its index among the records of the task."""

    moment: int
    task: str
    at: int
    partition: tuple[str, str]
    time: int | None


def watermarks_of_idle(run: Run, outputs: Mapping[str, Sequence[Record]]) -> dict[str, list[int]]:
    """By `EventTime` task the least watermark of each of its records, from the whole output of all tasks."""
    found: dict[str, list[int]] = {}
    for company in set(watermark_groups(run.unit).values()):
        ops = {id: op for id in company if isinstance(op := run.unit.task(id).op, EventTime)}
        if any(op.idle_us is not None for op in ops.values()) and company & run.outside.arrivals.keys():
            found |= _of_company(run, ops, outputs)
    return found


def _of_company(
    run: Run, ops: Mapping[str, EventTime], outputs: Mapping[str, Sequence[Record]]
) -> dict[str, list[int]]:
    arrivals = sorted(
        (each for id, op in ops.items() for each in _arrivals(run, id, op, outputs)),
        key=lambda each: (each.moment, each.task, each.at),
    )
    by_key = _partitions(ops, arrivals, without_order(run.unit))
    partitions = list(by_key.values())
    found = {id: [NEVER] * sum(each.task == id for each in arrivals) for id in ops}
    for arrival in arrivals:
        _wait(partitions, arrival.moment)
        partition = by_key[arrival.task, arrival.partition]
        found[arrival.task][arrival.at] = partition.watermark
        partition.idle, partition.heard = False, arrival.moment
        disorder = partition.op.disorder_us
        if arrival.time is not None and disorder is not None:
            partition.watermark = max(partition.watermark, arrival.time - disorder)
        _follow(partitions)
    return found


def _partitions(
    ops: Mapping[str, EventTime], arrivals: Sequence[_Arrival], unordered: frozenset[str]
) -> dict[_PartitionKey, _Partition]:
    began = min((each.moment for each in arrivals), default=0)
    keys = {(each.task, each.partition) for each in arrivals}
    keys |= {(id, ("", "")) for id in ops.keys() - {each.task for each in arrivals}}
    still = {id: replace(op, disorder_us=None, idle_us=None) for id, op in ops.items()}
    return {
        (id, partition): _Partition((still if partition[0] in unordered else ops)[id], began) for id, partition in keys
    }


def _arrivals(run: Run, id: str, op: EventTime, outputs: Mapping[str, Sequence[Record]]) -> list[_Arrival]:
    records = outputs[run.unit.task(id).inputs[0].producer]
    script = run.script(id, records, "may have to wait")
    return [
        _Arrival(moment, id, at, record.partition, _time(run, op, record))
        for at, (record, moment) in enumerate(zip(records, script, strict=True))
    ]


def _time(run: Run, op: EventTime, record: Record) -> int | None:
    try:
        time = run.apply(op.time, record.value)
    except Failed:
        return None
    return time if isinstance(time, int) else None


def _wait(partitions: Sequence[_Partition], until: int) -> None:
    """Let the clock go on: one partition after the other becomes idle, or several at once."""
    while due := [at for each in partitions if (at := each.silent_at) is not None and at <= until]:
        for each in partitions:
            each.idle |= each.silent_at == min(due)
        _follow(partitions)


def _follow(partitions: Sequence[_Partition]) -> None:
    """Idle partitions have come as far as the least of the others."""
    awake = [each.watermark for each in partitions if not each.idle]
    for each in partitions:
        if each.idle and awake:
            each.watermark = max(each.watermark, min(awake))


def in_sessions(run: Run, step: Step, op: Sessions, records: Sequence[Record]) -> list[Record]:
    """The records that are not late, each with its session, in their order."""
    placed = [
        (record, step.identity(step.key(record)), cast("int", record.time))
        for record, _ in run.each(step, records, lambda record: _end_alone(op, record))
    ]
    times: dict[object, list[int]] = {}
    for _, key, time in placed:
        times.setdefault(key, []).append(time)
    sessions = {key: _sessions(op.gap_us, each) for key, each in times.items()}
    return [step.in_window(record, _session_of(sessions[key], time)) for record, key, time in placed]


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
