"""Chains of row operations as the native generator sees them: a fused task's stages, or a single row task as a chain
of one.
"""

from __future__ import annotations

from dataclasses import dataclass

from ghcm.codegen.native.panes import Panes
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Fused, Op, RowOp, Stage, traits_of
from ghcm.types import Field, Struct, Type


@dataclass(frozen=True, slots=True)
class Step:
    """One row operation: what it takes and gives, and where the user wrote it."""

    id: str
    op: RowOp
    taken: Type
    given: Type
    origin: str

    @property
    def name(self) -> str:
        """The operator's name in the language."""
        return operator_name(self.op)


@dataclass(frozen=True, slots=True)
class Chain:
    """The steps of one task in order; `timed` says whether records carry time and watermark, `panes` which windows it
    assigns as slices.
    """

    task: Task
    steps: tuple[Step, ...]
    timed: bool
    panes: Panes | None = None


def columns_of(element: Type) -> Struct:
    """The columns that hold an element."""
    return element if isinstance(element, Struct) else Struct((Field("value", element),))


def chain_of(task: Task, unit: Unit, panes: Panes | None = None) -> Chain | None:
    """The chain of a row task; None for any other."""
    op = task.op
    if not isinstance(op, Fused | RowOp):
        return None
    source = unit.task(task.inputs[0].producer).collection
    stages = op.stages if isinstance(op, Fused) else (Stage(task.id, op, task.collection.element, str(task.origin)),)
    steps: list[Step] = []
    taken = source.element
    for stage in stages:
        steps.append(Step(stage.id, stage.op, taken, stage.element, stage.origin))
        taken = stage.element
    return Chain(task, tuple(steps), source.timed, panes)


def operator_name(op: Op) -> str:
    """The operator's name in the language; a chain's are joined.

    >>> from ghcm.spg.ops import GroupByKey
    >>> operator_name(GroupByKey())
    'group_by_key'
    """
    if isinstance(op, Fused):
        return " ".join(operator_name(stage.op) for stage in op.stages)
    return traits_of(op).word
