"""A chain of operations on single records as a block of straight code: what it computes, in which order, and where a
record may fail.

Every name is bound once. `Bind` gives a value its name, `Keep` drops records, `Explode` makes several of one; the
columns of the result are expressions over the names that are live at the end. A line whose expression can fail is a
guard: the record fails there, unless a line before has failed or dropped it, and its dead letter holds the input of the
operator `at` which the line stands, which `Operator.input` rebuilds from live names as the user wrote it.

A block says what is computed, not how: rows, Polars and Spark each interpret it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ghcm.expr import Expr, MakeStruct, Var
from ghcm.failing import can_fail
from ghcm.spg import ops
from ghcm.spg.graph import Task
from ghcm.types import Field, Struct, Type, is_nullable


@dataclass(frozen=True, slots=True)
class Step:
    """One operation on single records: what it takes and gives, and where the user wrote it."""

    id: str
    op: ops.ChainOp
    taken: Type
    given: Type
    origin: str


def steps_of(task: Task, taken: Type) -> tuple[Step, ...]:
    """The steps of a chain that takes such records, but for a union that it begins with; none of any other task."""
    op, element, origin = task.op, task.collection.element, str(task.origin)
    if not isinstance(op, ops.Fused | ops.ChainOp):
        return ()
    steps: list[Step] = []
    for stage in op.stages if isinstance(op, ops.Fused) else (ops.Stage(task.id, op, element, origin),):
        if not isinstance(stage.op, ops.Union):
            steps.append(Step(stage.id, stage.op, taken, stage.element, stage.origin))
        taken = stage.element
    return tuple(steps)


@dataclass(frozen=True, slots=True)
class Bind:
    """`name` stands for `value` from here on."""

    name: str
    value: Expr
    at: int


@dataclass(frozen=True, slots=True)
class Keep:
    """Only records for which the condition is true go on."""

    condition: Expr
    at: int


@dataclass(frozen=True, slots=True)
class Explode:
    """The record goes on once for each of the items, which `name` stands for; not at all for null."""

    name: str
    items: Expr
    at: int


@dataclass(frozen=True, slots=True)
class Stamp:
    """The record has this event time from here on; it fails where that is null."""

    time: Expr
    at: int


@dataclass(frozen=True, slots=True)
class Outside:
    """What no expression says: a window or a Python function, which takes the record and binds these names."""

    names: tuple[str, ...]
    at: int


Line: TypeAlias = Bind | Keep | Explode | Stamp | Outside

Columns: TypeAlias = Mapping[str, Expr]
"""The columns of a record, in order."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A step and its input: the columns of the record as they are known where it begins."""

    step: Step
    input: Columns


@dataclass(frozen=True, slots=True)
class Block:
    """The operators, the lines in order, and the columns of what comes out of them."""

    operators: tuple[Operator, ...]
    lines: tuple[Line, ...]
    gives: Columns


def columns_of(element: Type) -> Struct:
    """The columns that hold an element."""
    return element if isinstance(element, Struct) else Struct((Field("value", element),))


def expression(line: Line) -> Expr | None:
    """What a line evaluates."""
    match line:
        case Bind(value=expr) | Keep(condition=expr) | Explode(items=expr) | Stamp(time=expr):
            return expr
        case Outside():
            return None


def is_guard(line: Line) -> bool:
    """Whether a record may fail in the line."""
    expr = expression(line)
    return expr is not None and (can_fail(expr) or (isinstance(line, Stamp) and is_nullable(expr.type)))


def record_of(columns: Columns, element: Type) -> Expr:
    """The whole record as one value."""
    return MakeStruct(tuple(columns.values()), element) if isinstance(element, Struct) else columns["value"]


def variables(element: Type) -> dict[str, Expr]:
    """The columns of a record by their own names."""
    return {part.name: Var(part.name, part.type) for part in columns_of(element).fields}
