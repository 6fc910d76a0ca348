"""What one run of the reference knows and gathers: parameters, what lies outside, dead letters and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar, cast

from ghcm.expr import Lambda
from ghcm.functions import Failure
from ghcm.spg.graph import Program, Unit
from ghcm.spg.ops import Op
from ghcm.spg.reference.expressions import apply
from ghcm.spg.reference.functions import Failed
from ghcm.types import INT_MIN, Collection, Field, Struct, Type
from ghcm.values import encode

T = TypeVar("T")
NEVER = INT_MIN
"""The watermark before the first record."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record on its way: its canonical value, its event time, and of its source partition the watermark before it."""

    value: object
    time: int | None = None
    watermark: int = NEVER
    partition: tuple[str, str] = ("", "")

    def with_value(self, value: object) -> Record:
        """Another value at the same time and position."""
        return replace(self, value=value)


@dataclass(frozen=True, slots=True)
class DeadLetterRow:
    """A record that failed: `input` is the JSON text of the operator's input, or the raw text of a `bad_record`."""

    unit: str
    task: str
    reason: Failure
    input: str
    detail: str = field(compare=False)
    origin: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Published:
    """An instruction that a policy sends: canonical arguments by the called unit's parameter names."""

    task: str
    unit: str
    arguments: Mapping[str, object]


@dataclass(slots=True)
class Result:
    """What a run leaves: rows of each sink that was written to, pairs of each table, dead letters, instructions, reply.

    Rows are canonical values of the sink's element: of an upsert sink (or one with a key) the last of each key.
    `rounds` is how often each iteration ran its step. `magnitude` is the greatest sum of magnitudes behind any float
    sum or mean; engines may differ by 1e-12 of it.
    """

    sinks: dict[str, list[object]] = field(default_factory=dict[str, list[object]])
    tables: dict[str, list[tuple[object, object]]] = field(default_factory=dict[str, list[tuple[object, object]]])
    dead: list[DeadLetterRow] = field(default_factory=list[DeadLetterRow])
    instructions: list[Published] = field(default_factory=list[Published])
    reply: list[object] | None = None
    rounds: dict[str, int] = field(default_factory=dict[str, int])
    magnitude: float = 0.0


@dataclass(frozen=True, slots=True)
class Outside:
    """What a run reads. `inputs`: raw bytes by source task and partition, read instead of files and sockets; `sinks`:
    canonical rows; `tables`: pairs by (unit, task); `arrivals`: by task when each record comes (microseconds); `base`:
    where paths and user modules start from; `floors`: by `EventTime` task the least watermark of each of its records.
    """

    base: Path
    inputs: Mapping[str, Mapping[str, bytes]]
    sinks: Mapping[str, Sequence[object]]
    tables: Mapping[tuple[str, str], Sequence[tuple[object, object]]]
    arrivals: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    floors: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])


@dataclass(frozen=True, slots=True)
class Step:
    """A task, or a stage of a fused one: what is applied, to what, and what dead letters name."""

    id: str
    op: Op
    takes: Collection
    gives: Collection
    origin: str


@dataclass(slots=True)
class Run:
    """One run of one unit."""

    program: Program
    unit: Unit
    parameters: Mapping[str, object]
    outside: Outside
    result: Result = field(default_factory=Result)

    def apply(self, function: Lambda, *arguments: object) -> object:
        """The value of a lambda; `Failed` where the record fails."""
        return apply(function, arguments, self.parameters)

    def dead(self, step: Step, text: str, failure: Failed) -> None:
        """Note a dead letter with that input text."""
        letter = DeadLetterRow(self.unit.name, step.id, failure.reason, text, failure.detail, step.origin)
        self.result.dead.append(letter)

    def each(self, step: Step, records: Sequence[Record], do: Callable[[Record], T]) -> list[tuple[Record, T]]:
        """What `do` gives for each record that does not fail; the others become dead letters."""
        done: list[tuple[Record, T]] = []
        for record in records:
            try:
                done.append((record, do(record)))
            except Failed as failure:
                self.dead(step, encode(record.value, step.takes.element), failure)
        return done

    def dead_group(self, step: Step, key: object, window: object, failure: Failed) -> None:
        """Note that a group has no result; the letter's input is the record of its key and window, as far as it has
        them.
        """
        names = [
            name
            for name in ("key", "window")
            if name in step.takes.columns.names and (name != "key" or key is not NO_KEY)
        ]
        fields = tuple(cast("Field", step.takes.columns.get(name)) for name in names)
        value = tuple(key if name == "key" else window for name in names)
        self.dead(step, encode(value, Struct(fields)), failure)


NO_KEY = object()
"""Stands for the key of what is not grouped by one."""


def part(value: object, type_: Type, name: str) -> object:
    """Field `name` of a record."""
    return cast("tuple[object, ...]", value)[cast("Struct", type_).index(name)]
