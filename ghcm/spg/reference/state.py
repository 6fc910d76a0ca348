"""What one run of the reference knows and gathers: parameters, what lies outside, dead letters and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias, TypeVar, cast

from ghcm.errors import GhcmError
from ghcm.expr import Expr, Lambda
from ghcm.formats.messages import Message
from ghcm.functions import Failure
from ghcm.spg.graph import Program, Unit
from ghcm.spg.ops import Op
from ghcm.spg.reference.expressions import apply, evaluate
from ghcm.spg.reference.functions import Failed
from ghcm.spg.reference.order import order_key
from ghcm.types import INT_MIN, Collection, Field, Shape, Struct, Type
from ghcm.values import encode

T = TypeVar("T")
Window: TypeAlias = tuple[int, int]
Parts: TypeAlias = Mapping[str, bytes] | Mapping[str, Sequence[Message]]
"""What is read of a source, by partition."""
NEVER = INT_MIN
"""The watermark before the first record."""
NO_KEY = object()
"""Stands for the key of what is not grouped by one."""


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
    sum or mean; engines may differ by 1e-12 of it. `inexact`: whether the unit calls functions whose results may differ
    by 1e-12 of themselves.
    """

    sinks: dict[str, list[object]] = field(default_factory=dict[str, list[object]])
    tables: dict[str, list[tuple[object, object]]] = field(default_factory=dict[str, list[tuple[object, object]]])
    dead: list[DeadLetterRow] = field(default_factory=list[DeadLetterRow])
    instructions: list[Published] = field(default_factory=list[Published])
    reply: list[object] | None = None
    rounds: dict[str, int] = field(default_factory=dict[str, int])
    magnitude: float = 0.0
    inexact: bool = False


@dataclass(frozen=True, slots=True)
class Outside:
    """What a run reads. `inputs`: raw bytes by source task and partition, read instead of files and sockets, of topics
    (partitions are "topic/0") also messages; `sinks`: canonical rows; `tables`: pairs by (unit, task); `arrivals`: by
    task when each record comes (microseconds); `base`: where paths and user modules start from; `floors`: by
    `EventTime` task the least watermark of each of its records.
    """

    base: Path
    inputs: Mapping[str, Parts]
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

    def window(self, record: Record) -> Window | None:
        """The window of a record that it takes, if its records are in windows."""
        return cast("Window", part(record.value, self.takes.columns, "window")) if self.takes.windowed else None

    def key(self, record: Record) -> object:
        """The key of a record that it takes; `NO_KEY` where there are no pairs."""
        return part(record.value, self.takes.columns, "key") if self.takes.shape is not Shape.STREAM else NO_KEY

    def value(self, record: Record) -> object:
        """The value of a pair that it takes."""
        return part(record.value, self.takes.columns, "value")

    def identity(self, key: object) -> object:
        """What tells a key from others."""
        return None if key is NO_KEY else order_key(key, self.takes.pair[0])

    def in_window(self, record: Record, window: Window) -> Record:
        """The record with that window as its last column."""
        plain = cast("tuple[object, ...]", record.value) if isinstance(self.takes.element, Struct) else (record.value,)
        return record.with_value((*plain, window))


@dataclass(slots=True)
class Run:
    """One run of one unit."""

    program: Program
    unit: Unit
    parameters: Mapping[str, object]
    outside: Outside
    result: Result = field(default_factory=Result)
    reached: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """By the id of an `EventTime` task the watermarks of its partitions behind their last records."""

    def apply(self, function: Lambda, *arguments: object) -> object:
        """The value of a lambda; `Failed` where the record fails."""
        return apply(function, arguments, self.parameters)

    def dead(self, step: Step, text: str, failure: Failed) -> None:
        """Note a dead letter with that input text."""
        letter = DeadLetterRow(self.unit.name, step.id, failure.reason, text, failure.detail, step.origin)
        self.result.dead.append(letter)

    def applied(self, step: Step, function: Lambda, records: Sequence[Record]) -> list[tuple[Record, object]]:
        """The value of a lambda for each record that does not fail; the others become dead letters."""
        return self.each(step, records, lambda record: self.apply(function, record.value))

    def count(self, step: Step, expr: Expr) -> int:
        """The value of an expression without record, at least 0; where it fails a dead letter without record."""
        try:
            return max(0, cast("int", evaluate(expr, {}, self.parameters) or 0))
        except Failed as failure:
            self.dead(step, "null", failure)
            return 0

    def script(self, id: str, records: Sequence[Record], why: str) -> Sequence[int]:
        """When each record comes to the task of that id; GhcmError where it is not said."""
        script = self.outside.arrivals.get(id, ())
        if len(script) < len(records):
            hint = "The reference has no clock: `arrivals` says when each record comes."
            raise GhcmError(f'"{id}" {why}, and {len(records)} records come to it', hint=hint)
        return script[: len(records)]

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
        """Note that a group has no result; the letter's input is the record of its key and window, if it has them."""
        names = [
            name
            for name in ("key", "window")
            if name in step.takes.columns.names and (name != "key" or key is not NO_KEY)
        ]
        fields = tuple(cast("Field", step.takes.columns.get(name)) for name in names)
        value = tuple(key if name == "key" else window for name in names)
        self.dead(step, encode(value, Struct(fields)), failure)


def part(value: object, type_: Type, name: str) -> object:
    """Field `name` of a record."""
    return cast("tuple[object, ...]", value)[cast("Struct", type_).index(name)]
