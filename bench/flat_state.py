"""What joins, sessions and tables keep while millions of events go by: bytes of a whole snapshot after each tenth of
them, and the memory of the process, where `within`, a gap or `ttl` bound it.

The operators are those that engines run, each alone; ten thousand events a second of event time, of keys that are heard
of for a second each. What they give goes nowhere.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import numpy as np
import polars as pl
import psutil

from bench.table import Row
from ghcm import types
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.contract import Context, Operator
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.operators import build
from ghcm.runtime.state.runs import runs_of
from ghcm.source import Source
from ghcm.spg.graph import Task, Unit
from ghcm.spg.traits import State, traits_of
from tests.unit.runtime.operators.harness import module_of

__all__ = ["measure"]

_STEP, _TENTHS = 65_536, 10
_PER_S, _OF_KEY, _DISORDER_US = 10_000, 20, 1_000_000
_KEYS = 500
"""Of these an event has one; so each is heard of for a second."""

PROGRAM = """
program flat
record Event {{ at: timestamp, key: int, n: int }}
sink out = files("out", format = json, mode = append)
sink table = redis("table", key = r => r.key, mode = upsert)
stream u {{
  left  = socket("localhost:9000", format = json).as(Event).event_time(e => e.at, disorder = 1s)
  right = socket("localhost:9001", format = json).as(Event).event_time(e => e.at, disorder = 1s)
  {what}
}}
"""
SUBJECTS = {
    "sessions of 2 s": "left.key_by(e => e.key).window(session(2s)).named('kept').count().to(out)",
    "a join within 2 s": "left.join(right, on = (l, r) => l.key == r.key, within = 2s).named('kept').to(out)",
    "a left join within (-2s, 0s)": (
        "left.join(right, on = (l, r) => l.key == r.key, kind = left, within = (-2s, 0s)).named('kept').to(out)"
    ),
    "a join as of": ("left.join(right, on = (l, r) => l.key == r.key, asof = true, within = 2s).named('kept').to(out)"),
    "sums with ttl = 5s": (
        "left.map_to_pair(e => (e.key, e.n)).reduce_by_key((a, b) => a + b, ttl = 5s).named('kept').to(table)"
    ),
    "latest with ttl = 5s": "left.latest(key = e => e.key, ttl = 5s).named('kept').map(e => e.value).to(table)",
    "distinct with ttl = 5s": "left.map(e => { key: e.key }).distinct(ttl = 5s).named('kept').to(out)",
}


class _Nobody:
    """An outbox that nothing is put into."""

    def dead(self, letter: DeadLetter) -> None:
        raise AssertionError(letter)

    def publish(self, publication: object) -> None:
        raise AssertionError(publication)


def measure(events: int) -> list[Row]:
    """A row for each subject, of so many events."""
    return [_kept(subject, what, events) for subject, what in SUBJECTS.items()]


def _kept(subject: str, what: str, events: int) -> Row:
    program = lower(parse(Source("flat.istream", PROGRAM.format(what=what.replace("'", '"')))))
    unit = program.unit("u")
    task = next(each for each in unit.tasks if traits_of(each.op).state is not State.NONE)
    operator = build(task, unit, module_of(program, unit).TASKS.get(task.id), Context())
    sizes: list[int] = []
    memory: list[int] = []
    began = time.perf_counter()
    for tenth in range(_TENTHS):
        _feed(operator, task, unit, events * tenth // _TENTHS, events * (tenth + 1) // _TENTHS)
        sizes.append(_size(operator))
        gc.collect()
        memory.append(psutil.Process().memory_info().rss)
    kept = ", ".join(f"{size / 1e3:,.0f}" for size in sizes)
    return Row(
        "flat_state",
        subject,
        f"{sizes[1] / 1e3:,.0f} kB after a fifth, {sizes[-1] / 1e3:,.0f} at the end",
        f"the process {memory[1] / 1e6:.0f} and {memory[-1] / 1e6:.0f} MB",
        f"{events:,} events in {time.perf_counter() - began:.0f} s; by tenths {kept}",
    )


def _size(operator: Operator) -> int:
    state = operator.save()
    return sum(len(data) for data in state.values()) + sum(len(run.packed()) for run in runs_of(state))


def _feed(operator: Operator, task: Task, unit: Unit, first: int, last: int) -> None:
    outbox, sides = _Nobody(), [unit.task(edge.producer) for edge in task.inputs]
    for start in range(first, last, _STEP):
        numbers = np.arange(start, min(last, start + _STEP))
        for ordinal, (side, part) in enumerate(zip(sides, _dealt(numbers, len(sides)), strict=True)):
            for _ in operator.process(ordinal, _batch(side, part), outbox):
                pass
        for _ in operator.advance(int(numbers[-1]) * 1_000_000 // _PER_S - _DISORDER_US, outbox):
            pass
        for _ in operator.flush(outbox):
            pass


def _dealt(numbers: np.ndarray, sides: int) -> Iterator[np.ndarray]:
    return (numbers[side::sides] for side in range(sides))


def _batch(side: Task, numbers: np.ndarray) -> Batch:
    """Events of these numbers, with the columns that the task before gives."""
    times = pl.Series(numbers * 1_000_000 // _PER_S)
    key = pl.Series(numbers // _OF_KEY - (numbers * 2_654_435_761 >> 7) % _KEYS)
    event = pl.DataFrame({"at": times.cast(pl.Datetime("us", "UTC")), "key": key, "n": pl.Series(numbers)})
    frame = pl.DataFrame({field.name: _column(field.name, field.type, event) for field in side.schema.fields})
    frame = frame.with_columns(times.alias("@time"), (times - _DISORDER_US).alias("@watermark"))
    return Batch.from_frame(side.schema, frame, timed=side.collection.timed)


def _column(name: str, type_: types.Type, event: pl.DataFrame) -> pl.Series:
    """A field of an event by its name, or its number; of a record all of its fields."""
    if isinstance(type_, types.Struct):
        return pl.DataFrame({each.name: _column(each.name, each.type, event) for each in type_.fields}).to_struct(name)
    return event[name] if name in event.columns else event["n"]
